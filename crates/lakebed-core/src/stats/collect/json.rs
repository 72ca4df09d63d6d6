//! Writes a bound as JSON.

use std::ops::RangeInclusive;

use chrono::{DateTime, SecondsFormat};

use crate::json_string::write_string;
use crate::value::Scalar;

/// The days, and the microseconds, of years with four digits and no sign.
const DAYS: RangeInclusive<i32> = -719_162..=2_932_896;
const MICROS: RangeInclusive<i64> = -62_135_596_800_000_000..=253_402_300_799_999_999;

/// Writes a bound as Delta Spark does, with timestamps truncated to milliseconds. Returns `None` if
/// the bound should be left out, which every reader accepts.
///
/// NaN is left out because JSON does not have it, and some readers treat it like a number. Years
/// before 1 or after 9999 are left out because many calendars do not have them. Unlike in Spark,
/// decimals are never written in scientific notation, because not all readers treat a number with
/// an exponent as exact.
pub(super) fn write_bound(bound: &Scalar, out: &mut String) -> Option<()> {
    match bound {
        Scalar::String(text) => {
            write_string(out, text);
            return Some(());
        }
        Scalar::Float(value) if value.is_nan() => return None,
        Scalar::Double(value) if value.is_nan() => return None,
        Scalar::Date(days) if !DAYS.contains(days) => return None,
        Scalar::Timestamp(micros) => quote(&timestamp(*micros)?, out),
        Scalar::TimestampNtz(micros) => quote(timestamp(*micros)?.trim_end_matches('Z'), out),
        Scalar::Float(value) if value.is_infinite() => quote(&plain(bound)?, out),
        Scalar::Double(value) if value.is_infinite() => quote(&plain(bound)?, out),
        Scalar::Date(_) => quote(&plain(bound)?, out),
        _ => out.push_str(&plain(bound)?),
    }
    Some(())
}

/// Returns the bound as partition values are written.
fn plain(bound: &Scalar) -> Option<String> {
    bound.to_partition().ok().flatten()
}

fn timestamp(micros: i64) -> Option<String> {
    let instant = DateTime::from_timestamp_micros(micros).filter(|_| MICROS.contains(&micros))?;
    Some(instant.to_rfc3339_opts(SecondsFormat::Millis, true))
}

fn quote(text: &str, out: &mut String) {
    out.push('"');
    out.push_str(text);
    out.push('"');
}
