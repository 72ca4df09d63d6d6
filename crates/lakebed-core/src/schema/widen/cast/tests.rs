use arrow_array::builder::{Int32Builder, MapBuilder, StringBuilder};
use arrow_array::types::{Int8Type, Int16Type};
use arrow_array::{
    BinaryArray, Date32Array, Date64Array, Decimal256Array, DictionaryArray, Float32Array, Float64Array, Int8Array, Int16Array,
    Int32Array, Int64Array, LargeListArray, StringArray, StringViewArray, TimestampMillisecondArray, TimestampNanosecondArray,
    TimestampSecondArray, UInt32Array,
};
use arrow_buffer::i256;
use arrow_schema::Field;
use proptest::prelude::*;

use super::*;
use crate::ErrorKind;
use crate::kit::arrow::decimals;

fn micros(zone: Option<&str>) -> ArrowType {
    ArrowType::Timestamp(TimeUnit::Microsecond, zone.map(Into::into))
}

/// Checks that an array, cast to the type of the expected array, gives the expected array.
#[track_caller]
fn check(from: impl Array + 'static, expected: impl Array + 'static) {
    let expected: ArrayRef = Arc::new(expected);
    let cast = cast_up(&(Arc::new(from) as ArrayRef), expected.data_type()).unwrap();
    assert_eq!(cast.data_type(), expected.data_type());
    assert_eq!(&cast, &expected);
}

#[track_caller]
fn check_error(from: impl Array + 'static, to: &ArrowType, expected: &str) {
    let from: ArrayRef = Arc::new(from);
    assert_eq!(cast_up(&from, to).unwrap_err().to_string(), expected);
}

#[test]
fn numbers_widen() {
    check(Int8Array::from(vec![Some(-128), None]), Int16Array::from(vec![Some(-128), None]));
    check(Int16Array::from(vec![-32768]), Int32Array::from(vec![-32768]));
    check(Int32Array::from(vec![i32::MIN]), Int64Array::from(vec![-2_147_483_648]));
    check(UInt32Array::from(vec![u32::MAX]), Int64Array::from(vec![4_294_967_295]));
    check(Int32Array::from(vec![i32::MAX]), Float64Array::from(vec![2_147_483_647.0]));
    check(Float32Array::from(vec![0.1, f32::INFINITY]), Float64Array::from(vec![0.10000000149011612, f64::INFINITY]));
}

#[test]
fn cast_unannotated_small_integers_checks_range() {
    check(Int32Array::from(vec![-128, 127]), Int8Array::from(vec![-128, 127]));
    check(Int32Array::from(vec![32767]), Int16Array::from(vec![32767]));
    let message = "a value stored as integer does not fit into byte: 128";
    check_error(Int32Array::from(vec![128]), &ArrowType::Int8, message);
}

#[test]
fn decimals_widen_exactly() {
    check(decimals(vec![Some(-12345), None], 5, 2), decimals(vec![Some(-12_345_000), None], 10, 5));
    check(decimals(vec![Some(12345)], 5, 2), decimals(vec![Some(12345)], 38, 2));
    check(Int32Array::from(vec![-7]), decimals(vec![Some(-700)], 12, 2));
    check(Int64Array::from(vec![i64::MIN]), decimals(vec![Some(-922_337_203_685_477_580_800)], 22, 2));
    let wide = Decimal256Array::from(vec![i256::from_i128(-123)]).with_precision_and_scale(50, 1).unwrap();
    check(wide, decimals(vec![Some(-12300)], 10, 3));
}

#[test]
fn cast_decimal_out_of_range_fails() {
    check_error(
        decimals(vec![Some(99_999)], 5, 0),
        &ArrowType::Decimal128(5, 1),
        "a value stored as decimal(5,0) does not fit into decimal(5,1): 99999 with 0 decimals",
    );
    check_error(
        Int64Array::from(vec![100]),
        &ArrowType::Decimal128(2, 0),
        "a value stored as decimal(20,0) does not fit into decimal(2,0): 100 with 0 decimals",
    );
    check_error(
        decimals(vec![Some(10)], 5, 1),
        &ArrowType::Decimal128(5, 0),
        "a column stored as decimal(5,1) cannot be read as decimal(5,0): Delta allows no such change of type",
    );
}

