use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::types::{Date32Type, Int32Type};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DurationMicrosecondArray, Float32Array, Float64Array,
    Int8Array, Int16Array, Int32Array, Int64Array, IntervalYearMonthArray, NullArray, StructArray, TimestampMicrosecondArray,
    new_null_array,
};
use proptest::prelude::*;

use super::*;
use crate::ErrorKind;
use crate::schema::arrow::primitive_to_arrow;

#[track_caller]
fn check(array: impl Array, data_type: PrimitiveType, expected: &[Option<&str>]) {
    let printed = print_partition_column(&array, data_type).unwrap();
    assert_eq!(printed.iter().collect::<Vec<_>>(), expected);
}

// The expected strings are those that Delta Spark 4.4.0 wrote for these values.
#[test]
fn values_are_spelled_as_spark_spells_them() {
    use PrimitiveType as P;
    check(Int8Array::from(vec![-128, 127]), P::Byte, &[Some("-128"), Some("127")]);
    check(Int16Array::from(vec![Some(-3), None]), P::Short, &[Some("-3"), None]);
    check(Int32Array::from(vec![i32::MIN, 0]), P::Integer, &[Some("-2147483648"), Some("0")]);
    check(Int64Array::from(vec![i64::MAX]), P::Long, &[Some("9223372036854775807")]);
    check(BooleanArray::from(vec![Some(true), Some(false), None]), P::Boolean, &[Some("true"), Some("false"), None]);
    check(
        Date32Array::from(vec![Some(19_723), Some(-719_162), Some(2_932_897), None]),
        P::Date,
        &[Some("2024-01-01"), Some("0001-01-01"), Some("+10000-01-01"), None],
    );
    let micros = vec![1_704_110_400_000_000, 1_704_110_400_500_000, -1];
    check(
        TimestampMicrosecondArray::from(micros).with_timezone("UTC"),
        P::Timestamp,
        &[Some("2024-01-01T12:00:00.000000Z"), Some("2024-01-01T12:00:00.500000Z"), Some("1969-12-31T23:59:59.999999Z")],
    );
    check(
        TimestampMicrosecondArray::from(vec![1_704_110_400_000_000, 1_704_110_400_500_000, 1_704_110_400_000_001]),
        P::TimestampNtz,
        &[Some("2024-01-01 12:00:00"), Some("2024-01-01 12:00:00.5"), Some("2024-01-01 12:00:00.000001")],
    );
    let decimals = Decimal128Array::from(vec![1_000_000_000_000_000_000, 1, 0, -1_100_000_000_000_000_000]);
    check(
        decimals.with_precision_and_scale(38, 18).unwrap(),
        P::Decimal { precision: 38, scale: 18 },
        &[
            Some("1.000000000000000000"),
            Some("0.000000000000000001"),
            Some("0.000000000000000000"),
            Some("-1.100000000000000000"),
        ],
    );
    check(
        Float32Array::from(vec![f32::NAN, f32::NEG_INFINITY, -0.0, 0.0, 1.0, 1.1, 1e10, 1e-5, 1e7, 1e-3, f32::MAX]),
        P::Float,
        &["NaN", "-Infinity", "-0.0", "0.0", "1.0", "1.1", "1.0E10", "1.0E-5", "1.0E7", "0.001", "3.4028235E38"].map(Some),
    );
    check(
        Float64Array::from(vec![f64::INFINITY, 1e22, f64::MAX]),
        P::Double,
        &["Infinity", "1.0E22", "1.7976931348623157E308"].map(Some),
    );
    check(
        StringArray::from(vec![Some("a/b=c%20 :"), Some(""), Some(" "), None]),
        P::String,
        &[Some("a/b=c%20 :"), None, Some(" "), None],
    );
    check(
        BinaryArray::from(vec![Some(&b"\x01\x02\x03"[..]), Some(b""), None]),
        P::Binary,
        &[Some("\u{1}\u{2}\u{3}"), None, None],
    );
    check(StringArray::from(vec!["ab   ", "ab"]), P::Char { length: 5 }, &[Some("ab   "), Some("ab")]);
}

#[test]
fn print_void_gives_null_and_refuses_variant() {
    check(NullArray::new(2), PrimitiveType::Void, &[None, None]);
    let error = print_partition_column(&StructArray::new_empty_fields(1, None), PrimitiveType::Variant).unwrap_err();
    assert_eq!(error.message(), "a variant cannot be a partition value");
}

