use std::sync::Arc;

use arrow_array::{
    BinaryArray, BooleanArray, Date32Array, Decimal128Array, Decimal256Array, Float32Array, Float64Array, Int8Array, Int16Array,
    Int32Array, Int64Array, NullArray, RecordBatch, StringArray, StructArray, TimestampMicrosecondArray,
};
use arrow_buffer::i256;
use arrow_schema::{Field, Fields, Schema};
use lakebed_expr::{Options, parse_filter};
use proptest::prelude::*;

use super::*;
use crate::kit::arrow::longs;

fn texts(values: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

/// Returns the text of the filter, and checks that it parses to an equal filter.
fn text_of(summary: &Summary, path: &[String], schema: &Schema, null_safe: bool) -> Option<String> {
    let filter = summary.filter(schema, path, null_safe)?;
    let parsed = parse_filter(filter.text(), schema, &Options::default()).unwrap();
    assert_eq!(filter.expr(), parsed.expr(), "{}", filter.text());
    assert_eq!(filter.conjuncts(), parsed.conjuncts(), "{}", filter.text());
    Some(filter.text().to_owned())
}

fn text_of_k(summary: &Summary, null_safe: bool) -> Option<String> {
    let schema = Schema::new(vec![Field::new("k", summary.data_type.clone(), true)]);
    text_of(summary, &["k".into()], &schema, null_safe)
}

fn condition(values: &ArrayRef) -> Option<String> {
    let mut summary = Summary::new(values.data_type());
    summary.add(values);
    text_of_k(&summary, false)
}

/// Returns for which values of a column the condition is true.
fn holds(condition: &str, column: &ArrayRef) -> Vec<bool> {
    assert!(condition.len() <= MOST_CONDITION_BYTES + 100);
    let field = Field::new("k", column.data_type().clone(), true);
    let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![Arc::clone(column)]).unwrap();
    let filter = parse_filter(condition, &batch.schema(), &Options::default()).unwrap();
    filter.evaluate(&batch).unwrap().iter().map(|holds| holds == Some(true)).collect()
}

#[test]
fn printed_values_parse_to_themselves() {
    let check = |values: ArrayRef, expected: &str| assert_eq!(condition(&values).as_deref(), Some(expected));
    check(longs(&[Some(3), None, Some(-1), Some(3)]), "`k` IN (-1L, 3L)");
    check(longs(&[Some(i64::MIN), Some(i64::MAX)]), "`k` IN (-9223372036854775808L, 9223372036854775807L)");
    check(Arc::new(Int32Array::from(vec![7])), "`k` IN (7)");
    check(Arc::new(Int16Array::from(vec![7])), "`k` IN (7S)");
    check(Arc::new(Int8Array::from(vec![-128])), "`k` IN (-128Y)");
    check(Arc::new(BooleanArray::from(vec![true, false])), "`k` IN (FALSE, TRUE)");
    check(Arc::new(Date32Array::from(vec![0, -719_529])), "`k` IN (DATE '-0001-12-31', DATE '1970-01-01')");
    let times = TimestampMicrosecondArray::from(vec![1_000_001, -1]);
    check(
        Arc::new(times.clone().with_timezone("UTC")),
        "`k` IN (TIMESTAMP '1969-12-31 23:59:59.999999Z', TIMESTAMP '1970-01-01 00:00:01.000001Z')",
    );
    check(Arc::new(times.slice(0, 1)), "`k` IN (TIMESTAMP_NTZ '1970-01-01 00:00:01.000001')");
    let decimals = Decimal128Array::from(vec![5, -1_234]).with_precision_and_scale(10, 2).unwrap();
    check(Arc::new(decimals), "`k` IN (-12.34BD, 0.05BD)");
    check(Arc::new(Float64Array::from(vec![0.1, -0.0, -2e300])), "`k` IN (-2e300D, 0e0D, 1e-1D)");
    check(Arc::new(Float32Array::from(vec![0.1])), "`k` IN (1e-1F)");
    check(texts(&["b'c\\%", "", "a\n"]), "`k` IN ('', 'a\n', 'b\\'c\\\\%')");
}

#[test]
fn many_values_are_said_by_ranges() {
    let clusters = (0..3000).map(|row| row % 3 * 1_000_000 + row);
    let found = condition(&(Arc::new(Int64Array::from_iter_values(clusters)) as ArrayRef)).unwrap();
    assert!(found.starts_with("(`k` BETWEEN 0L AND 2997L OR `k` BETWEEN 1000001L AND 1002998L OR `k` BETWEEN 2000002L AND "));
    assert_eq!(found.matches(" OR ").count(), MOST_RANGES - 1, "{found}");
    let dense: ArrayRef = Arc::new(Int32Array::from_iter_values(0..3_000_000));
    assert_eq!(condition(&dense).unwrap(), "`k` BETWEEN 0 AND 2999999");
    let split: ArrayRef = Arc::new(Int32Array::from_iter_values((0..200_000).chain(500_000..700_000).chain([900_000])));
    let expected = "(`k` BETWEEN 0 AND 199999 OR `k` BETWEEN 500000 AND 699999 OR `k` = 900000)";
    assert_eq!(condition(&split).unwrap(), expected);
    let names: Vec<String> = (0..5_000).map(|n| format!("{}-{n:05}", if n % 2 == 0 { "cust" } else { "Shop" })).collect();
    let names: ArrayRef = Arc::new(StringArray::from(names));
    let found = condition(&names).unwrap();
    assert_eq!(
        holds(&found, &texts(&["Shop-00001", "T", "cust-00000", "cust-04998", "d", ""])),
        [true, false, true, true, false, false]
    );
    assert!(holds(&found, &names).iter().all(|holds| *holds));
}

