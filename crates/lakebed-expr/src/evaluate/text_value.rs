//! Conversion between text and values, as Spark's CAST does it.
//!
//! Each `parse_` function returns `None` for text that Spark refuses. `scalar_cast` applies these
//! functions to columns, and `bind::literal` applies them to literals.

use std::str::FromStr;

use arrow_array::timezone::Tz;
use chrono::{Offset, TimeZone};

use crate::calendar::{Civil, DAY, SECOND};

/// Trims the characters that Spark trims before it reads a value: ASCII control characters and
/// blanks.
fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| c <= ' ' || c == '\u{7f}')
}

pub(crate) fn parse_boolean(text: &str) -> Option<bool> {
    match trim(text).to_ascii_lowercase().as_str() {
        "t" | "true" | "y" | "yes" | "1" => Some(true),
        "f" | "false" | "n" | "no" | "0" => Some(false),
        _ => None,
    }
}

pub(crate) fn parse_long(text: &str) -> Option<i64> {
    let text = trim(text);
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

pub(crate) fn parse_double(text: &str) -> Option<f64> {
    let text = trim(text);
    match text.to_ascii_lowercase().as_str() {
        "nan" => return Some(f64::NAN),
        "inf" | "+inf" | "infinity" | "+infinity" => return Some(f64::INFINITY),
        "-inf" | "-infinity" => return Some(f64::NEG_INFINITY),
        _ => {}
    }
    let number = text.strip_suffix(['d', 'D', 'f', 'F']).unwrap_or(text);
    if !number.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'+' | b'-' | b'.' | b'e' | b'E')) {
        return None;
    }
    number.parse().ok()
}

/// Parses a decimal with this precision and scale, rounded half up. Returns its unscaled value.
pub(crate) fn parse_decimal(text: &str, precision: u8, scale: i8) -> Option<i128> {
    let text = trim(text);
    let (negative, number) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = match number.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?.clamp(-100_000, 100_000)),
        None => (number, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let behind = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
    let value = shift(&digits, i32::from(scale).checked_sub(behind)?)?;
    let limit = 10i128.checked_pow(u32::from(precision))?;
    (value < limit).then_some(if negative { -value } else { value })
}

/// Returns the number with these digits times a power of ten, rounded half up.
fn shift(digits: &[u8], power: i32) -> Option<i128> {
    let (kept, dropped) = match usize::try_from(-power) {
        Ok(drop) => digits.split_at(digits.len().saturating_sub(drop)),
        Err(_) => (digits, &[][..]),
    };
    let too_many = usize::try_from(-power).is_ok_and(|drop| drop > digits.len());
    let mut value = kept.iter().try_fold(0i128, |sum, digit| sum.checked_mul(10)?.checked_add(i128::from(digit - b'0')))?;
    if power > 0 && value != 0 {
        value = value.checked_mul(10i128.checked_pow(power.unsigned_abs())?)?;
    }
    let round_up = !too_many && dropped.first().is_some_and(|digit| *digit >= b'5');
    value.checked_add(i128::from(round_up))
}

/// Formats a decimal without an exponent.
pub fn decimal_text(value: i128, scale: i8) -> String {
    let digits = value.unsigned_abs().to_string();
    let scale = usize::try_from(scale).unwrap_or(0);
    let sign = if value < 0 { "-" } else { "" };
    if scale == 0 {
        return format!("{sign}{digits}");
    }
    let padded = format!("{digits:0>width$}", width = scale + 1);
    let (whole, fraction) = padded.split_at(padded.len() - scale);
    format!("{sign}{whole}.{fraction}")
}

/// Formats a float as Java does. `scientific` has its shortest digits in scientific notation.
pub(crate) fn float_text(value: f64, scientific: &str) -> String {
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity".into() } else { "-Infinity".into() };
    }
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    if value == 0.0 {
        return format!("{sign}0.0");
    }
    let digits: String = mantissa.chars().filter(|c| *c != '.').collect();
    if !(-3..7).contains(&exponent) {
        let fraction = digits.get(1..).filter(|rest| !rest.is_empty()).unwrap_or("0");
        return format!("{sign}{}.{fraction}E{exponent}", &digits[..1]);
    }
    if exponent < 0 {
        return format!("{sign}0.{}{digits}", "0".repeat(exponent.unsigned_abs() as usize - 1));
    }
    let whole = exponent as usize + 1;
    let padded = format!("{digits:0<whole$}");
    let (front, back) = padded.split_at(whole);
    format!("{sign}{front}.{}", if back.is_empty() { "0" } else { back })
}

/// Parses `2024`, `2024-2` or `2024-02-29` as days since 1970-01-01. A full date may be followed by
/// any text after a blank or a `T`.
pub(crate) fn parse_date(text: &str) -> Option<i32> {
    let text = trim(text);
    let (date, _) = split_date(text)?;
    i32::try_from(date.days()).ok()
}