#[test]
fn an_array_of_another_type_is_refused() {
    let error = print_partition_column(&Int32Array::from(vec![1]), PrimitiveType::Long).unwrap_err();
    assert_eq!(error.message(), "the type of values is Int32, not long");
    let cents = Decimal128Array::from(vec![1]).with_precision_and_scale(5, 2).unwrap();
    let error = print_partition_column(&cents, PrimitiveType::Decimal { precision: 5, scale: 1 }).unwrap_err();
    assert_eq!(error.message(), "the type of values is Decimal128(5, 2), not decimal(5,1)");
    let error = print_partition_column(&BinaryArray::from(vec![&[0xff][..]]), PrimitiveType::Binary).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::InvalidInput);
}

#[test]
fn a_slice_prints_its_own_rows() {
    let dates = Date32Array::from(vec![Some(0), Some(1), None, Some(3)]).slice(1, 2);
    check(dates, PrimitiveType::Date, &[Some("1970-01-02"), None]);
    check(StringArray::from(vec!["a", "b", ""]).slice(1, 2), PrimitiveType::String, &[Some("b"), None]);
    check(Int32Array::from(Vec::<i32>::new()), PrimitiveType::Integer, &[]);
}

#[test]
fn print_many_values_beyond_cache_is_exact() {
    let days = || (0..3 * REMEMBERED as i32).map(|day| day % 7_000);
    let printed = print_partition_column(&Date32Array::from_iter_values(days()), PrimitiveType::Date).unwrap();
    let parsed = parse_partition_column(&printed, PrimitiveType::Date).unwrap();
    assert!(parsed.as_primitive::<Date32Type>().values().iter().copied().eq(days()));
    let apart: Vec<i32> = (0..1_000).map(|row| (row % 2) << 31 | 1 << 20).collect();
    let printed = print_partition_column(&Int32Array::from(apart.clone()), PrimitiveType::Integer).unwrap();
    let parsed = parse_partition_column(&printed, PrimitiveType::Integer).unwrap();
    assert_eq!(parsed.as_primitive::<Int32Type>().values(), &apart[..]);
}

/// Returns a column with repeated values, of a type that can be printed.
fn any_column() -> impl Strategy<Value = (ArrayRef, PrimitiveType)> {
    use PrimitiveType as P;
    let decimal = (1..=38_u8).prop_flat_map(|precision| {
        let bound = 10_i128.pow(u32::from(precision)) - 1;
        let values = any_rows(prop_oneof![-bound..=bound, -9..=9_i128]);
        (Just(precision), 0..=precision, values)
    });
    let decimals = decimal.prop_map(|(precision, scale, values)| {
        let values = Decimal128Array::from(values).with_precision_and_scale(precision, scale.cast_signed()).unwrap();
        (Arc::new(values) as ArrayRef, P::Decimal { precision, scale })
    });
    let texts = || any_rows("\\PC{0,3}|[a-c]");
    let doubles = prop_oneof![any::<f64>(), Just(f64::NAN), Just(-0.0), Just(0.0), Just(f64::from_bits(1)), Just(1e7)];
    let floats = prop_oneof![any::<f32>(), Just(f32::NAN), Just(-0.0), Just(0.0), Just(f32::from_bits(1)), Just(1e7)];
    prop_oneof![
        any_rows(any::<i8>()).prop_map(|rows| (Arc::new(Int8Array::from(rows)) as ArrayRef, P::Byte)),
        any_rows(any::<i16>()).prop_map(|rows| (Arc::new(Int16Array::from(rows)) as ArrayRef, P::Short)),
        any_rows(any::<i32>()).prop_map(|rows| (Arc::new(Int32Array::from(rows)) as ArrayRef, P::Integer)),
        any_rows(any::<i64>()).prop_map(|rows| (Arc::new(Int64Array::from(rows)) as ArrayRef, P::Long)),
        any_rows(floats).prop_map(|rows| (Arc::new(Float32Array::from(rows)) as ArrayRef, P::Float)),
        any_rows(doubles).prop_map(|rows| (Arc::new(Float64Array::from(rows)) as ArrayRef, P::Double)),
        any_rows(any::<bool>()).prop_map(|rows| (Arc::new(BooleanArray::from(rows)) as ArrayRef, P::Boolean)),
        any_rows(any::<i32>()).prop_map(|rows| (Arc::new(Date32Array::from(rows)) as ArrayRef, P::Date)),
        any_rows(any::<i64>())
            .prop_map(|rows| (Arc::new(TimestampMicrosecondArray::from(rows).with_timezone("UTC")) as ArrayRef, P::Timestamp)),
        any_rows(any::<i64>()).prop_map(|rows| (Arc::new(TimestampMicrosecondArray::from(rows)) as ArrayRef, P::TimestampNtz)),
        any_rows(any::<i32>()).prop_map(|rows| (Arc::new(IntervalYearMonthArray::from(rows)) as ArrayRef, P::YearMonthInterval)),
        any_rows(any::<i64>()).prop_map(|rows| (Arc::new(DurationMicrosecondArray::from(rows)) as ArrayRef, P::DayTimeInterval)),
        texts().prop_map(|rows| (Arc::new(StringArray::from(rows)) as ArrayRef, P::String)),
        texts().prop_map(|rows| {
            let bytes = rows.iter().map(|text| text.as_ref().map(String::as_bytes)).collect::<BinaryArray>();
            (Arc::new(bytes) as ArrayRef, P::Binary)
        }),
        decimals,
    ]
}

