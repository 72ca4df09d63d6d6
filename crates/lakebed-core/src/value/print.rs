//! Prints whole columns of values as partition values.

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, DurationMicrosecondType, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, IntervalYearMonthType, TimestampMicrosecondType,
};
use arrow_array::{Array, PrimitiveArray, StringArray};
use arrow_schema::DataType as ArrowType;

use super::{Scalar, parse_partition_column};
use crate::schema::PrimitiveType;
use crate::{Error, Result};

/// Prints a column as partition values, each value as [`Scalar::to_partition`] does. This is the
/// inverse of [`parse_partition_column`]. Null and the empty string become null.
///
/// Equal values have equal strings and different values have different strings, so a string may be
/// used in place of its value. All NaN values are equal, and −0.0 differs from 0.0. If a value was
/// printed shortly before, its string is only copied.
pub fn print_partition_column(array: &dyn Array, data_type: PrimitiveType) -> Result<StringArray> {
    use PrimitiveType as P;
    match data_type {
        P::String | P::Char { .. } => {
            let texts = array.as_string_opt::<i32>().ok_or_else(|| other_type(array, data_type))?;
            // Parsing as a string keeps each string, and makes empty strings null.
            Ok(parse_partition_column(texts, P::String)?.as_string().clone())
        }
        P::Binary => {
            let values = array.as_binary_opt::<i32>().ok_or_else(|| other_type(array, data_type))?;
            let print = |bytes: &[u8]| Scalar::Binary(bytes.to_vec()).to_partition();
            values.iter().map(|bytes| bytes.map_or(Ok(None), print)).collect()
        }
        P::Boolean => {
            let values = array.as_boolean_opt().ok_or_else(|| other_type(array, data_type))?;
            check_rows(array)?;
            Ok(values.iter().map(|value| value.map(|value| if value { "true" } else { "false" })).collect())
        }
        P::Long => print::<Int64Type>(array, data_type, |value| value as u128, Scalar::Long),
        P::Integer => print::<Int32Type>(array, data_type, |value| value as u128, Scalar::Integer),
        P::Short => print::<Int16Type>(array, data_type, |value| value as u128, Scalar::Short),
        P::Byte => print::<Int8Type>(array, data_type, |value| value as u128, Scalar::Byte),
        P::Float => print::<Float32Type>(array, data_type, |value| value.to_bits().into(), Scalar::Float),
        P::Double => print::<Float64Type>(array, data_type, |value| value.to_bits().into(), Scalar::Double),
        P::Date => print::<Date32Type>(array, data_type, |value| value as u128, Scalar::Date),
        P::Timestamp => print::<TimestampMicrosecondType>(array, data_type, |value| value as u128, Scalar::Timestamp),
        P::TimestampNtz => print::<TimestampMicrosecondType>(array, data_type, |value| value as u128, Scalar::TimestampNtz),
        P::Decimal { scale, .. } => {
            if !matches!(array.data_type(), ArrowType::Decimal128(_, found) if *found == scale.cast_signed()) {
                return Err(other_type(array, data_type));
            }
            let decimal = |unscaled| Scalar::Decimal { unscaled, scale };
            print::<Decimal128Type>(array, data_type, i128::cast_unsigned, decimal)
        }
        P::YearMonthInterval => {
            print::<IntervalYearMonthType>(array, data_type, |value| value as u128, Scalar::YearMonthInterval)
        }
        P::DayTimeInterval => print::<DurationMicrosecondType>(array, data_type, |value| value as u128, Scalar::DayTimeInterval),
        P::Void => Ok(StringArray::new_null(array.len())),
        P::Variant => Err(Error::schema_mismatch("a variant cannot be a partition value")),
    }
}

/// The greatest length of a printed value, except for strings and binaries.
const LONGEST_TEXT: usize = 64;

/// The greatest number of values that are remembered with their strings. It is a power of two.
const REMEMBERED: usize = 1 << 12;

fn print<T: ArrowPrimitiveType>(
    array: &dyn Array,
    data_type: PrimitiveType,
    bits: impl Fn(T::Native) -> u128,
    scalar: impl Fn(T::Native) -> Scalar,
) -> Result<StringArray> {
    let array: &PrimitiveArray<T> = array.as_primitive_opt().ok_or_else(|| other_type(array, data_type))?;
    check_rows(array)?;
    let mut texts = StringBuilder::with_capacity(array.len(), array.len().saturating_mul(LONGEST_TEXT / 4));
    let mut known: Vec<Option<(u128, String)>> = vec![None; array.len().next_power_of_two().min(REMEMBERED)];
    for value in array {
        let Some(value) = value else {
            texts.append_null();
            continue;
        };
        let bits = bits(value);
        let place = place(bits) & (known.len() - 1);
        if let Some(Some((same, text))) = known.get(place)
            && *same == bits
        {
            texts.append_value(text);
            continue;
        }
        let text = scalar(value).to_partition()?;
        texts.append_option(text.as_deref());
        if let Some(known) = known.get_mut(place) {
            *known = text.map(|text| (bits, text));
        }
    }
    Ok(texts.finish())
}

/// Returns the position of a value among the remembered ones. Consecutive values, and values that
/// differ only in their high bits, get different positions.
fn place(bits: u128) -> usize {
    let folded = (bits ^ (bits >> 64)) as u64;
    (folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as usize
}

/// Checks that the strings of one array fit into 2 GiB.
fn check_rows(array: &dyn Array) -> Result<()> {
    match array.len().checked_mul(LONGEST_TEXT).map(i32::try_from) {
        Some(Ok(_)) => Ok(()),
        _ => Err(Error::batch_too_large(format!("{} partition values as strings", array.len()))),
    }
}

fn other_type(array: &dyn Array, data_type: PrimitiveType) -> Error {
    Error::internal(format!("the type of values is {}, not {data_type}", array.data_type()))
}

#[cfg(test)]
mod tests;