#[test]
fn timestamps_of_every_unit_become_microseconds() {
    let micro = TimestampMicrosecondArray::from;
    check(TimestampSecondArray::from(vec![-1]), micro(vec![-1_000_000]));
    check(TimestampMillisecondArray::from(vec![Some(1), None]), TimestampMicrosecondArray::from(vec![Some(1_000), None]));
    check(TimestampNanosecondArray::from(vec![1_999, -1, -1_000, -1_001]), micro(vec![1, -1, -1, -2]));
    // INT96 is read without a zone. Other writers use another label for the zone.
    check(TimestampNanosecondArray::from(vec![5_000]), micro(vec![5]).with_timezone("UTC"));
    check(micro(vec![7]).with_timezone("+00:00"), micro(vec![7]).with_timezone("UTC"));
    check(micro(vec![7]).with_timezone("UTC"), micro(vec![7]));
    let message = "a value stored as timestamp_ntz in seconds does not fit into timestamp_ntz: 9223372036854775807";
    check_error(TimestampSecondArray::from(vec![i64::MAX]), &micros(None), message);
}

#[test]
fn dates_are_days_and_become_midnights() {
    check(Int32Array::from(vec![Some(-1), None]), Date32Array::from(vec![Some(-1), None]));
    check(Date32Array::from(vec![-1, 1]), TimestampMicrosecondArray::from(vec![-86_400_000_000, 86_400_000_000]));
    check(Date64Array::from(vec![-1, 86_400_000]), Date32Array::from(vec![-1, 1]));
    let message = "a value stored as date does not fit into timestamp_ntz: day 2147483647";
    check_error(Date32Array::from(vec![i32::MAX]), &micros(None), message);
}

#[test]
fn text_and_bytes_change_their_form_alone() {
    check(StringViewArray::from(vec![Some("é"), None]), StringArray::from(vec![Some("é"), None]));
    check(BinaryArray::from(vec![b"abc".as_slice()]), StringArray::from(vec!["abc"]));
    check(StringArray::from(vec!["abc"]), BinaryArray::from(vec![b"abc".as_slice()]));
    check(
        vec![Some("x"), None, Some("x")].into_iter().collect::<DictionaryArray<Int8Type>>(),
        StringArray::from(vec![Some("x"), None, Some("x")]),
    );
    let not_text: ArrayRef = Arc::new(BinaryArray::from(vec![[0xff_u8].as_slice()]));
    let error = cast_up(&not_text, &ArrowType::Utf8).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::SchemaMismatch);
    assert!(error.message().starts_with("a value stored as binary does not fit into string: "), "{error}");
}

#[test]
fn what_delta_does_not_widen_is_refused() {
    let refused =
        |from: &str, to: &str| format!("a column stored as {from} cannot be read as {to}: Delta allows no such change of type");
    check_error(Int64Array::from(vec![1]), &ArrowType::Int32, &refused("long", "integer"));
    check_error(Int64Array::from(vec![1]), &ArrowType::Float64, &refused("long", "double"));
    check_error(Float64Array::from(vec![1.0]), &ArrowType::Float32, &refused("double", "float"));
    check_error(Int32Array::from(vec![1]), &ArrowType::Utf8, &refused("integer", "string"));
    check_error(Date32Array::from(vec![1]), &micros(Some("UTC")), &refused("date", "timestamp"));
}