/// Returns rows with few distinct values and some nulls.
fn any_rows<T: Clone + std::fmt::Debug>(value: impl Strategy<Value = T>) -> impl Strategy<Value = Vec<Option<T>>> {
    let values = prop::collection::vec(prop::option::weighted(0.9, value), 1..8);
    (values, prop::collection::vec(any::<prop::sample::Index>(), 0..40))
        .prop_map(|(values, rows)| rows.iter().map(|row| row.get(&values).clone()).collect())
}

/// Returns the value of a row unchanged, except that null and the empty string count as equal.
fn value(array: &ArrayRef, row: usize) -> Option<String> {
    let text = |array: &ArrayRef| arrow_cast::display::array_value_to_string(array, row).unwrap();
    let bits = match array.data_type() {
        ArrowType::Float32 => float_bits(array.as_primitive::<Float32Type>().value(row).into()),
        ArrowType::Float64 => float_bits(array.as_primitive::<Float64Type>().value(row)),
        ArrowType::Timestamp(..) => array.as_primitive::<TimestampMicrosecondType>().value(row).to_string(),
        ArrowType::Date32 => array.as_primitive::<Date32Type>().value(row).to_string(),
        _ => text(array),
    };
    (array.is_valid(row) && !bits.is_empty()).then_some(bits)
}

fn float_bits(value: f64) -> String {
    if value.is_nan() { "NaN".to_owned() } else { value.to_bits().to_string() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn print_then_parse_gives_same_column((array, data_type) in any_column()) {
        let printed = print_partition_column(&array, data_type).unwrap();
        let parsed = parse_partition_column(&printed, data_type).unwrap();
        prop_assert_eq!(parsed.data_type(), &primitive_to_arrow(data_type).unwrap());
        for row in 0..array.len() {
            prop_assert_eq!(value(&parsed, row), value(&array, row), "{:?}", printed.is_valid(row).then(|| printed.value(row)));
        }
    }

    #[test]
    fn print_gives_equal_strings_for_equal_values((array, data_type) in any_column()) {
        let printed = print_partition_column(&array, data_type).unwrap();
        let (mut texts, mut values) = (HashMap::new(), HashMap::new());
        for (row, text) in printed.iter().enumerate() {
            let value = value(&array, row);
            prop_assert_eq!(*texts.entry(value.clone()).or_insert(text), text);
            prop_assert_eq!(values.entry(text).or_insert(value.clone()), &value);
        }
    }

    #[test]
    fn print_then_parse_keeps_padded_strings(rows in any_rows("[a-zé]{0,4} {0,2}"), length in 6..8_u32) {
        let texts = StringArray::from(rows);
        let padded = crate::schema::char_varchar::pad_column(&texts, length).unwrap();
        let char = PrimitiveType::Char { length };
        let parsed = parse_partition_column(&print_partition_column(&padded, char).unwrap(), char).unwrap();
        prop_assert_eq!(&parsed, &padded);
    }
}

#[test]
fn nulls_of_every_type_stay_null() {
    use PrimitiveType as P;
    for primitive in [P::String, P::Binary, P::Boolean, P::Long, P::Double, P::Date, P::Timestamp, P::DayTimeInterval, P::Void] {
        let nulls = new_null_array(&primitive_to_arrow(primitive).unwrap(), 3);
        assert_eq!(print_partition_column(&nulls, primitive).unwrap(), StringArray::new_null(3));
    }
}
