use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, DictionaryArray, Float32Array, Float64Array, Int16Array, Int32Array, Int64Array,
    LargeStringArray, ListArray, StringArray, StructArray, TimestampMicrosecondArray, TimestampMillisecondArray,
    TimestampNanosecondArray,
};

use super::*;
use crate::kit::arrow::{array, struct_array};
use PrimitiveType::{Date, Double, Float, Integer, Long, String as Text, Timestamp, TimestampNtz};

fn fields(fields: Vec<(&str, ArrayRef)>) -> StructArray {
    struct_array(fields, None)
}

/// Returns a bound `a` of one file, stored in this array.
fn bounds(stored: ArrayRef) -> StructArray {
    let one = array(fields(vec![("a", stored)]));
    fields(vec![("minValues", Arc::clone(&one)), ("maxValues", one)])
}

#[track_caller]
fn check(parsed: &StructArray, wanted: StatColumn, expected: impl Array + 'static) {
    assert_eq!(from_struct(parsed, &[wanted]), [array(expected)]);
}

#[test]
fn every_kind_is_found_in_a_struct() {
    let place = fields(vec![("x", array(Int64Array::from(vec![Some(1), None, Some(3)])))]);
    let parsed = fields(vec![
        ("numRecords", array(Int64Array::from(vec![10, 20, 30]))),
        ("tightBounds", array(BooleanArray::from(vec![Some(false), None, Some(true)]))),
        ("nullCount", array(fields(vec![("id", array(Int64Array::from(vec![0, 1, -1]))), ("place", array(place.clone()))]))),
        ("minValues", array(fields(vec![("id", array(StringArray::from(vec!["a", "b", "c"])))]))),
        ("maxValues", array(fields(vec![("place", array(place))]))),
    ]);
    check(&parsed, rows(), Int64Array::from(vec![10, 20, 30]));
    check(&parsed, tight(), BooleanArray::from(vec![false, true, true]));
    check(&parsed, nulls("id"), Int64Array::from(vec![Some(0), Some(1), None]));
    check(&parsed, min("id", Text), StringArray::from(vec!["a", "b", "c"]));
    check(&parsed, column(StatKind::Max, &["place", "x"], Long), Int64Array::from(vec![Some(1), None, Some(3)]));
    check(&parsed, nulls("place"), Int64Array::from(vec![None::<i64>; 3]));
}

#[test]
fn read_null_parent_struct_gives_null() {
    let inner = struct_array(vec![("x", array(Int64Array::from(vec![1, 2, 3, 4])))], Some(vec![true, true, false, true]));
    let values = struct_array(vec![("place", array(inner))], Some(vec![true, false, true, true]));
    let parsed = struct_array(
        vec![("minValues", array(values)), ("numRecords", array(Int64Array::from(vec![1, 2, 3, 4])))],
        Some(vec![true, true, true, false]),
    );
    check(&parsed, column(StatKind::Min, &["place", "x"], Long), Int64Array::from(vec![Some(1), None, None, None]));
    check(&parsed, rows(), Int64Array::from(vec![Some(1), Some(2), Some(3), None]));
    check(&parsed, tight(), BooleanArray::from(vec![Some(true), Some(true), Some(true), None]));
}

#[test]
fn read_missing_or_unusable_statistic_gives_null() {
    let list = array(ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1)])]));
    for stored in
        [list, array(StringArray::from(vec!["1"])), array(Float64Array::from(vec![1.0])), array(BooleanArray::from(vec![true]))]
    {
        let parsed = bounds(stored);
        check(&parsed, min("a", Long), Int64Array::from(vec![None]));
        check(&parsed, min("b", Long), Int64Array::from(vec![None]));
        check(&parsed, column(StatKind::Min, &["a", "b"], Long), Int64Array::from(vec![None]));
        check(&parsed, rows(), Int64Array::from(vec![None]));
        check(&parsed, nulls("a"), Int64Array::from(vec![None]));
        check(&parsed, min("a", Timestamp), timestamps(vec![None]));
    }
    // A rounded bound could be wrong.
    check(&bounds(array(Float64Array::from(vec![0.1]))), min("a", Float), Float32Array::from(vec![None]));
    check(&bounds(array(Int64Array::from(vec![i64::MAX]))), min("a", Double), Float64Array::from(vec![None]));
    let price = PrimitiveType::Decimal { precision: 10, scale: 1 };
    check(&bounds(array(decimals(vec![Some(125)], 10, 2))), min("a", price), decimals(vec![None], 10, 1));
}