/// Parses the date at the start of a text and returns the text after its blank or `T`. Only a date
/// with a day may be followed by text.
fn split_date(text: &str) -> Option<(Civil, Option<&str>)> {
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (date, rest) = match unsigned.find([' ', 'T']) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    let mut parts = date.split('-');
    let year = digits(parts.next()?, 4, 7)?;
    let month = parts.next().map_or(Some(1), |part| digits(part, 1, 2))?;
    let day = parts.next();
    if parts.next().is_some() || (rest.is_some() && day.is_none()) {
        return None;
    }
    let day = day.map_or(Some(1), |part| digits(part, 1, 2))?;
    let year = if negative { -year } else { year };
    Some((Civil::checked(year, month, day)?, rest))
}

fn digits(text: &str, least: usize, most: usize) -> Option<i64> {
    let valid = (least..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    valid.then(|| text.parse().ok()).flatten()
}

/// Parses a timestamp as microseconds since 1970. A text without a time zone is in UTC.
pub(crate) fn parse_timestamp(text: &str) -> Option<i64> {
    let (micros, zone) = split_timestamp(trim(text))?;
    match zone {
        None | Some("Z" | "UTC" | "GMT") => i64::try_from(micros).ok(),
        Some(zone) => i64::try_from(micros - i128::from(offset_seconds(zone, micros)?) * i128::from(SECOND)).ok(),
    }
}

/// Parses a wall-clock time as microseconds. A time zone is ignored.
pub(crate) fn parse_timestamp_ntz(text: &str) -> Option<i64> {
    let (micros, zone) = split_timestamp(trim(text))?;
    if let Some(zone) = zone {
        offset_seconds(zone, micros)?;
    }
    i64::try_from(micros).ok()
}

fn split_timestamp(text: &str) -> Option<(i128, Option<&str>)> {
    let (date, rest) = split_date(text)?;
    let midnight = i128::from(date.days()) * i128::from(DAY);
    let Some(rest) = rest.filter(|rest| !rest.is_empty()) else {
        return Some((midnight, None));
    };
    let end = rest.find(|c: char| !(c.is_ascii_digit() || c == ':' || c == '.')).unwrap_or(rest.len());
    let (clock, zone) = rest.split_at(end);
    let zone = Some(zone.trim_start()).filter(|zone| !zone.is_empty());
    let (clock, fraction) = clock.split_once('.').map_or((clock, None), |(clock, fraction)| (clock, Some(fraction)));
    let parts: Vec<i64> = clock.split(':').map(|part| digits(part, 1, 2)).collect::<Option<_>>()?;
    if parts.len() > 3 || (fraction.is_some() && parts.len() != 3) {
        return None;
    }
    let part = |index: usize| parts.get(index).copied().unwrap_or(0);
    let (hour, minute, second) = (part(0), part(1), part(2));
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let micros = fraction.map_or(Some(0), parse_fraction)?;
    let time = (hour * 3_600 + minute * 60 + second) * SECOND + micros;
    Some((midnight + i128::from(time), zone))
}

/// Parses the fraction of a second as microseconds. Digits after the sixth are cut off.
fn parse_fraction(fraction: &str) -> Option<i64> {
    if !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    fraction.chars().chain("000000".chars()).take(6).collect::<String>().parse().ok()
}

/// Returns the offset from UTC of a time zone at a wall-clock time, in seconds.
fn offset_seconds(zone: &str, local_micros: i128) -> Option<i64> {
    let zone = zone.strip_prefix("UTC").or(zone.strip_prefix("GMT")).or(zone.strip_prefix("UT")).unwrap_or(zone);
    if zone.is_empty() {
        return Some(0);
    }
    if let Some(rest) = zone.strip_prefix(['+', '-']) {
        return fixed_offset(rest).map(|seconds| if zone.starts_with('-') { -seconds } else { seconds });
    }
    let zone = Tz::from_str(zone).ok()?;
    let seconds = i64::try_from(local_micros.div_euclid(i128::from(SECOND))).ok()?;
    let local = chrono::DateTime::from_timestamp(seconds, 0)?.naive_utc();
    // A time in a repeated hour has the first of its two offsets. A time in a skipped hour has the
    // offset before the change.
    let offset = zone
        .offset_from_local_datetime(&local)
        .earliest()
        .or_else(|| zone.offset_from_local_datetime(&(local - chrono::TimeDelta::hours(3))).earliest())?;
    Some(i64::from(offset.fix().local_minus_utc()))
}

/// Parses `1`, `01`, `0130`, `01:30` or `01:30:15`.
fn fixed_offset(text: &str) -> Option<i64> {
    let parts: Vec<&str> = match text.len() {
        4 if !text.contains(':') => vec![text.get(..2)?, text.get(2..)?],
        6 if !text.contains(':') => vec![text.get(..2)?, text.get(2..4)?, text.get(4..)?],
        _ => text.split(':').collect(),
    };
    if parts.len() > 3 {
        return None;
    }
    let numbers: Vec<i64> = parts.into_iter().map(|part| digits(part, 1, 2)).collect::<Option<_>>()?;
    let part = |index: usize| numbers.get(index).copied().unwrap_or(0);
    let seconds = part(0) * 3_600 + part(1) * 60 + part(2);
    (part(1) < 60 && part(2) < 60 && seconds <= 18 * 3_600).then_some(seconds)
}
