//! The bounds of one column. They are collected in the column's own type, and returned as scalars.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal64Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType,
};
use arrow_array::{Array, PrimitiveArray};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType as ArrowType;

use super::span::{Key, Span, double_key, double_of_key, float_key, float_of_key};
use super::string_bounds::StringBounds;
use crate::schema::PrimitiveType;
use crate::value::Scalar;
use crate::{Error, Result};

/// The least and the greatest value so far.
pub(super) enum Bounds {
    Byte(Span<i8>),
    Short(Span<i16>),
    Integer(Span<i32>),
    Long(Span<i64>),
    Float(Span<i32>),
    Double(Span<i64>),
    Date(Span<i32>),
    Timestamp(Span<i64>),
    TimestampNtz(Span<i64>),
    Decimal(Span<i128>, u8),
    String(StringBounds),
}

impl Bounds {
    /// Creates bounds without a value, or returns `None` for a type without bounds.
    pub(super) fn new(primitive: PrimitiveType, string_prefix_length: u32) -> Option<Self> {
        Some(match primitive {
            PrimitiveType::Byte => Self::Byte(Span::EMPTY),
            PrimitiveType::Short => Self::Short(Span::EMPTY),
            PrimitiveType::Integer => Self::Integer(Span::EMPTY),
            PrimitiveType::Long => Self::Long(Span::EMPTY),
            PrimitiveType::Float => Self::Float(Span::EMPTY),
            PrimitiveType::Double => Self::Double(Span::EMPTY),
            PrimitiveType::Date => Self::Date(Span::EMPTY),
            PrimitiveType::Timestamp => Self::Timestamp(Span::EMPTY),
            PrimitiveType::TimestampNtz => Self::TimestampNtz(Span::EMPTY),
            PrimitiveType::Decimal { scale, .. } => Self::Decimal(Span::EMPTY, scale),
            PrimitiveType::String | PrimitiveType::Char { .. } => Self::String(StringBounds::new(string_prefix_length)),
            _ => return None,
        })
    }

    /// Adds the values that are not null.
    pub(super) fn update(&mut self, array: &dyn Array, nulls: Option<&NullBuffer>) -> Result<()> {
        match self {
            Self::Byte(span) => take::<Int8Type, _>(span, array, nulls, |value| value),
            Self::Short(span) => take::<Int16Type, _>(span, array, nulls, |value| value),
            Self::Integer(span) => take::<Int32Type, _>(span, array, nulls, |value| value),
            Self::Long(span) => take::<Int64Type, _>(span, array, nulls, |value| value),
            Self::Float(span) => take::<Float32Type, _>(span, array, nulls, float_key),
            Self::Double(span) => take::<Float64Type, _>(span, array, nulls, double_key),
            Self::Date(span) => take::<Date32Type, _>(span, array, nulls, |value| value),
            Self::Timestamp(span) | Self::TimestampNtz(span) => {
                take::<TimestampMicrosecondType, _>(span, array, nulls, |value| value)
            }
            Self::Decimal(span, scale) => match array.data_type() {
                ArrowType::Decimal128(_, found) if *found == scale.cast_signed() => {
                    take::<Decimal128Type, _>(span, array, nulls, |value| value)
                }
                ArrowType::Decimal64(_, found) if *found == scale.cast_signed() => {
                    let mut short = Span::EMPTY;
                    take::<Decimal64Type, _>(&mut short, array, nulls, |value| value)?;
                    if !short.is_empty() {
                        *span = span.join(Span { low: short.low.into(), high: short.high.into() });
                    }
                    Ok(())
                }
                _ => Err(other_type(array)),
            },
            Self::String(texts) => {
                match array.data_type() {
                    ArrowType::Utf8 => texts.update(array.as_string::<i32>(), nulls),
                    ArrowType::Utf8View => texts.update(array.as_string_view(), nulls),
                    _ => return Err(other_type(array)),
                }
                Ok(())
            }
        }
    }

    /// Returns the least value. A long string is truncated.
    pub(super) fn low(&self) -> Option<Scalar> {
        let [low, _] = self.ends();
        low
    }

    /// Returns the greatest value. For a long string, the result is a shorter string above it.
    pub(super) fn high(&self) -> Option<Scalar> {
        match self.ends() {
            // Spark treats both zeros as equal. For readers that do not, 0.0 is the greater one.
            [_, Some(Scalar::Float(0.0))] => Some(Scalar::Float(0.0)),
            [_, Some(Scalar::Double(0.0))] => Some(Scalar::Double(0.0)),
            [_, high] => high,
        }
    }

    fn ends(&self) -> [Option<Scalar>; 2] {
        match self {
            Self::Byte(span) => span.ends(Scalar::Byte),
            Self::Short(span) => span.ends(Scalar::Short),
            Self::Integer(span) => span.ends(Scalar::Integer),
            Self::Long(span) => span.ends(Scalar::Long),
            Self::Float(span) => span.ends(|key| Scalar::Float(float_of_key(key))),
            Self::Double(span) => span.ends(|key| Scalar::Double(double_of_key(key))),
            Self::Date(span) => span.ends(Scalar::Date),
            Self::Timestamp(span) => span.ends(Scalar::Timestamp),
            Self::TimestampNtz(span) => span.ends(Scalar::TimestampNtz),
            Self::Decimal(span, scale) => span.ends(|unscaled| Scalar::Decimal { unscaled, scale: *scale }),
            Self::String(texts) => [texts.low().map(Scalar::String), texts.high().map(Scalar::String)],
        }
    }
}

fn take<T: ArrowPrimitiveType, K: Key>(
    span: &mut Span<K>,
    array: &dyn Array,
    nulls: Option<&NullBuffer>,
    key: impl Fn(T::Native) -> K + Copy,
) -> Result<()> {
    let array: &PrimitiveArray<T> = array.as_primitive_opt().ok_or_else(|| other_type(array))?;
    *span = span.join(Span::of(array.values(), nulls, key));
    Ok(())
}

fn other_type(array: &dyn Array) -> Error {
    Error::internal(format!("statistics of a column are not collected as {}", array.data_type()))
}