#[test]
fn nulls_count_where_they_equal_each_other() {
    let check = |values: ArrayRef, null_safe: bool, expected: &str| {
        let mut summary = Summary::new(values.data_type());
        summary.add(&values.slice(0, 1));
        summary.add(&values.slice(1, values.len() - 1));
        let fields = Fields::from(vec![Field::new("a `b`", values.data_type().clone(), true)]);
        let schema = Schema::new(vec![Field::new("s", DataType::Struct(fields), true)]);
        assert_eq!(text_of(&summary, &["s".into(), "a `b`".into()], &schema, null_safe).unwrap(), expected);
    };
    check(longs(&[Some(1), None]), true, "(`s`.`a ``b``` IN (1L) OR `s`.`a ``b``` IS NULL)");
    check(longs(&[Some(1), None]), false, "`s`.`a ``b``` IN (1L)");
    check(longs(&[Some(1)]), true, "`s`.`a ``b``` IN (1L)");
    check(longs(&[None]), true, "`s`.`a ``b``` IS NULL");
    check(longs(&[None]), false, "FALSE");
    check(Arc::new(NullArray::new(2)), false, "FALSE");
    assert_eq!(text_of_k(&Summary::new(&DataType::Int64), true).unwrap(), "FALSE");
}

#[test]
fn path_of_nested_field_is_found() {
    let fields = Fields::from(vec![Field::new("a `b`", DataType::Int64, true)]);
    let nested: ArrayRef = Arc::new(StructArray::new(fields, vec![longs(&[Some(1), None, Some(2)])], None));
    let batch = RecordBatch::try_from_iter([("s.t", nested)]).unwrap();
    let mut summary = Summary::new(&DataType::Int64);
    summary.add(&longs(&[Some(2), None]));
    let text = text_of(&summary, &["s.t".into(), "a `b`".into()], &batch.schema(), true).unwrap();
    let filter = parse_filter(&text, &batch.schema(), &Options::default()).unwrap();
    assert_eq!(filter.columns(), [["s.t", "a `b`"]]);
    assert_eq!(filter.evaluate(&batch).unwrap(), BooleanArray::from(vec![false, true, true]));
}

#[test]
fn what_no_literal_spells_gives_no_condition() {
    assert_eq!(condition(&(Arc::new(Float64Array::from(vec![1.0, f64::NAN])) as ArrayRef)), None);
    assert_eq!(condition(&(Arc::new(Float32Array::from(vec![f32::INFINITY])) as ArrayRef)), None);
    assert_eq!(condition(&(Arc::new(BinaryArray::from(vec![b"a".as_slice()])) as ArrayRef)), None);
    let wide = Decimal256Array::from(vec![i256::from_i128(DECIMAL_END)]).with_precision_and_scale(40, 2).unwrap();
    assert_eq!(condition(&(Arc::new(wide) as ArrayRef)), None);
    let fits = Decimal256Array::from(vec![i256::from_i128(-105)]).with_precision_and_scale(40, 2).unwrap();
    assert_eq!(condition(&(Arc::new(fits) as ArrayRef)).unwrap(), "`k` IN (-1.05BD)");
    let mut other = Summary::new(&DataType::Int32);
    other.add(&longs(&[Some(1)]));
    assert_eq!(text_of_k(&other, false), None);
}

#[test]
fn long_texts_are_cut_outward() {
    let long = |c: &str| c.repeat(300);
    let values = texts(&[&long("a"), &long("ä"), &long("\u{10ffff}"), &format!("b{}", long("\u{d7ff}")), "short"]);
    let found = condition(&values).unwrap();
    assert!(holds(&found, &values).iter().all(|holds| *holds), "{found}");
    assert_eq!(holds(&found, &texts(&["a", "b", "shorter", "c"])), [false; 4]);
    let many: Vec<String> = (0..1_000).map(|n| format!("{n}{}", long("\\'"))).collect();
    let many: ArrayRef = Arc::new(StringArray::from(many));
    let found = condition(&many).unwrap();
    assert!(holds(&found, &many).iter().all(|holds| *holds));
    let column = "name".repeat(2_000);
    let mut summary = Summary::new(&DataType::Utf8);
    summary.add(&many);
    let schema = Schema::new(vec![Field::new(&column, DataType::Utf8, true)]);
    assert!(text_of(&summary, &[column], &schema, true).unwrap().len() <= MOST_CONDITION_BYTES);
}

