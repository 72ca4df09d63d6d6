//! Days and instants as writers of statistics spell them.
//!
//! `yyyy-MM-dd`, behind it `T` or a space and `HH:mm[:ss[.fraction]]`, behind that `Z`, an offset or nothing. Years may have a sign and
//! more than four digits.

use super::bound::Bound;

const SECONDS_A_DAY: i64 = 86_400;
const MICROS_A_SECOND: i64 = 1_000_000;

/// Delta Spark writes offsets without their seconds, which local mean times have.
const CUT_OFF_OFFSET_MICROS: i64 = 59 * MICROS_A_SECOND;

/// Days since 1970-01-01. A time behind the day is left out of account.
pub(super) fn date(text: &str) -> Option<i32> {
    let (days, rest) = day(text)?;
    (rest.is_empty() || rest.starts_with(['T', ' '])).then_some(days).and_then(|days| i32::try_from(days).ok())
}

/// Microseconds since 1970-01-01T00:00:00, of which a timestamp with milliseconds is a bound. One with a time zone is in UTC when it does
/// not say otherwise; one without is the clock's face, whatever stands behind it.
pub(super) fn timestamp(text: &str, zoned: bool, bound: Bound) -> Option<i64> {
    let (days, rest) = day(text)?;
    let (micros, rest) = match rest.strip_prefix(['T', ' ']) {
        Some(rest) => clock(rest)?,
        None => (0, rest),
    };
    let (offset, coarse) = offset(rest)?;
    let local = days.checked_mul(SECONDS_A_DAY * MICROS_A_SECOND)?.checked_add(micros)?;
    if !zoned {
        return Some(bound.timestamp(local));
    }
    let instant = local.checked_sub(offset * MICROS_A_SECOND)?;
    Some(bound.timestamp(if coarse { bound.widen(instant, CUT_OFF_OFFSET_MICROS) } else { instant }))
}

fn day(text: &str) -> Option<(i64, &str)> {
    let (sign, text) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    let (year, rest) = digits(text, 4, 7)?;
    let (month, rest) = digits(rest.strip_prefix('-')?, 2, 2)?;
    let (day, rest) = digits(rest.strip_prefix('-')?, 2, 2)?;
    let year = sign * year;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    (1..=length).contains(&day).then(|| (days_since_epoch(year, month, day), rest))
}

/// In the proleptic Gregorian calendar. Years are counted from March, so that the leap day is the last of its year.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Microseconds since midnight; digits behind the sixth of a second are cut off.
fn clock(text: &str) -> Option<(i64, &str)> {
    let (hour, rest) = digits(text, 2, 2)?;
    let (minute, mut rest) = digits(rest.strip_prefix(':')?, 2, 2)?;
    let (mut second, mut micros) = (0, 0);
    if let Some(text) = rest.strip_prefix(':') {
        (second, rest) = digits(text, 2, 2)?;
        if let Some(text) = rest.strip_prefix('.') {
            let length = text.bytes().take_while(u8::is_ascii_digit).count();
            let (fraction, after) = text.split_at_checked(length).filter(|_| length > 0)?;
            let kept = &fraction[..length.min(6)];
            micros = kept.parse::<i64>().ok()? * 10_i64.pow(6 - kept.len() as u32);
            rest = after;
        }
    }
    let valid = hour < 24 && minute < 60 && second < 60;
    valid.then_some(((hour * 3600 + minute * 60 + second) * MICROS_A_SECOND + micros, rest))
}

/// Seconds east of UTC, and whether seconds may have been cut off.
fn offset(text: &str) -> Option<(i64, bool)> {
    let text = text.strip_prefix(' ').unwrap_or(text);
    if matches!(text, "" | "Z" | "z" | "UTC") {
        return Some((0, false));
    }
    let (sign, text) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => return None,
    };
    let part = |text| match text {
        "" => Some((0, "")),
        text => digits(text.strip_prefix(':').unwrap_or(text), 2, 2).filter(|(part, _)| *part < 60),
    };
    let (hours, rest) = digits(text, 2, 2).filter(|(hours, _)| *hours <= 18)?;
    let (minutes, rest) = part(rest)?;
    let (seconds, end) = part(rest)?;
    let coarse = rest.is_empty() && minutes % 15 != 0;
    end.is_empty().then_some((sign * (hours * 3600 + minutes * 60 + seconds), coarse))
}

/// The number that the first digits of a text make, `least` to `most` of them, and the rest.
fn digits(text: &str, least: usize, most: usize) -> Option<(i64, &str)> {
    let length = text.bytes().take(most).take_while(u8::is_ascii_digit).count();
    if length < least {
        return None;
    }
    let (number, rest) = text.split_at_checked(length)?;
    Some((number.bytes().fold(0, |number, digit| number * 10 + i64::from(digit - b'0')), rest))
}
