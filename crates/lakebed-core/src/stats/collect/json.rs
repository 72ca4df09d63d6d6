//! A bound as JSON.

use std::ops::RangeInclusive;

use chrono::{DateTime, SecondsFormat};

use crate::json_string::write_string;
use crate::value::Scalar;

/// The days, and the microseconds, whose years have four digits and no sign.
const DAYS: RangeInclusive<i32> = -719_162..=2_932_896;
const MICROS: RangeInclusive<i64> = -62_135_596_800_000_000..=253_402_300_799_999_999;

/// Writes a bound as Delta Spark spells it, timestamps cut off at milliseconds; none if it is
/// better left out, which no reader minds.
///
/// Left out are NaN, which JSON does not know and some readers take for a number like others, and
/// years before 1 or after 9999, which many calendars do not have. Decimals are never in scientific
/// notation, unlike Spark's: not all readers take an exponent for exact.
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

/// Spelled as partition values are.
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
