//! Converts the values of an array to keys with the same order. The order is that of Delta's
//! statistics.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::iterator::ArrayIter;
use arrow_array::types::{Decimal256Type, Float16Type};
use arrow_array::{Array, ArrayAccessor, ArrayRef, FixedSizeBinaryArray};
use arrow_buffer::ArrowNativeType;
use arrow_schema::DataType;

use crate::{Error, Result};

/// One key for each value. The keys of nulls have no meaning.
pub(super) enum Keys<'a> {
    Words(Vec<u64>),
    Wide(Vec<u128>),
    Strings(Vec<&'a [u8]>),
}

/// Returns whether values of this type have keys.
pub fn is_orderable(data_type: &DataType) -> bool {
    use DataType::*;
    match data_type {
        Boolean | Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64 | Float16 | Float32 | Float64 => true,
        Decimal32(..) | Decimal64(..) | Decimal128(..) | Decimal256(..) => true,
        Date32 | Date64 | Time32(_) | Time64(_) | Timestamp(..) | Duration(_) => true,
        Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView | FixedSizeBinary(_) => true,
        Dictionary(_, values) => !matches!(**values, Dictionary(..)) && is_orderable(values),
        _ => false,
    }
}

/// Returns whether values of both types may be compared by their keys.
pub(super) fn is_same_order(one: &DataType, other: &DataType) -> bool {
    match (one, other) {
        (DataType::Dictionary(_, values), other) | (other, DataType::Dictionary(_, values)) => is_same_order(values, other),
        (DataType::Timestamp(one, _), DataType::Timestamp(other, _)) => one == other,
        _ => one == other || is_text(one) && is_text(other),
    }
}

fn is_text(data_type: &DataType) -> bool {
    use DataType::*;
    matches!(data_type, Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView | FixedSizeBinary(_))
}

/// Returns the array without a dictionary, and its widest decimals as bytes.
pub(super) fn plain(array: &ArrayRef) -> Result<ArrayRef> {
    match array.data_type() {
        DataType::Dictionary(_, values) => plain(&arrow_cast::cast(array, values)?),
        DataType::Decimal256(..) => {
            let decimals = array.as_primitive::<Decimal256Type>();
            let bytes = decimals.values().iter().flat_map(|value| {
                let mut bytes = value.to_be_bytes();
                bytes[0] ^= 0x80;
                bytes
            });
            let bytes = bytes.collect::<Vec<_>>().into();
            Ok(Arc::new(FixedSizeBinaryArray::try_new(32, bytes, decimals.nulls().cloned())?))
        }
        _ => Ok(Arc::clone(array)),
    }
}

/// Returns the keys of a plain array.
pub(super) fn keys(array: &dyn Array) -> Result<Keys<'_>> {
    use DataType::*;
    Ok(match array.data_type() {
        Boolean => Keys::Words(array.as_boolean().values().iter().map(u64::from).collect()),
        Int8 => words(array, |value: i8| signed(value.into())),
        Int16 => words(array, |value: i16| signed(value.into())),
        Int32 | Date32 | Time32(_) | Decimal32(..) => words(array, |value: i32| signed(value.into())),
        Int64 | Date64 | Time64(_) | Timestamp(..) | Duration(_) | Decimal64(..) => words(array, signed),
        UInt8 => words(array, |value: u8| value.into()),
        UInt16 => words(array, |value: u16| value.into()),
        UInt32 => words(array, |value: u32| value.into()),
        UInt64 => words(array, |value: u64| value),
        Float16 => {
            let floats = array.as_primitive::<Float16Type>().values();
            Keys::Words(floats.iter().map(|value| float(value.to_f64())).collect())
        }
        Float32 => words(array, |value: f32| float(value.into())),
        Float64 => words(array, float),
        Decimal128(..) => Keys::Wide(natives(array, |value: i128| value.cast_unsigned() ^ 1 << 127)),
        Utf8 => texts(array.as_string::<i32>()),
        LargeUtf8 => texts(array.as_string::<i64>()),
        Utf8View => texts(array.as_string_view()),
        Binary => texts(array.as_binary::<i32>()),
        LargeBinary => texts(array.as_binary::<i64>()),
        BinaryView => texts(array.as_binary_view()),
        FixedSizeBinary(_) => texts(array.as_fixed_size_binary()),
        other => return Err(Error::internal(format!("values of type {other} have no order here"))),
    })
}

fn words<V: ArrowNativeType>(array: &dyn Array, key: impl Fn(V) -> u64) -> Keys<'_> {
    Keys::Words(natives(array, key))
}

fn natives<V: ArrowNativeType, K>(array: &dyn Array, key: impl Fn(V) -> K) -> Vec<K> {
    array.to_data().buffer::<V>(0).iter().take(array.len()).map(|value| key(*value)).collect()
}

fn texts<'a, T: AsRef<[u8]> + ?Sized + 'a>(array: impl ArrayAccessor<Item = &'a T>) -> Keys<'a> {
    Keys::Strings(ArrayIter::new(array).map(|text| text.map_or(&[][..], AsRef::as_ref)).collect())
}

fn signed(value: i64) -> u64 {
    value.cast_unsigned() ^ 1 << 63
}

/// Returns the key of a float. All NaN values have the same key, which is greater than all others,
/// and both zeros have the same key.
fn float(value: f64) -> u64 {
    let value = if value.is_nan() { f64::NAN } else { value + 0.0 };
    let bits = value.to_bits().cast_signed();
    signed(bits ^ (bits >> 63 & i64::MAX))
}
