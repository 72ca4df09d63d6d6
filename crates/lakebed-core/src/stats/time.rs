//! Bounds of days and timestamps.

use super::bound::Bound;
use crate::schema::PrimitiveType;
use crate::value::Scalar;

/// The greatest error of an offset. Delta Spark writes offsets without seconds, but local mean
/// times have seconds.
const CUT_OFF_OFFSET_MICROS: i64 = 59_000_000;

/// Returns a day as days since 1970-01-01.
pub(super) fn date(text: &str) -> Option<i32> {
    match Scalar::parse_partition(Some(text), PrimitiveType::Date) {
        Ok(Scalar::Date(days)) => Some(days),
        _ => None,
    }
}

/// Returns the bound in microseconds from a string with milliseconds. If `zoned`, the string is a
/// timestamp with a time zone, and otherwise a wall-clock time.
pub(super) fn timestamp(text: &str, zoned: bool, bound: Bound) -> Option<i64> {
    let primitive = if zoned { PrimitiveType::Timestamp } else { PrimitiveType::TimestampNtz };
    let micros = match Scalar::parse_partition(Some(text), primitive) {
        Ok(Scalar::Timestamp(micros) | Scalar::TimestampNtz(micros)) => micros,
        _ => return None,
    };
    let offset_is_cut_off = zoned && has_offset_of_minutes(text);
    Some(bound.timestamp(if offset_is_cut_off { bound.widen(micros, CUT_OFF_OFFSET_MICROS) } else { micros }))
}

/// Returns whether a string ends in an offset that is not a multiple of a quarter of an hour.
/// Offsets of today's time zones are such multiples.
fn has_offset_of_minutes(text: &str) -> bool {
    match text.as_bytes() {
        [.., b'+' | b'-', _, _, b':', tens @ b'0'..=b'9', ones @ b'0'..=b'9'] => {
            let minutes = (tens - b'0') * 10 + (ones - b'0');
            !minutes.is_multiple_of(15)
        }
        _ => false,
    }
}
