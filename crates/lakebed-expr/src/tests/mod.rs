//! Expressions against Spark's own answers, and what is refused.

mod chars;
mod constants;
mod nulls;
mod refused;
mod spark;
mod table;
mod text_values;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, BooleanArray, RecordBatch};
use arrow_schema::{DataType, Field, Fields, Schema};

use crate::*;

/// The rows of the sample table, numbered from 1, for which a filter is true.
fn rows(filter: &str) -> Vec<usize> {
    let table = table::sample();
    let found = parse_filter(filter, &table.schema(), &Options::default()).unwrap().evaluate(&table).unwrap();
    assert_eq!(found.null_count(), 0);
    (0..found.len()).filter(|row| found.value(*row)).map(|row| row + 1).collect()
}

#[test]
fn filter_keeps_true_rows_and_drops_null() {
    assert_eq!(rows("i > 0"), [1, 5, 6]);
    assert_eq!(rows("NOT i > 0"), [2, 4]);
    assert_eq!(rows("i IS NULL"), [3]);
    assert_eq!(rows("b"), [1, 4]);
    assert_eq!(rows("b IS NOT TRUE"), [2, 3, 5, 6]);
    assert_eq!(rows("NULL"), [0usize; 0]);
    assert_eq!(rows("true"), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn nan_equals_itself_and_exceeds_all() {
    let schema = Schema::new(vec![Field::new("x", DataType::Float64, true)]);
    let negative_nan = f64::from_bits(0xfff8_0000_0000_0001);
    let values = vec![Some(f64::NEG_INFINITY), Some(-0.0), Some(0.0), Some(f64::NAN), Some(negative_nan), None];
    let batch = RecordBatch::try_new(Arc::new(schema.clone()), vec![Arc::new(arrow_array::Float64Array::from(values))]).unwrap();
    let check = |filter: &str, expected: [bool; 6]| {
        let found = parse_filter(filter, &schema, &Options::default()).unwrap().evaluate(&batch).unwrap();
        assert_eq!(found, BooleanArray::from(expected.to_vec()), "{filter}");
    };
    check("x = double('NaN')", [false, false, false, true, true, false]);
    check("x > 1e308", [false, false, false, true, true, false]);
    check("x < 0", [true, false, false, false, false, false]);
    check("x = 0", [false, true, true, false, false, false]);
    check("x IN (0D, 7D)", [false, true, true, false, false, false]);
    check("x IN (double('NaN'), 1, 2, 3, 4, 5, 6, 7, 8, 9)", [false, false, false, true, true, false]);
    check("x NOT IN (0D)", [true, false, false, true, true, false]);
    check("x <> 0", [true, false, false, true, true, false]);
    check("x <=> double('NaN')", [false, false, false, true, true, false]);
    check("x BETWEEN -1 AND double('NaN')", [false, true, true, true, true, false]);
    check("isnan(x)", [false, false, false, true, true, false]);
    check("greatest(x, 1D) = 1D", [true, true, true, false, false, true]);
}

#[test]
fn failing_condition_is_computed_only_where_undecided() {
    assert_eq!(rows("i <> 0 AND 100 / i > 10"), [1]);
    assert_eq!(rows("i = 0 OR 100 / i > 10"), [1, 4]);
    assert_eq!(rows("size(arr) > 2 AND arr[2] = 3"), [1]);
    assert_eq!(rows("CASE WHEN i = 0 THEN false ELSE 100 / i > 10 END"), [1]);
    let table = table::sample();
    let filter = parse_filter("100 / i > 10 AND i <> 0", &table.schema(), &Options::default()).unwrap();
    assert!(filter.evaluate(&table).unwrap_err().to_string().contains("division by zero"));
    let may_fail: Vec<bool> = filter.conjuncts().iter().map(|conjunct| conjunct.may_fail).collect();
    assert_eq!(may_fail, [true, false]);
}

#[test]
fn names_match_by_case_only_if_ambiguous() {
    assert_eq!(rows("I = 1"), [1]);
    assert_eq!(rows("ST.B.C = 'deep'"), [1]);
    let schema = Schema::new(vec![Field::new("a", DataType::Int32, true), Field::new("A", DataType::Int32, true)]);
    assert_eq!(parse_filter("a = 1", &schema, &Options::default()).unwrap().columns(), [["a"]]);
    assert_eq!(parse_filter("A = 1", &schema, &Options::default()).unwrap().columns(), [["A"]]);
    let odd = Schema::new(vec![Field::new("a.b c`d", DataType::Int32, true), Field::new("date", DataType::Date32, true)]);
    assert_eq!(parse_filter("`a.b c``d` = 1", &odd, &Options::default()).unwrap().columns(), [["a.b c`d"]]);
    assert_eq!(parse_filter("date > '2024-01-01'", &odd, &Options::default()).unwrap().columns(), [["date"]]);
}

#[test]
fn filter_lists_column_paths_and_ordered_conjuncts() {
    let table = table::sample();
    let filter =
        parse_filter("st.b.c = 'x' AND (i > 1 AND arr[0] = 2) AND (s = 'a' OR m.k = 3)", &table.schema(), &Options::default());
    let filter = filter.unwrap();
    assert_eq!(filter.columns(), [vec!["arr"], vec!["i"], vec!["m"], vec!["s"], vec!["st", "b", "c"]]);
    let texts: Vec<&str> = filter.conjuncts().iter().map(|conjunct| conjunct.text.as_str()).collect();
    assert_eq!(texts, ["st.b.c = 'x'", "i > 1", "arr[0] = 2", "s = 'a' OR m.k = 3"]);
}

#[test]
fn without_conjuncts_about_drops_decided_conjuncts() {
    let schema = table::sample().schema();
    let filter = parse_filter("i = 1 AND (dt > '2024-01-01' OR i = 2) AND l > 3 AND true", &schema, &Options::default()).unwrap();
    let left = filter.without_conjuncts_about(&["i".into(), "dt".into()]).unwrap();
    assert_eq!(left.text(), "(l > 3)");
    assert_eq!(parse_filter(left.text(), &schema, &Options::default()).unwrap().expr(), left.expr());
    let all = ["i", "dt", "l"].map(String::from);
    assert!(filter.without_conjuncts_about(&all).is_none());
}

#[test]
fn current_time_becomes_literal_in_text() {
    let schema = table::sample().schema();
    let options = Options { now_ms: Some(1_709_210_096_789) };
    let filter = parse_filter("ts < now() AND dt = current_date AND s <> 'now()'", &schema, &options).unwrap();
    assert_eq!(filter.text(), "ts < TIMESTAMP '2024-02-29 12:34:56.789' AND dt = DATE '2024-02-29' AND s <> 'now()'");
    let again = parse_filter(filter.text(), &schema, &Options::default()).unwrap();
    assert_eq!(again.expr(), filter.expr());
    let unknown = parse_filter("ts < now()", &schema, &Options::default()).unwrap_err();
    assert!(unknown.to_string().contains("the time of the call is not known"), "{unknown}");
}

/// The clock becomes the value that its literal parses to, also before 1970 and inside of calls.
#[test]
fn current_time_equals_its_literal() {
    let schema = table::sample().schema();
    let texts = [
        "ts < now() OR ts >= CURRENT_TIMESTAMP",
        "dt = current_date AND dt > date_sub(curdate(), 3)",
        "l BETWEEN unix_timestamp() AND unix_timestamp() + 1",
        "ts < localtimestamp()",
        "s LIKE ANY ('a', 'b') AND now() = now() -- now()",
    ];
    for now_ms in [1_709_210_096_789, 0, -1, -86_400_001] {
        for text in texts {
            let filter = parse_filter(text, &schema, &Options { now_ms: Some(now_ms) }).unwrap();
            let parsed = parse_filter(filter.text(), &schema, &Options::default()).unwrap();
            assert_eq!(filter.expr(), parsed.expr(), "{}", filter.text());
            assert_eq!(filter.conjuncts(), parsed.conjuncts(), "{}", filter.text());
        }
    }
}

/// Names are resolved while a text is parsed. The result equals the filter that its text parses
/// to, under these names and under others.
#[test]
fn named_filter_equals_its_parsed_text() {
    let fields = |prefix: &str| {
        let types = [("a", DataType::Int32), ("b c", DataType::Int64), ("s", DataType::Utf8)];
        Schema::new(types.map(|(name, data_type)| Field::new(format!("{prefix}{name}"), data_type, true)).to_vec())
    };
    let (schema, other) = (fields("t."), fields("other `"));
    let rule = |path: &[String]| match path {
        [name] => Ok(vec![format!("t.{}", name.to_lowercase())]),
        _ => Err(format!("{} is too long", path.join("."))),
    };
    let texts = [
        ("A = 1", "`t.a` = 1"),
        ("a>1 AND (`B C` < 2 OR s = 'a')", "`t.a`>1 AND (`t.b c` < 2 OR `t.s` = 'a')"),
        ("s LIKE ANY ('a%', s) -- a", "`t.s` LIKE ANY ('a%', `t.s`) -- a"),
        (
            "CASE WHEN a IS NULL THEN s ELSE 'a' END IN ('a', s)",
            "CASE WHEN `t.a` IS NULL THEN `t.s` ELSE 'a' END IN ('a', `t.s`)",
        ),
    ];
    for (text, expected) in texts {
        let filter = parse_filter_named(text, &schema, &Options::default(), &rule).unwrap();
        assert_eq!(filter.text(), expected);
        let renamed = filter.renamed(&other, |name| Some(name.replacen("t.", "other `", 1))).unwrap();
        for (filter, schema) in [(&filter, &schema), (&renamed, &other), (&renamed.negated(), &other)] {
            let parsed = parse_filter(filter.text(), schema, &Options::default()).unwrap();
            assert_eq!(filter.expr(), parsed.expr(), "{}", filter.text());
            assert_eq!(filter.conjuncts(), parsed.conjuncts(), "{}", filter.text());
        }
    }
    let refused = |text: &str| parse_filter_named(text, &schema, &Options::default(), &rule).unwrap_err().to_string();
    assert_eq!(
        refused("s = 'x' AND x.y > z.a"),
        "in the expression `s = 'x' AND x.y > z.a`, at character 13 (`x.y > z.a`): x.y is too long"
    );
    // Positions are those of the text as written.
    assert_eq!(
        refused("a = 1 AND a = date '1'"),
        "in the expression `a = 1 AND a = date '1'`, at character 15 (`date '1'`): '1' is no DATE"
    );
}

#[test]
fn literal_takes_type_of_compared_column() {
    let schema = table::sample().schema();
    let plain = |filter: &str| parse_filter(filter, &schema, &Options::default()).unwrap().expr().to_string();
    assert_eq!(plain("i = 5L"), "i = Int32(5)");
    assert_eq!(plain("i = '5'"), "i = Int32(5)");
    assert_eq!(plain("i = 5.0"), "i = Int32(5)");
    assert_eq!(plain("l > 5"), "l > Int64(5)");
    assert_eq!(plain("5 < l"), "Int64(5) < l");
    assert_eq!(plain("i > 5.5"), "CAST(i AS Decimal128(11, 1)) > Decimal128(5.5,11,1)");
    assert_eq!(plain("dec = 1"), "dec = Decimal128(1.00,10,2)");
    assert_eq!(plain("i IN (1L, 2, 3)"), "i IN ([Int32(1), Int32(2), Int32(3)])");
    assert_eq!(plain("ts >= '2024-01-01'"), r#"ts >= TimestampMicrosecond(1704067200000000, Some("UTC"))"#);
    assert_eq!(plain("dt = '2024-01-01'"), r#"dt = Date32("2024-01-01")"#);
}

#[test]
fn long_lists_and_chains_do_not_nest() {
    let schema = table::sample().schema();
    let many: Vec<String> = (0..5_000).map(|number| format!("i = {number}")).collect();
    assert_eq!(rows(&many.join(" OR ")), [1, 4, 6]);
    let list: Vec<String> = (0..5_000).map(|number| number.to_string()).collect();
    assert_eq!(rows(&format!("i IN ({})", list.join(", "))), [1, 4, 6]);
    let deep = format!("{}i = 1{}", "(".repeat(50), ")".repeat(50));
    assert_eq!(rows(&deep), [1]);
    for bottomless in
        ["(".repeat(100_000), "NOT ".repeat(100_000), "-".repeat(100_000), format!("i = {}1", "1 + ".repeat(100_000))]
    {
        let error = parse_filter(&bottomless, &schema, &Options::default()).unwrap_err();
        assert!(error.to_string().len() < 1_000, "the message quotes the whole text");
    }
}

#[test]
fn filter_evaluates_batches_of_other_types() {
    let table = table::sample();
    let filter = parse_filter("i > 0 AND s LIKE 'a%'", &table.schema(), &Options::default()).unwrap();
    let wide = arrow_cast::cast(table.column_by_name("i").unwrap(), &DataType::Int64).unwrap();
    let view = arrow_cast::cast(table.column_by_name("s").unwrap(), &DataType::Utf8View).unwrap();
    let batch = RecordBatch::try_from_iter([("s", view), ("i", wide)]).unwrap();
    assert_eq!(filter.evaluate(&batch).unwrap().iter().flatten().collect::<Vec<_>>(), [true, false, false, false, false, false]);
    let missing = RecordBatch::try_from_iter([("i", table.column_by_name("i").unwrap().clone())]).unwrap();
    assert!(filter.evaluate(&missing).unwrap_err().to_string().contains("without its columns"));
}

#[test]
fn field_of_null_struct_is_null() {
    let child = Arc::new(arrow_array::Int32Array::from(vec![Some(7), Some(8)]));
    let fields = Fields::from(vec![Field::new("a", DataType::Int32, true)]);
    let parent = arrow_array::StructArray::new(fields, vec![child], Some(vec![false, true].into()));
    let batch = RecordBatch::try_from_iter([("st", Arc::new(parent) as arrow_array::ArrayRef)]).unwrap();
    let check = |filter: &str, expected: [bool; 2]| {
        let found = parse_filter(filter, &batch.schema(), &Options::default()).unwrap().evaluate(&batch).unwrap();
        assert_eq!(found, BooleanArray::from(expected.to_vec()), "{filter}");
    };
    check("st.a IS NULL", [true, false]);
    check("st.a = 7", [false, false]);
    check("st.a = 8", [false, true]);
}

#[test]
fn an_expression_gives_values_of_its_type() {
    let table = table::sample();
    let expression = parse_expr("upper(s) || '!'", &table.schema(), &Options::default()).unwrap();
    assert_eq!((expression.data_type.clone(), expression.columns()), (DataType::Utf8, vec![vec!["s".to_string()]]));
    let values = expression.physical(&table.schema()).unwrap().evaluate(&table).unwrap().into_array(6).unwrap();
    let values: Vec<Option<&str>> = values.as_string::<i32>().iter().collect();
    assert_eq!(values, [Some("APPLE!"), Some("  PADDED !"), None, Some("!"), Some("ÑANDÚ 😀!"), Some("2024-01-15!")]);
}
