//! Which functions are null for null, as the kernels themselves answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder, MapBuilder, StringBuilder};
use arrow_array::{
    Array, ArrayRef, BinaryArray, Date32Array, Float64Array, Int32Array, RecordBatch, StringArray, TimestampMicrosecondArray,
    new_null_array,
};
use arrow_schema::{DataType, Field, Schema};
use datafusion_expr::Expr;

use super::super::function::FUNCTIONS;
use super::super::{Options, null_args, parse_expr};

/// Functions that are computed here; what they become is a call, unless they become something else.
const OWN: &[&str] = &[
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
fn row() -> RecordBatch {
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
fn calls(name: &str, most: usize, row: &RecordBatch) -> Vec<Expr> {
    let mut words: Vec<String> = row.schema().fields().iter().map(|field| field.name().clone()).collect();
    words.extend(["'YEAR'", "'MONDAY'", "'yyyy'"].map(String::from));
    let mut lists = vec![vec![]];
    let mut found = Vec::new();
    for _ in 0..most {
        lists = lists.iter().flat_map(|list| words.iter().map(|word| [list.as_slice(), &[word.clone()]].concat())).collect();
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

#[test]
fn arguments_that_make_a_call_null_are_those_that_do_when_it_is_computed() {
    let row = row();
    let names: BTreeSet<&str> = FUNCTIONS.iter().map(|(name, ..)| *name).chain(OWN.iter().copied()).collect();
    let mut answers: BTreeMap<&str, BTreeSet<(bool, bool)>> = BTreeMap::new();
    for name in &names {
        let answers = answers.entry(*name).or_default();
        for call in calls(name, if *name == "width_bucket" { 4 } else { 3 }, &row) {
            let Expr::ScalarFunction(function) = below_casts(&call) else { continue };
            let claimed = null_args(below_casts(&call)).len();
            for (place, arg) in function.args.iter().enumerate() {
                let Expr::Column(column) = below_casts(arg) else { continue };
                let text = call.to_string();
                let Ok(expression) = super::super::Expression::of(call.clone(), &text, &row.schema()) else { continue };
                let Ok(result) = expression.evaluate(&without(&row, &column.name)) else { continue };
                let repeated = function.args.iter().filter(|other| below_casts(other) == below_casts(arg)).count() > 1;
                let claims = place < claimed;
                assert!(!claims || result.is_null(0), "{text} is not null where {} is", column.name);
                if !repeated {
                    answers.insert((claims, result.is_null(0)));
                }
            }
        }
    }
    let silent: Vec<&&str> = answers.iter().filter(|(_, found)| found.is_empty()).map(|(name, _)| name).collect();
    let modest: Vec<&&str> = answers
        .iter()
        .filter(|(_, found)| !found.is_empty() && found.iter().all(|(claims, is_null)| !claims && *is_null))
        .map(|(name, _)| name)
        .collect();
    assert!(silent.is_empty(), "never computed: {silent:?}");
    assert!(modest.is_empty(), "always null for null: {modest:?}");
}
