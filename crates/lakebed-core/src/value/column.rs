//! Parses whole columns of partition values.

use std::iter::repeat_n;
use std::sync::Arc;

use arrow_array::builder::BooleanBuilder;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, DurationMicrosecondType, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, IntervalYearMonthType, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef, BinaryArray, BooleanArray, NullArray, PrimitiveArray, StringArray, new_null_array};
use arrow_buffer::{BooleanBuffer, NullBuffer, NullBufferBuilder};

use super::{Scalar, interval, not_of_type, number, parse_boolean, time};
use crate::schema::PrimitiveType;
use crate::schema::arrow::{UTC, primitive_to_arrow};
use crate::schema::char_varchar::pad_column;
use crate::{Error, Result};

/// Parses a column of partition values into the Arrow type of the column. Each value is parsed as
/// by [`Scalar::parse_partition`].
///
/// If a string equals the previous one, it is only compared and not parsed again. If a string is
/// not of the type, the error names it.
pub fn parse_partition_column(texts: &StringArray, primitive: PrimitiveType) -> Result<ArrayRef> {
    Ok(match primitive {
        PrimitiveType::String => {
            Arc::new(StringArray::try_new(texts.offsets().clone(), texts.values().clone(), nulls_of(texts))?)
        }
        PrimitiveType::Char { length } => {
            pad_column(&StringArray::try_new(texts.offsets().clone(), texts.values().clone(), nulls_of(texts))?, length)?
        }
        PrimitiveType::Binary => {
            Arc::new(BinaryArray::try_new(texts.offsets().clone(), texts.values().clone(), nulls_of(texts))?)
        }
        PrimitiveType::Long => Arc::new(parse_column::<Int64Type>(texts, primitive, number::parse_integer)?),
        PrimitiveType::Integer => Arc::new(parse_column::<Int32Type>(texts, primitive, number::parse_integer)?),
        PrimitiveType::Short => Arc::new(parse_column::<Int16Type>(texts, primitive, number::parse_integer)?),
        PrimitiveType::Byte => Arc::new(parse_column::<Int8Type>(texts, primitive, number::parse_integer)?),
        PrimitiveType::Float => Arc::new(parse_column::<Float32Type>(texts, primitive, number::parse_float)?),
        PrimitiveType::Double => Arc::new(parse_column::<Float64Type>(texts, primitive, number::parse_float)?),
        PrimitiveType::Boolean => Arc::new(parse_booleans(texts)?),
        PrimitiveType::Date => Arc::new(parse_column::<Date32Type>(texts, primitive, time::parse_date)?),
        PrimitiveType::Timestamp => {
            Arc::new(parse_column::<TimestampMicrosecondType>(texts, primitive, time::parse_timestamp)?.with_timezone(UTC))
        }
        PrimitiveType::TimestampNtz => {
            Arc::new(parse_column::<TimestampMicrosecondType>(texts, primitive, time::parse_timestamp_ntz)?)
        }
        PrimitiveType::Decimal { precision, scale } => {
            let parse = |text: &str| number::parse_decimal(text, precision, scale);
            let column = parse_column::<Decimal128Type>(texts, primitive, parse)?;
            Arc::new(column.with_data_type(primitive_to_arrow(primitive)?))
        }
        PrimitiveType::YearMonthInterval => {
            Arc::new(parse_column::<IntervalYearMonthType>(texts, primitive, interval::parse_months)?)
        }
        PrimitiveType::DayTimeInterval => {
            Arc::new(parse_column::<DurationMicrosecondType>(texts, primitive, interval::parse_micros)?)
        }
        PrimitiveType::Void | PrimitiveType::Variant => match texts.iter().flatten().find(|text| !text.is_empty()) {
            Some(text) => return Err(not_of_type(text, primitive)),
            None => new_null_array(&primitive_to_arrow(primitive)?, texts.len()),
        },
    })
}