#[test]
fn cast_lists_and_maps_casts_their_values() {
    let rows = vec![Some(vec![Some(1), None]), None, Some(vec![])];
    let list = LargeListArray::from_iter_primitive::<Int16Type, _, _>(rows.clone());
    let to = ArrowType::List(Arc::new(Field::new("element", ArrowType::Int64, true)));
    let cast = cast_up(&(Arc::new(list) as ArrayRef), &to).unwrap();
    assert_eq!(*cast.data_type(), to);
    let plain = ListArray::from_iter_primitive::<Int64Type, _, _>(
        rows.into_iter().map(|row| row.map(|row| row.into_iter().map(|value| value.map(i64::from)).collect::<Vec<_>>())),
    );
    assert_eq!(cast.as_list::<i32>().values(), plain.values());
    assert_eq!((cast.as_list::<i32>().offsets(), cast.nulls()), (plain.offsets(), plain.nulls()));

    let mut map = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    map.keys().append_value("k");
    map.values().append_value(5);
    map.append(true).unwrap();
    map.append(false).unwrap();
    let entries = vec![Field::new("key", ArrowType::Utf8View, false), Field::new("value", ArrowType::Float64, true)];
    let to = ArrowType::Map(Arc::new(Field::new("key_value", ArrowType::Struct(entries.into()), false)), false);
    let cast = cast_up(&(Arc::new(map.finish()) as ArrayRef), &to).unwrap();
    assert_eq!(*cast.data_type(), to);
    assert_eq!(cast.as_map().value_length(0), 1);
    assert!(cast.is_null(1));
    assert_eq!(cast.as_map().keys().as_string_view().value(0), "k");
    assert_eq!(cast.as_map().values().as_primitive::<arrow_array::types::Float64Type>().value(0), 5.0);
}

#[test]
fn structs_are_cast_field_by_field() {
    let stored = StructArray::from(vec![
        (Arc::new(Field::new("dropped", ArrowType::Int32, true)), Arc::new(Int32Array::from(vec![9])) as ArrayRef),
        (Arc::new(Field::new("b", ArrowType::Int32, true)), Arc::new(Int32Array::from(vec![2]))),
        (Arc::new(Field::new("a", ArrowType::Int32, true)), Arc::new(Int32Array::from(vec![1]))),
    ]);
    let wanted = StructArray::from(vec![
        (Arc::new(Field::new("a", ArrowType::Int64, true)), Arc::new(Int64Array::from(vec![1])) as ArrayRef),
        (Arc::new(Field::new("b", ArrowType::Int32, true)), Arc::new(Int32Array::from(vec![2]))),
        (Arc::new(Field::new("new", ArrowType::Utf8, true)), Arc::new(StringArray::from(vec![None::<&str>]))),
    ]);
    check(stored.clone(), wanted);
    check(stored.clone(), StructArray::new_empty_fields(1, None));

    let required = ArrowType::Struct(vec![Field::new("new", ArrowType::Utf8, false)].into());
    let stored: ArrayRef = Arc::new(stored);
    let error = cast_up(&stored, &required).unwrap_err().to_string();
    assert!(error.ends_with("field new, which is absent but must not be null"), "{error}");
    let narrower = ArrowType::Struct(vec![Field::new("a", ArrowType::Utf8, true)].into());
    let error = cast_up(&stored, &narrower).unwrap_err().to_string();
    assert_eq!(error, "field a: a column stored as integer cannot be read as string: Delta allows no such change of type");
}

#[test]
fn an_all_null_column_takes_every_type() {
    check(arrow_array::NullArray::new(2), Int64Array::from(vec![None, None]));
    check(Int32Array::from(vec![1]), arrow_array::NullArray::new(1));
}

proptest! {
    #[test]
    fn widened_decimals_keep_their_value(
        value in -99_999_999_999_i128..=99_999_999_999, precision in 11..=20_u8, scale in 0..=11_u8, more in 0..=9_u8, finer in 0..=9_u8,
    ) {
        prop_assume!(finer <= more);
        let from: ArrayRef = Arc::new(decimals(vec![Some(value)], precision, scale.cast_signed()));
        let cast = cast_up(&from, &ArrowType::Decimal128(precision + more, (scale + finer).cast_signed())).unwrap();
        let factor = 10_i128.pow(u32::from(finer));
        prop_assert_eq!(cast.as_primitive::<Decimal128Type>().value(0), value * factor);
    }

    #[test]
    fn nanoseconds_are_cut_downwards(nanos in any::<i64>()) {
        let from: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![nanos]));
        let micros = cast_up(&from, &micros(None)).unwrap().as_primitive::<TimestampMicrosecondType>().value(0);
        let rest = i128::from(nanos) - i128::from(micros) * 1_000;
        prop_assert!((0..1_000).contains(&rest));
    }
}
