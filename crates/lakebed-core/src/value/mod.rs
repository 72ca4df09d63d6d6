//! Single values, and the strings by which the log stores partition values. PROTOCOL "Partition
//! Value Serialization".
//!
//! [`Scalar::parse_partition`] and [`Scalar::to_partition`] are inverses of each other. For whole
//! columns, [`parse_partition_column`] and [`print_partition_column`] are. Every string is accepted
//! that Spark's casts from strings accept, as long as no part of it is lost. Values are written as
//! Delta Spark writes them.

mod column;
mod interval;
mod number;
mod print;
mod stored;
mod time;
mod trim;

pub use column::{parse_partition_column, scalar_to_array};
pub use print::print_partition_column;
pub use stored::stored_partition_values;

use crate::schema::PrimitiveType;
use crate::schema::char_varchar::pad;
use crate::{Error, Result};
use trim::trim;

/// One value of a primitive type. The type must be kept separately, because a scalar does not
/// contain the precision of a decimal.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar {
    /// Null.
    Null,
    /// A string.
    String(String),
    /// A 64-bit integer.
    Long(i64),
    /// A 32-bit integer.
    Integer(i32),
    /// A 16-bit integer.
    Short(i16),
    /// An 8-bit integer.
    Byte(i8),
    /// A 32-bit float.
    Float(f32),
    /// A 64-bit float.
    Double(f64),
    /// True or false.
    Boolean(bool),
    /// Bytes.
    Binary(Vec<u8>),
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds since 1970-01-01 in UTC.
    Timestamp(i64),
    /// Microseconds since 1970-01-01 on the wall clock.
    TimestampNtz(i64),
    /// A decimal as a number of its smallest unit. The unit has `scale` digits after the decimal
    /// point.
    Decimal {
        /// All digits.
        unscaled: i128,
        /// The number of digits after the decimal point.
        scale: u8,
    },
    /// A number of months.
    YearMonthInterval(i32),
    /// A number of microseconds.
    DayTimeInterval(i64),
}

impl Scalar {
    /// Returns the value of a partition value's string. An absent or empty string is null. A
    /// timestamp without a zone is in UTC, and for a type without a zone the zone is ignored.
    pub fn parse_partition(text: Option<&str>, primitive: PrimitiveType) -> Result<Self> {
        let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(Self::Null) };
        let scalar = match primitive {
            PrimitiveType::String => Some(Self::String(text.to_owned())),
            PrimitiveType::Char { length } => Some(Self::String(pad(text, length).into_owned())),
            PrimitiveType::Long => number::parse_integer(text).map(Self::Long),
            PrimitiveType::Integer => number::parse_integer(text).map(Self::Integer),
            PrimitiveType::Short => number::parse_integer(text).map(Self::Short),
            PrimitiveType::Byte => number::parse_integer(text).map(Self::Byte),
            PrimitiveType::Float => number::parse_float(text).map(Self::Float),
            PrimitiveType::Double => number::parse_float(text).map(Self::Double),
            PrimitiveType::Boolean => parse_boolean(text).map(Self::Boolean),
            PrimitiveType::Binary => Some(Self::Binary(text.as_bytes().to_vec())),
            PrimitiveType::Date => time::parse_date(text).map(Self::Date),
            PrimitiveType::Timestamp => time::parse_timestamp(text).map(Self::Timestamp),
            PrimitiveType::TimestampNtz => time::parse_timestamp_ntz(text).map(Self::TimestampNtz),
            PrimitiveType::Decimal { precision, scale } => {
                number::parse_decimal(text, precision, scale).map(|unscaled| Self::Decimal { unscaled, scale })
            }
            PrimitiveType::YearMonthInterval => interval::parse_months(text).map(Self::YearMonthInterval),
            PrimitiveType::DayTimeInterval => interval::parse_micros(text).map(Self::DayTimeInterval),
            PrimitiveType::Variant | PrimitiveType::Void => None,
        };
        scalar.ok_or_else(|| not_of_type(text, primitive))
    }

    /// Returns the string that stores a partition value. It returns `None` for null, and for an
    /// empty string and empty bytes, which cannot be distinguished from null.
    ///
    /// Bytes that are not UTF-8 cannot be stored and are an error.
    pub fn to_partition(&self) -> Result<Option<String>> {
        let text = match self {
            Self::Null => return Ok(None),
            Self::String(text) => text.clone(),
            Self::Long(value) => value.to_string(),
            Self::Integer(value) => value.to_string(),
            Self::Short(value) => value.to_string(),
            Self::Byte(value) => value.to_string(),
            Self::Float(value) => number::format_float(f64::from(*value).abs(), value),
            Self::Double(value) => number::format_float(value.abs(), value),
            Self::Boolean(value) => value.to_string(),
            Self::Binary(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => text.to_owned(),
                Err(error) => {
                    let message =
                        "bytes that are not UTF-8 cannot be a partition value: Delta stores partition values as strings";
                    return Err(Error::invalid_input(message).with_source(error));
                }
            },
            Self::Date(days) => time::format_date(*days),
            Self::Timestamp(micros) => time::format_timestamp(*micros),
            Self::TimestampNtz(micros) => time::format_timestamp_ntz(*micros),
            Self::Decimal { unscaled, scale } => number::format_decimal(*unscaled, *scale),
            Self::YearMonthInterval(months) => interval::format_months(*months),
            Self::DayTimeInterval(micros) => interval::format_micros(*micros),
        };
        Ok(Some(text).filter(|text| !text.is_empty()))
    }
}

/// Parses a boolean in the spellings of Spark's cast.
fn parse_boolean(text: &str) -> Option<bool> {
    let text = trim(text);
    let is_any = |words: &[&str]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    if is_any(&["true", "t", "yes", "y", "1"]) { Some(true) } else { is_any(&["false", "f", "no", "n", "0"]).then_some(false) }
}

fn not_of_type(text: &str, primitive: PrimitiveType) -> Error {
    Error::corrupt(format!("partition value {text:?}"), format!("is not of type {primitive}"))
}

#[cfg(test)]
mod tests;