/// Returns a column that holds one value in every row. The scalar must be of the type.
pub fn scalar_to_array(scalar: &Scalar, primitive: PrimitiveType, len: usize) -> Result<ArrayRef> {
    Ok(match (scalar, primitive) {
        (Scalar::Null, PrimitiveType::Void) => Arc::new(NullArray::new(len)),
        (Scalar::Null, _) => new_null_array(&primitive_to_arrow(primitive)?, len),
        (Scalar::String(text), PrimitiveType::String | PrimitiveType::Char { .. }) => {
            check_size(text.len(), len)?;
            Arc::new(StringArray::from_iter_values(repeat_n(text, len)))
        }
        (Scalar::Binary(bytes), PrimitiveType::Binary) => {
            check_size(bytes.len(), len)?;
            Arc::new(BinaryArray::from_iter_values(repeat_n(bytes, len)))
        }
        (Scalar::Long(value), PrimitiveType::Long) => repeat::<Int64Type>(*value, len),
        (Scalar::Integer(value), PrimitiveType::Integer) => repeat::<Int32Type>(*value, len),
        (Scalar::Short(value), PrimitiveType::Short) => repeat::<Int16Type>(*value, len),
        (Scalar::Byte(value), PrimitiveType::Byte) => repeat::<Int8Type>(*value, len),
        (Scalar::Float(value), PrimitiveType::Float) => repeat::<Float32Type>(*value, len),
        (Scalar::Double(value), PrimitiveType::Double) => repeat::<Float64Type>(*value, len),
        (Scalar::Boolean(value), PrimitiveType::Boolean) => {
            Arc::new(BooleanArray::from(if *value { BooleanBuffer::new_set(len) } else { BooleanBuffer::new_unset(len) }))
        }
        (Scalar::Date(days), PrimitiveType::Date) => repeat::<Date32Type>(*days, len),
        (Scalar::Timestamp(micros), PrimitiveType::Timestamp) => {
            Arc::new(PrimitiveArray::<TimestampMicrosecondType>::from_value(*micros, len).with_timezone(UTC))
        }
        (Scalar::TimestampNtz(micros), PrimitiveType::TimestampNtz) => repeat::<TimestampMicrosecondType>(*micros, len),
        (Scalar::Decimal { unscaled, scale }, PrimitiveType::Decimal { scale: wanted, .. }) if *scale == wanted => {
            let column = PrimitiveArray::<Decimal128Type>::from_value(*unscaled, len);
            Arc::new(column.with_data_type(primitive_to_arrow(primitive)?))
        }
        (Scalar::YearMonthInterval(months), PrimitiveType::YearMonthInterval) => repeat::<IntervalYearMonthType>(*months, len),
        (Scalar::DayTimeInterval(micros), PrimitiveType::DayTimeInterval) => repeat::<DurationMicrosecondType>(*micros, len),
        _ => return Err(Error::internal(format!("the value {scalar:?} is not of type {primitive}"))),
    })
}

fn repeat<T: ArrowPrimitiveType>(value: T::Native, len: usize) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::from_value(value, len))
}

/// Checks that the strings or bytes of one array fit into 2 GiB.
fn check_size(width: usize, len: usize) -> Result<()> {
    match width.checked_mul(len).map(i32::try_from) {
        Some(Ok(_)) => Ok(()),
        _ => Err(Error::internal(format!("a value of {width} bytes cannot be repeated {len} times in one array"))),
    }
}

/// Returns the nulls of strings: those that are null already, and those that are empty.
fn nulls_of(texts: &StringArray) -> Option<NullBuffer> {
    let is_filled = |pair: &[i32]| pair.first() < pair.last();
    if texts.offsets().windows(2).all(is_filled) {
        return texts.nulls().cloned();
    }
    let filled = BooleanBuffer::from_iter(texts.offsets().windows(2).map(is_filled));
    NullBuffer::union(texts.nulls(), Some(&NullBuffer::new(filled)))
}

fn parse_booleans(texts: &StringArray) -> Result<BooleanArray> {
    let mut column = BooleanBuilder::with_capacity(texts.len());
    for text in texts {
        column.append_option(match text.filter(|text| !text.is_empty()) {
            Some(text) => Some(parse_boolean(text).ok_or_else(|| not_of_type(text, PrimitiveType::Boolean))?),
            None => None,
        });
    }
    Ok(column.finish())
}

fn parse_column<T: ArrowPrimitiveType>(
    texts: &StringArray,
    primitive: PrimitiveType,
    parse: impl Fn(&str) -> Option<T::Native>,
) -> Result<PrimitiveArray<T>> {
    let mut values = Vec::with_capacity(texts.len());
    let mut nulls = NullBufferBuilder::new(texts.len());
    // The initial empty string is never compared, because empty strings are null here.
    let mut last = ("", T::Native::default());
    for text in texts {
        match text.filter(|text| !text.is_empty()) {
            Some(text) => {
                if text != last.0 {
                    last = (text, parse(text).ok_or_else(|| not_of_type(text, primitive))?);
                }
                values.push(last.1);
                nulls.append_non_null();
            }
            None => {
                values.push(T::Native::default());
                nulls.append_null();
            }
        }
    }
    Ok(PrimitiveArray::new(values.into(), nulls.finish()))
}
