//! Which functions are null for null, as the kernels themselves answer.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder, MapBuilder, StringBuilder};
use arrow_array::{
    Array, ArrayRef, BinaryArray, Date32Array, Float64Array, Int32Array, RecordBatch, StringArray, TimestampMicrosecondArray,
    new_null_array,
};
use arrow_schema::{DataType, Field, Schema};
use datafusion_expr::Expr;

use crate::bind::resolve::Options;
use crate::evaluate::library::FUNCTIONS;
use crate::evaluate::properties::null_args;
use crate::evaluate::tree::columns_of;
use crate::expression::{Expression, parse_expr};

/// Functions that are computed here; what they become is a call, unless they become something else.
pub(super) const OWN: &[&str] = &[
    "abs",
    "sign",
    "ceil",
    "floor",
    "round",
    "pow",
    "atan2",
    "hypot",
    "log",
    "negative",
    "mod",
    "try_add",
    "try_subtract",
    "try_multiply",
    "try_divide",
    "try_mod",
    "sqrt",
    "cbrt",
    "exp",
    "ln",
    "log10",
    "sin",
    "degrees",
    "rint",
    "startswith",
    "endswith",
    "contains",
    "left",
    "right",
    "instr",
    "locate",
    "initcap",
    "split",
    "trim",
    "date_part",
    "day",
    "dayofweek",
    "weekday",
    "dayofyear",
    "weekofyear",
    "year",
    "quarter",
    "month",
    "hour",
    "minute",
    "second",
    "unix_date",
    "unix_seconds",
    "unix_millis",
    "unix_micros",
    "timestamp_seconds",
    "timestamp_millis",
    "timestamp_micros",
    "date_from_unix_date",
    "last_day",
    "next_day",
    "make_date",
    "date_trunc",
    "trunc",
    "date_format",
    "from_unixtime",
    "to_date",
    "to_timestamp",
    "unix_timestamp",
    "date_add",
    "date_sub",
    "datediff",
    "add_months",
    "timestampadd",
    "timestampdiff",
    "struct",
    "map",
    "size",
    "get",
    "element_at",
    "try_element_at",
    "greatest",
    "least",
    "int",
    "string",
    "date",
    "timestamp",
    "double",
    "decimal",
];

/// One row of each type, by the names of its columns.
pub(super) fn row() -> RecordBatch {
    let mut list = ListBuilder::new(Int32Builder::new()).with_field(Field::new("element", DataType::Int32, true));
    list.append_value([Some(1)]);
    let mut map = MapBuilder::new(None, Int32Builder::new(), StringBuilder::new());
    map.keys().append_value(1);
    map.values().append_value("one");
    map.append(true).unwrap();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("text", Arc::new(StringArray::from(vec!["2024"]))),
        ("int", Arc::new(Int32Array::from(vec![1]))),
        ("double", Arc::new(Float64Array::from(vec![1.5]))),
        ("day", Arc::new(Date32Array::from(vec![19_000]))),
        ("time", Arc::new(TimestampMicrosecondArray::from(vec![1_000_000_000_000]).with_timezone("UTC"))),
        ("bytes", Arc::new(BinaryArray::from(vec![b"a".as_slice()]))),
        ("list", Arc::new(list.finish())),
        ("pairs", Arc::new(map.finish())),
    ];
    let fields = columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect::<Vec<_>>();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.into_iter().map(|(_, array)| array).collect()).unwrap()
}

/// The row with one column null.
fn without(row: &RecordBatch, name: &str) -> RecordBatch {
    let mut columns = row.columns().to_vec();
    let place = row.schema().index_of(name).unwrap();
    columns[place] = new_null_array(columns[place].data_type(), 1);
    RecordBatch::try_new(row.schema(), columns).unwrap()
}

/// Calls of a function with up to so many arguments, each a column of its own type or a literal, that can be bound.
pub(super) fn calls(name: &str, most: usize, row: &RecordBatch) -> Vec<Expr> {
    let mut words: Vec<String> = row.schema().fields().iter().map(|field| field.name().clone()).collect();
    words.extend(["'YEAR'", "'MONDAY'", "'yyyy'", "2"].map(String::from));
    let mut lists = vec![vec![]];
    let mut found = Vec::new();
    for _ in 0..most {
        lists = lists
            .iter()
            .flat_map(|list| words.iter().map(|word| [list.as_slice(), std::slice::from_ref(word)].concat()))
            .collect();
        for list in &lists {
            match parse_expr(&format!("{name}({})", list.join(", ")), &row.schema(), &Options::default()) {
                Ok(call) => found.push(call.expr),
                Err(error) if error.to_string().contains("arguments, not") => break,
                Err(_) => {}
            }
        }
    }
    found
}

/// The call below the casts around it.
fn below_casts(expr: &Expr) -> &Expr {
    match expr {
        Expr::Cast(cast) => below_casts(&cast.expr),
        expr => expr,
    }
}

/// Of each argument of the calls of a function: whether it is said to make the call null, and whether it does.
fn answers(name: &str, row: &RecordBatch) -> BTreeSet<(bool, bool)> {
    let mut answers = BTreeSet::new();
    for call in calls(name, if name == "width_bucket" { 4 } else { 3 }, row) {
        let Expr::ScalarFunction(function) = below_casts(&call) else { continue };
        let text = call.to_string();
        let Ok(expression) = Expression::of(call.clone(), &text, &row.schema()) else { continue };
        let claimed = null_args(below_casts(&call)).len();
        for (place, arg) in function.args.iter().enumerate() {
            let columns = columns_of(arg);
            let [column] = columns.as_slice() else { continue };
            let Ok(result) = expression.evaluate(&without(row, &column[0])) else { continue };
            assert!(place >= claimed || result.is_null(0), "{text} is not null where {} is", column[0]);
            // Another argument of the same column may be what makes it null.
            if function.args.iter().filter(|other| columns_of(other) == columns).count() == 1 {
                answers.insert((place < claimed, result.is_null(0)));
            }
        }
    }
    answers
}

#[test]
fn null_args_agree_with_evaluation() {
    let row = row();
    let names: BTreeSet<&str> = FUNCTIONS.iter().map(|(name, ..)| *name).chain(OWN.iter().copied()).collect();
    let (mut never_computed, mut always_null) = (vec![], vec![]);
    for name in names {
        let answers = answers(name, &row);
        if answers.is_empty() {
            never_computed.push(name);
        } else if answers.iter().all(|answer| *answer == (false, true)) {
            always_null.push(name);
        }
    }
    assert_eq!(never_computed, [""; 0]);
    assert_eq!(always_null, [""; 0], "they are null for null, but not said to be");
}