#[test]
fn read_casts_types_before_widening() {
    check(&bounds(array(Int16Array::from(vec![-7]))), min("a", Integer), Int32Array::from(vec![-7]));
    check(&bounds(array(Int32Array::from(vec![-7]))), min("a", Long), Int64Array::from(vec![-7]));
    check(&bounds(array(Int32Array::from(vec![-7]))), min("a", Double), Float64Array::from(vec![-7.0]));
    check(&bounds(array(Float32Array::from(vec![1.5]))), min("a", Double), Float64Array::from(vec![1.5]));
    let price = PrimitiveType::Decimal { precision: 12, scale: 3 };
    check(&bounds(array(Int32Array::from(vec![7]))), min("a", price), decimals(vec![Some(7_000)], 12, 3));
    check(&bounds(array(decimals(vec![Some(125)], 5, 2))), max("a", price), decimals(vec![Some(1_250)], 12, 3));
    check(
        &bounds(array(Date32Array::from(vec![19_782]))),
        min("a", TimestampNtz),
        TimestampMicrosecondArray::from(vec![1_709_164_800_000_000]),
    );
    check(&bounds(array(Int64Array::from(vec![i64::MAX]))), min("a", Integer), Int32Array::from(vec![None]));
}

#[test]
fn other_encodings_of_a_type_are_read() {
    check(&bounds(array(LargeStringArray::from(vec!["x"]))), min("a", Text), StringArray::from(vec!["x"]));
    let coded: DictionaryArray<Int32Type> = ["x"].into_iter().collect();
    check(&bounds(array(coded)), min("a", Text), StringArray::from(vec!["x"]));
    check(&bounds(array(Date32Array::from(vec![1]))), max("a", Date), Date32Array::from(vec![1]));
}

#[test]
fn read_timestamps_of_any_unit_keeps_milliseconds() {
    // One nanosecond before the epoch is in the microsecond before it.
    let nanos = bounds(array(TimestampNanosecondArray::from(vec![-1])));
    check(&nanos, min("a", Timestamp), timestamps(vec![-1]));
    check(&nanos, max("a", Timestamp), timestamps(vec![998]));
    let micros = bounds(array(timestamps(vec![1_709_210_096_789_000])));
    check(&micros, min("a", Timestamp), timestamps(vec![1_709_210_096_789_000]));
    check(&micros, max("a", Timestamp), timestamps(vec![1_709_210_096_789_999]));
    let millis = bounds(array(TimestampMillisecondArray::from(vec![5])));
    check(&millis, max("a", TimestampNtz), TimestampMicrosecondArray::from(vec![5_999]));
    check(
        &bounds(array(TimestampMillisecondArray::from(vec![i64::MAX]))),
        max("a", TimestampNtz),
        TimestampMicrosecondArray::from(vec![None]),
    );
    check(
        &bounds(array(TimestampMicrosecondArray::from(vec![i64::MAX]))),
        max("a", TimestampNtz),
        TimestampMicrosecondArray::from(vec![i64::MAX]),
    );
}

#[test]
fn floats_of_a_struct_are_ordered_too() {
    let parsed = bounds(array(Float64Array::from(vec![f64::NAN, 0.0])));
    let lows = from_struct(&parsed, &[min("a", Double)]).remove(0);
    let lows = lows.as_any().downcast_ref::<Float64Array>().unwrap();
    assert!(lows.is_null(0) && lows.value(1).is_sign_negative());
}

#[test]
fn struct_to_json_matches_delta_spark() {
    let values = fields(vec![
        ("id", array(Int32Array::from(vec![Some(-7), None]))),
        ("na\"me", array(StringArray::from(vec![Some("a\n\u{1}\\é"), None]))),
        ("at", array(timestamps(vec![Some(1_709_210_096_789_999), None]))),
        ("clock", array(TimestampNanosecondArray::from(vec![Some(-1), None]))),
        ("day", array(Date32Array::from(vec![Some(-719_529), None]))),
        ("price", array(decimals(vec![Some(-5), None], 5, 2))),
        ("big", array(Float64Array::from(vec![Some(1e300), Some(f64::NAN)]))),
        ("small", array(Float32Array::from(vec![Some(0.1), Some(f32::NEG_INFINITY)]))),
        ("flag", array(BooleanArray::from(vec![Some(true), None]))),
        ("list", array(ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1)]), Some([Some(2)])]))),
        ("place", array(struct_array(vec![("x", array(Int64Array::from(vec![Some(1), None])))], Some(vec![true, true])))),
    ]);
    let parsed = struct_array(
        vec![
            ("numRecords", array(Int64Array::from(vec![3, 4, 5]))),
            ("minValues", array(arrow_select::concat::concat(&[&values, &values.slice(0, 1)]).unwrap())),
        ],
        Some(vec![true, true, false]),
    );
    let expected = StringArray::from(vec![
        Some(concat!(
            r#"{"numRecords":3,"minValues":{"id":-7,"na\"me":"a\n\u0001\\é","at":"2024-02-29T12:34:56.789Z","clock":"1969-12-31T23:59:59.999","#,
            r#""day":"-0001-12-31","price":-0.05,"big":1e300,"small":0.1,"flag":true,"place":{"x":1}}}"#
        )),
        Some(r#"{"numRecords":4,"minValues":{"big":"NaN","small":"-Infinity","place":{}}}"#),
        None,
    ]);
    assert_eq!(struct_to_json(&parsed), expected);
}