/// Checks the summary of a source in parts, with other values that the source does not contain.
fn check(parts: &[ArrayRef], others: &ArrayRef) -> Result<(), TestCaseError> {
    let Some(first) = parts.first() else { return Ok(()) };
    for null_safe in [false, true] {
        let mut summary = Summary::new(first.data_type());
        parts.iter().for_each(|part| summary.add(part));
        let Some(text) = text_of_k(&summary, null_safe) else {
            prop_assert!(first.data_type().is_floating());
            return Ok(());
        };
        let has_null = parts.iter().any(|part| part.null_count() > 0);
        for part in parts {
            for (row, holds) in holds(&text, part).into_iter().enumerate() {
                prop_assert_eq!(holds, part.is_valid(row) || null_safe, "{} row {}", text, row);
            }
        }
        let among = |row: usize| {
            let one = others.slice(row, 1);
            parts.iter().any(|part| (0..part.len()).any(|at| *part.slice(at, 1) == *one))
        };
        if text.contains(" IN (") {
            for (row, holds) in holds(&text, others).into_iter().enumerate() {
                let expected = if others.is_null(row) { null_safe && has_null } else { among(row) };
                prop_assert_eq!(holds, expected, "{} row {}", text, row);
            }
        }
    }
    Ok(())
}

fn values<T: std::fmt::Debug>(value: impl Strategy<Value = T>) -> impl Strategy<Value = Vec<Option<T>>> {
    prop::collection::vec(prop::option::weighted(0.95, value), 0..40)
}

macro_rules! every_value_is_found {
    ($name:ident, $value:expr, $array:expr) => {
        proptest! {
            #[test]
            fn $name(parts in prop::collection::vec(values($value), 1..3), others in values($value)) {
                let array = |values: Vec<_>| -> ArrayRef { Arc::new($array(values)) };
                check(&parts.into_iter().map(array).collect::<Vec<_>>(), &array(others))?;
            }
        }
    };
}

fn long() -> impl Strategy<Value = i64> {
    prop_oneof![any::<i64>(), -20_i64..20, Just(i64::MIN), Just(i64::MAX)]
}

fn digits() -> impl Strategy<Value = i128> {
    prop_oneof![-20_i128..20, 1 - DECIMAL_END..DECIMAL_END, Just(DECIMAL_END - 1)]
}

every_value_is_found!(every_long_is_found, long(), Int64Array::from);
every_value_is_found!(every_int_is_found, any::<i32>(), Int32Array::from);
every_value_is_found!(every_short_is_found, any::<i16>(), Int16Array::from);
every_value_is_found!(every_byte_is_found, any::<i8>(), Int8Array::from);
every_value_is_found!(every_boolean_is_found, any::<bool>(), BooleanArray::from);
every_value_is_found!(every_date_is_found, prop_oneof![any::<i32>(), -20..20], Date32Array::from);
every_value_is_found!(every_time_is_found, long(), |values| TimestampMicrosecondArray::from(values).with_timezone("UTC"));
every_value_is_found!(every_wall_clock_time_is_found, long(), TimestampMicrosecondArray::from);
every_value_is_found!(every_decimal_is_found, digits(), |values| Decimal128Array::from(values)
    .with_precision_and_scale(38, 11)
    .unwrap());
every_value_is_found!(every_fraction_is_found, digits(), |values| Decimal128Array::from(values)
    .with_precision_and_scale(38, 38)
    .unwrap());
every_value_is_found!(
    every_double_is_found,
    prop_oneof![prop::num::f64::NORMAL, prop::num::f64::SUBNORMAL, Just(0.0)],
    Float64Array::from
);
every_value_is_found!(
    every_float_is_found,
    prop_oneof![prop::num::f32::NORMAL, prop::num::f32::SUBNORMAL, Just(0.0)],
    Float32Array::from
);
every_value_is_found!(every_text_is_found, prop_oneof!["[a-c\\\\'\"%_n]{0,5}", ".{0,5}", "[a-bä]{120,140}"], StringArray::from);

proptest! {
    #[test]
    fn ranges_hold_every_value(seeds in prop::collection::vec(any::<i64>(), 1..30), spread in 1_i64..100_000) {
        let values: Vec<i64> = (0..3_000).map(|n| seeds[n % seeds.len()].wrapping_add(n as i64 * 7_919 % spread)).collect();
        let numbers: ArrayRef = Arc::new(Int64Array::from(values.clone()));
        let words: ArrayRef = Arc::new(StringArray::from_iter_values(values.iter().map(|value| format!("{value:x}"))));
        let floats: ArrayRef = Arc::new(Float64Array::from_iter_values(values.iter().map(|value| *value as f64 / 3.0)));
        for array in [numbers, words, floats] {
            let text = condition(&array).unwrap();
            prop_assert!(holds(&text, &array).iter().all(|holds| *holds), "{}", text);
        }
    }
}
