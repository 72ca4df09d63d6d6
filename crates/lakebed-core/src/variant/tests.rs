use std::sync::Arc;

use arrow_array::builder::{Int64Builder, ListBuilder};
use arrow_array::{Date32Array, Decimal128Array, Int64Array, StringArray};
use arrow_schema::Field;

use super::*;
use crate::kit::arrow::struct_array;

fn binary(values: &[Option<&[u8]>]) -> ArrayRef {
    Arc::new(BinaryArray::from(values.to_vec()))
}

/// Returns one row: its metadata, `value` and `typed_value`.
fn variant(metadata: &[u8], value: Option<&[u8]>, typed: ArrayRef) -> StructArray {
    struct_array(vec![("metadata", binary(&[Some(metadata)])), ("value", binary(&[value])), ("typed_value", typed)], None)
}

#[track_caller]
fn check(stored: &StructArray, metadata: &[u8], value: &[u8]) {
    let found = unshred(stored).unwrap();
    assert_eq!((found.0.value(0), found.1.value(0)), (metadata, value));
}

#[track_caller]
fn check_error(stored: &StructArray, expected: &str) {
    assert_eq!(unshred(stored).unwrap_err().to_string(), expected);
}

/// The names `b`, the empty name, and `a`. They are not sorted.
const NAMES: &[u8] = &[1, 3, 0, 1, 1, 2, b'b', b'a'];

#[test]
fn primitives_are_encoded_by_their_type() {
    check(
        &variant(NO_NAMES, None, Arc::new(Int64Array::from(vec![-2]))),
        NO_NAMES,
        &[24, 254, 255, 255, 255, 255, 255, 255, 255],
    );
    check(&variant(NO_NAMES, None, Arc::new(StringArray::from(vec!["é"]))), NO_NAMES, &[9, 0xC3, 0xA9]);
    // The date is outside the range of Arrow's calendar.
    check(&variant(NO_NAMES, None, Arc::new(Date32Array::from(vec![i32::MAX]))), NO_NAMES, &[44, 255, 255, 255, 127]);
    let decimal = Decimal128Array::from(vec![-1]).with_precision_and_scale(9, 2).unwrap();
    check(&variant(NO_NAMES, None, Arc::new(decimal)), NO_NAMES, &[32, 2, 255, 255, 255, 255]);
    let long = "x".repeat(64);
    let mut expected = vec![64, 64, 0, 0, 0];
    expected.extend_from_slice(long.as_bytes());
    check(&variant(NO_NAMES, None, Arc::new(StringArray::from(vec![long]))), NO_NAMES, &expected);
}

#[test]
fn unshred_copies_untyped_values() {
    check(&variant(NAMES, Some(&[4]), Arc::new(Int64Array::from(vec![None]))), NAMES, &[4]);
    check(&variant(NAMES, None, Arc::new(Int64Array::from(vec![None]))), NAMES, NULL_VALUE);
}

/// Returns an object with typed fields `a` and `z`, in which `z` is missing.
fn object(a: i64) -> ArrayRef {
    let a = struct_array(vec![("value", binary(&[None])), ("typed_value", Arc::new(Int64Array::from(vec![a])))], None);
    let z = struct_array(vec![("typed_value", Arc::new(Int64Array::from(vec![None])))], None);
    Arc::new(struct_array(vec![("z", Arc::new(z)), ("a", Arc::new(a))], None))
}

#[test]
fn unshred_sorts_fields_by_name() {
    // The other fields are {"": true, "b": null}.
    let rest = [2, 2, 1, 0, 1, 0, 2, 0, 4];
    check(&variant(NAMES, Some(&rest), object(1)), NAMES, &[2, 3, 1, 2, 0, 9, 0, 10, 11, 24, 1, 0, 0, 0, 0, 0, 0, 0, 4, 0]);
    // A name that the dictionary lacks is added.
    check(&variant(NO_NAMES, None, object(1)), &[1, 1, 0, 1, b'a'], &[2, 1, 0, 0, 9, 24, 1, 0, 0, 0, 0, 0, 0, 0]);
    // A field that is stored in both places counts once, with its typed value.
    check(&variant(NAMES, Some(&[2, 1, 2, 0, 1, 4]), object(1)), NAMES, &[2, 1, 2, 0, 9, 24, 1, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn elements_without_a_value_are_null() {
    let elements = struct_array(
        vec![
            ("value", binary(&[Some(&[4]), None, None])),
            ("typed_value", Arc::new(Int64Array::from(vec![None, Some(7), None]))),
        ],
        None,
    );
    let mut lengths = ListBuilder::new(Int64Builder::new());
    lengths.append_value([Some(0), Some(0), Some(0)]);
    let offsets = lengths.finish().offsets().clone();
    let list =
        ListArray::new(Arc::new(Field::new("element", elements.data_type().clone(), true)), offsets, Arc::new(elements), None);
    check(&variant(NO_NAMES, None, Arc::new(list)), NO_NAMES, &[3, 3, 0, 1, 10, 11, 4, 24, 7, 0, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn broken_bytes_are_refused() {
    check_error(
        &variant(NAMES, Some(&[4]), object(1)),
        "variant: the value beside the typed fields of an object is not an object",
    );
    check_error(&variant(NAMES, Some(&[2, 9]), object(1)), "variant: its bytes end too early");
    check_error(
        &variant(NAMES, Some(&[2, 1, 9, 0, 1, 4]), object(1)),
        "variant: a field refers to name 9, which its metadata does not have",
    );
    check_error(&variant(&[], None, object(1)), "variant: its metadata is empty");
    check_error(&variant(&[1, 9], None, object(1)), "variant: its bytes end too early");
    check_error(&variant(&[1, 1, 0, 9], None, object(1)), "variant: a name reaches past the end of the metadata");
}

#[test]
fn unshred_refuses_fields_that_share_bytes() {
    // Two fields are both at offset 0, with a short string of ten bytes. The object has space for
    // only one of them.
    let shared = [&[2, 2, 0, 1, 0, 0, 11, 10 << 2 | 1][..], b"aaaaaaaaaa"].concat();
    let fields = struct_array(vec![("c", Arc::new(struct_array(vec![("value", binary(&[None]))], None)) as ArrayRef)], None);
    check_error(&variant(NAMES, Some(&shared), Arc::new(fields)), "variant: the fields of an object are larger than the object");
}
