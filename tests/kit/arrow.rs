//! Arrow arrays and batches.
//!
//! The unit tests of `lakebed-core` and `lakebed` include this file, so it uses no type of lakebed.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, Decimal128Array, Int64Array, RecordBatch, StringArray, StructArray, TimestampMicrosecondArray,
};
use arrow_buffer::NullBuffer;
use arrow_schema::Field;

/// Returns an array as an [`ArrayRef`].
pub fn array(array: impl Array + 'static) -> ArrayRef {
    Arc::new(array)
}

/// Returns a batch with these nullable columns.
pub fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

/// Returns a struct with these nullable fields. A row is null if `valid` is false for it. Without
/// `valid`, no row is null.
pub fn struct_array(fields: Vec<(&str, ArrayRef)>, valid: Option<Vec<bool>>) -> StructArray {
    let (fields, arrays): (Vec<_>, Vec<_>) =
        fields.into_iter().map(|(name, array)| (Arc::new(Field::new(name, array.data_type().clone(), true)), array)).unzip();
    StructArray::new(fields.into(), arrays, valid.map(NullBuffer::from))
}

/// Returns the struct of [`struct_array`] as an [`ArrayRef`].
pub fn struct_column(fields: Vec<(&str, ArrayRef)>, valid: Option<Vec<bool>>) -> ArrayRef {
    array(struct_array(fields, valid))
}

/// Returns decimals, given as unscaled values.
pub fn decimals(values: impl Into<Decimal128Array>, precision: u8, scale: i8) -> Decimal128Array {
    values.into().with_precision_and_scale(precision, scale).unwrap()
}

/// Returns timestamps with the time zone UTC.
pub fn timestamps(micros: impl Into<TimestampMicrosecondArray>) -> TimestampMicrosecondArray {
    micros.into().with_timezone("UTC")
}

/// Returns an array of strings.
pub fn string_array(values: &[Option<&str>]) -> ArrayRef {
    array(StringArray::from(values.to_vec()))
}

/// Returns 64-bit integers.
pub fn longs(values: &[Option<i64>]) -> ArrayRef {
    array(Int64Array::from(values.to_vec()))
}
