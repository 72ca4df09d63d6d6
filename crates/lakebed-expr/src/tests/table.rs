//! The table that `spark.py` builds in Spark, built by hand.

use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder, MapBuilder, MapFieldNames, StringBuilder};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int32Array, Int64Array,
    RecordBatch, StringArray, StructArray, TimestampMicrosecondArray,
};
use arrow_schema::{DataType, Field, Fields};

/// Rows 1 to 6; the third is null throughout.
pub(super) fn sample() -> RecordBatch {
    let micros = |values: [Option<i64>; 6]| TimestampMicrosecondArray::from(values.to_vec());
    let decimal = |values: [Option<i128>; 6], precision, scale| -> ArrayRef {
        Arc::new(Decimal128Array::from(values.to_vec()).with_precision_and_scale(precision, scale).unwrap())
    };
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("i", Arc::new(Int32Array::from(vec![Some(1), Some(-7), None, Some(0), Some(i32::MAX), Some(42)]))),
        ("l", Arc::new(Int64Array::from(vec![Some(10), Some(i64::MAX), None, Some(0), Some(i64::MIN), Some(42)]))),
        (
            "s",
            Arc::new(StringArray::from(vec![
                Some("apple"),
                Some("  Padded "),
                None,
                Some(""),
                Some("ñandú 😀"),
                Some("2024-01-15"),
            ])),
        ),
        ("d", Arc::new(Float64Array::from(vec![Some(1.5), Some(f64::NAN), None, Some(-0.0), Some(f64::INFINITY), Some(1e-10)]))),
        ("f", Arc::new(Float32Array::from(vec![Some(1.5), Some(f32::NAN), None, Some(-0.0), Some(0.1), Some(3.4e38)]))),
        ("dec", decimal([Some(1_234), Some(-5), None, Some(0), Some(9_999_999_999), Some(-1_250)], 10, 2)),
        (
            "big",
            decimal(
                [
                    Some(123_400_000_000),
                    Some(12_345_678_901_234_567_890_123_456_780_123_456_789),
                    None,
                    Some(0),
                    Some(99_999_999_999_999_999_999_999_999_999_999_999_999),
                    Some(-1),
                ],
                38,
                10,
            ),
        ),
        ("dt", Arc::new(Date32Array::from(vec![Some(19_782), Some(-1), None, Some(-141_427), Some(2_932_896), Some(-719_162)]))),
        (
            "ts",
            Arc::new(
                micros([
                    Some(1_709_210_096_789_123),
                    Some(-500_000),
                    None,
                    Some(-141_427 * 86_400_000_000),
                    Some(253_402_300_799_999_999),
                    Some(-719_162 * 86_400_000_000),
                ])
                .with_timezone("UTC"),
            ),
        ),
        (
            "ntz",
            Arc::new(micros([
                Some(1_711_929_599_999_999),
                Some(0),
                None,
                Some(-141_427 * 86_400_000_000),
                Some(253_402_300_799_999_999),
                Some(1_709_210_096_789_123),
            ])),
        ),
        ("b", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None, Some(true), Some(false), None]))),
        (
            "bin",
            Arc::new(BinaryArray::from_opt_vec(vec![
                Some(&[1, 2]),
                Some(&[]),
                None,
                Some(&[0, 0xff]),
                Some(&[0xff, 0xfe]),
                Some(b"a"),
            ])),
        ),
        ("arr", arrays()),
        ("m", maps()),
        ("st", structs()),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

fn arrays() -> ArrayRef {
    let mut lists = ListBuilder::new(Int32Builder::new()).with_field(Field::new("element", DataType::Int32, true));
    let rows: [Option<Vec<Option<i32>>>; 6] = [
        Some(vec![Some(1), Some(2), Some(3)]),
        Some(vec![]),
        None,
        Some(vec![None, Some(2)]),
        Some(vec![Some(7)]),
        Some(vec![Some(3), Some(1), Some(2)]),
    ];
    rows.into_iter().for_each(|row| lists.append_option(row));
    Arc::new(lists.finish())
}

fn maps() -> ArrayRef {
    let names = MapFieldNames { entry: "key_value".into(), key: "key".into(), value: "value".into() };
    let mut maps = MapBuilder::new(Some(names), StringBuilder::new(), Int32Builder::new());
    let rows: [Option<Vec<(&str, Option<i32>)>>; 6] = [
        Some(vec![("k", Some(1))]),
        Some(vec![]),
        None,
        Some(vec![("k", None)]),
        Some(vec![("x", Some(9)), ("k", Some(2))]),
        Some(vec![("k", Some(3))]),
    ];
    for row in rows {
        for (key, value) in row.iter().flatten() {
            maps.keys().append_value(key);
            maps.values().append_option(*value);
        }
        maps.append(row.is_some()).unwrap();
    }
    Arc::new(maps.finish())
}

fn structs() -> ArrayRef {
    let texts: ArrayRef = Arc::new(StringArray::from(vec![Some("deep"), None, None, None, Some(""), Some("x")]));
    let inner = Fields::from(vec![Field::new("c", DataType::Utf8, true)]);
    let inner: ArrayRef = Arc::new(StructArray::new(inner, vec![texts], Some(vec![true, false, false, true, true, true].into())));
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, None, Some(4), Some(5), Some(6)]));
    let fields = Fields::from(vec![Field::new("a", DataType::Int32, true), Field::new("b", inner.data_type().clone(), true)]);
    Arc::new(StructArray::new(fields, vec![numbers, inner], Some(vec![true, true, false, true, true, true].into())))
}
