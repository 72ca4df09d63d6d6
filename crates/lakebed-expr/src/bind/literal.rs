//! Literals: numbers with Spark's types, literals such as `DATE '…'`, and the literal of the
//! current time.
//!
//! The module `syntax::interval` reads intervals, and `evaluate::text_value` reads dates and times.
//! Read [`number`] first.

use datafusion_common::ScalarValue;

use crate::calendar::{SECOND, date_text, split, timestamp_text};
use crate::evaluate::text_value::{parse_date, parse_decimal, parse_timestamp, parse_timestamp_ntz};
use crate::syntax::lex::Suffix;
use crate::types;

/// Returns the value of a number: the smallest of INT, BIGINT and DECIMAL that holds it, or the
/// type of its suffix.
pub(crate) fn number(digits: &str, suffix: Suffix) -> Option<ScalarValue> {
    let whole = !digits.contains(['.', 'e', 'E']);
    match suffix {
        Suffix::None if whole => match digits.parse::<i64>() {
            Ok(value) => Some(i32::try_from(value).map_or(ScalarValue::Int64(Some(value)), |v| ScalarValue::Int32(Some(v)))),
            Err(_) => decimal(digits),
        },
        Suffix::None if digits.contains(['e', 'E']) => Some(ScalarValue::Float64(Some(digits.parse().ok()?))),
        Suffix::None | Suffix::Decimal => decimal(digits),
        Suffix::Byte if whole => Some(ScalarValue::Int8(Some(digits.parse().ok()?))),
        Suffix::Short if whole => Some(ScalarValue::Int16(Some(digits.parse().ok()?))),
        Suffix::Long if whole => Some(ScalarValue::Int64(Some(digits.parse().ok()?))),
        Suffix::Float => Some(ScalarValue::Float32(Some(digits.parse().ok()?))),
        Suffix::Double => Some(ScalarValue::Float64(Some(digits.parse().ok()?))),
        _ => None,
    }
}

/// Returns a decimal with as many digits as the text has.
fn decimal(digits: &str) -> Option<ScalarValue> {
    let (mantissa, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
    let (whole, fraction) = mantissa.trim_start_matches(['-', '+']).split_once('.').unwrap_or((mantissa, ""));
    let exponent: i32 = exponent.parse().ok().filter(|e: &i32| e.abs() <= 38)?;
    let scale = (i32::try_from(fraction.len()).ok()? - exponent).max(0);
    let whole = whole.trim_start_matches(['-', '+', '0']).len();
    let written = i32::try_from(whole + fraction.len()).ok()? + exponent.max(0);
    let precision = written.max(scale).max(1);
    let (precision, scale) = (u8::try_from(precision).ok().filter(|p| *p <= types::MAX_DIGITS)?, i8::try_from(scale).ok()?);
    Some(ScalarValue::Decimal128(Some(parse_decimal(digits, precision, scale)?), precision, scale))
}

pub(crate) fn typed_literal(word: &str, text: &str) -> Result<ScalarValue, String> {
    let value = match word {
        "DATE" => parse_date(text).map(|days| ScalarValue::Date32(Some(days))),
        "TIMESTAMP_NTZ" => parse_timestamp_ntz(text).map(|micros| ScalarValue::TimestampMicrosecond(Some(micros), None)),
        "X" => bytes(text).map(|bytes| ScalarValue::Binary(Some(bytes))),
        _ => parse_timestamp(text).map(|micros| ScalarValue::TimestampMicrosecond(Some(micros), Some("UTC".into()))),
    };
    value.ok_or_else(|| format!("'{text}' is no {}", if word == "X" { "string of hexadecimal digits" } else { word }))
}

fn bytes(digits: &str) -> Option<Vec<u8>> {
    // A leading zero may be omitted.
    let digits = if digits.len() % 2 == 1 { format!("0{digits}") } else { digits.to_string() };
    if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    digits.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

/// Returns the value of a function such as `now` at this time, and its literal.
pub(crate) fn current_time(name: &str, now_micros: i64) -> Option<(ScalarValue, String)> {
    let timestamp = |zone: Option<&str>| ScalarValue::TimestampMicrosecond(Some(now_micros), zone.map(Into::into));
    Some(match name {
        "now" | "current_timestamp" => (timestamp(Some("UTC")), format!("TIMESTAMP '{}'", timestamp_text(now_micros))),
        "localtimestamp" => (timestamp(None), format!("TIMESTAMP_NTZ '{}'", timestamp_text(now_micros))),
        "current_date" | "curdate" => {
            let days = split(now_micros).0;
            (ScalarValue::Date32(i32::try_from(days).ok()), format!("DATE '{}'", date_text(days)))
        }
        "unix_timestamp" => {
            let seconds = now_micros.div_euclid(SECOND);
            (ScalarValue::Int64(Some(seconds)), format!("{seconds}L"))
        }
        _ => return None,
    })
}
