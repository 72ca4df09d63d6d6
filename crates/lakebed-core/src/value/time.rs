//! Parses and formats dates and times.
//!
//! The calendar is the proleptic Gregorian one. Years have four digits. Below 0 and beyond 9999
//! they have a sign, as in Java.

use std::fmt::Write;

use super::trim::trim;

const MICROS_PER_SECOND: i64 = 1_000_000;
const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;

/// The parsed parts of a date or time.
struct Moment {
    /// Days since 1970-01-01.
    days: i64,
    micros_of_day: i64,
    /// The offset east of UTC.
    offset_seconds: Option<i64>,
}

/// Parses a day: `yyyy[-m[m][-d[d][ time]]]`.
pub(super) fn parse_date(text: &str) -> Option<i32> {
    i32::try_from(parse_moment(text)?.days).ok()
}

/// Parses an instant, and returns microseconds. It is in UTC unless the string names a zone. Digits
/// beyond the microsecond are dropped.
pub(super) fn parse_timestamp(text: &str) -> Option<i64> {
    let moment = parse_moment(text)?;
    wall_clock(&moment)?.checked_sub(moment.offset_seconds.unwrap_or(0) * MICROS_PER_SECOND)
}

/// Parses a wall-clock time, and returns microseconds. A zone is ignored.
pub(super) fn parse_timestamp_ntz(text: &str) -> Option<i64> {
    wall_clock(&parse_moment(text)?)
}

/// Formats a day as `yyyy-MM-dd`.
pub(super) fn format_date(days: i32) -> String {
    let mut text = String::with_capacity(10);
    push_date(&mut text, i64::from(days));
    text
}

/// Formats an instant as `yyyy-MM-ddTHH:mm:ss.SSSSSSZ`.
pub(super) fn format_timestamp(micros: i64) -> String {
    let mut text = String::with_capacity(27);
    push_date(&mut text, micros.div_euclid(MICROS_PER_DAY));
    text.push('T');
    push_time(&mut text, micros);
    // Writing to a String cannot fail.
    let _ = write!(text, ".{:06}Z", micros.rem_euclid(MICROS_PER_SECOND));
    text
}

/// Formats a wall-clock time as `yyyy-MM-dd HH:mm:ss[.S…]` without zeros at the end.
pub(super) fn format_timestamp_ntz(micros: i64) -> String {
    let mut text = String::with_capacity(26);
    push_date(&mut text, micros.div_euclid(MICROS_PER_DAY));
    text.push(' ');
    push_time(&mut text, micros);
    push_fraction(&mut text, micros.rem_euclid(MICROS_PER_SECOND));
    text
}

/// Appends `.S…` without zeros at the end, unless the fraction is zero.
pub(super) fn push_fraction(text: &mut String, micros: i64) {
    if micros != 0 {
        let _ = write!(text, ".{micros:06}");
        text.truncate(text.trim_end_matches('0').len());
    }
}

fn wall_clock(moment: &Moment) -> Option<i64> {
    // The product has 128 bits, because the day of the earliest microseconds begins before the
    // range of 64 bits.
    i64::try_from(i128::from(moment.days) * i128::from(MICROS_PER_DAY) + i128::from(moment.micros_of_day)).ok()
}

fn push_date(text: &mut String, days: i64) {
    let (year, month, day) = civil_of_days(days);
    let _ = match year {
        0..=9999 => write!(text, "{year:04}-{month:02}-{day:02}"),
        ..0 => write!(text, "-{:04}-{month:02}-{day:02}", -year),
        _ => write!(text, "+{year}-{month:02}-{day:02}"),
    };
}

fn push_time(text: &mut String, micros: i64) {
    let seconds = micros.rem_euclid(MICROS_PER_DAY) / MICROS_PER_SECOND;
    let _ = write!(text, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

fn parse_moment(text: &str) -> Option<Moment> {
    let mut cursor = Cursor(trim(text).as_bytes());
    let days = cursor.plain_date().or_else(|| parse_days(&mut cursor))?;
    let mut moment = Moment { days, micros_of_day: 0, offset_seconds: None };
    if (cursor.eat(b'T') || cursor.eat(b' ')) && !cursor.is_empty() {
        let seconds = cursor.plain_time().or_else(|| parse_seconds(&mut cursor))?;
        let fraction = if cursor.eat(b'.') { cursor.fraction() } else { 0 };
        moment.micros_of_day = seconds * MICROS_PER_SECOND + fraction;
        cursor.eat(b' ');
        moment.offset_seconds = parse_offset(&mut cursor)?;
    }
    cursor.is_empty().then_some(moment)
}

/// Parses `[±]yyyy[…][-m[m][-d[d]]]`.
fn parse_days(cursor: &mut Cursor) -> Option<i64> {
    let negative = cursor.eat(b'-');
    if !negative {
        cursor.eat(b'+');
    }
    let year = cursor.digits(4, 7)?;
    let month = if cursor.eat(b'-') { cursor.digits(1, 2)? } else { 1 };
    let day = if cursor.eat(b'-') { cursor.digits(1, 2)? } else { 1 };
    days_of_civil(if negative { -year } else { year }, month, day)
}

/// Parses `h[h][:m[m][:s[s]]]`.
fn parse_seconds(cursor: &mut Cursor) -> Option<i64> {
    let hour = cursor.digits(1, 2)?;
    let mut parts = [0, 0];
    for part in &mut parts {
        if !cursor.eat(b':') {
            break;
        }
        *part = cursor.digits(1, 2)?;
    }
    let [minute, second] = parts;
    seconds_of_day(hour, minute, second)
}

fn seconds_of_day(hour: i64, minute: i64, second: i64) -> Option<i64> {
    (hour < 24 && minute < 60 && second < 60).then_some((hour * 60 + minute) * 60 + second)
}

/// Parses an offset: `Z`, or `UTC` or `GMT`, or `±h[h][:mm[:ss]]` or `±hhmm` with or without `UTC`
/// or `GMT` before it. Other names of zones are not accepted.
fn parse_offset(cursor: &mut Cursor) -> Option<Option<i64>> {
    if cursor.is_empty() {
        return Some(None);
    }
    if cursor.eat(b'Z') {
        return Some(Some(0));
    }
    let named = cursor.eat_word(b"UTC") || cursor.eat_word(b"GMT");
    let sign = match (cursor.eat(b'+'), cursor.eat(b'-')) {
        (true, false) => 1,
        (false, true) => -1,
        _ => return named.then_some(Some(0)),
    };
    let hour = cursor.digits(1, 2)?;
    let mut minute = 0;
    let mut second = 0;
    if cursor.eat(b':') {
        minute = cursor.digits(1, 2)?;
        second = if cursor.eat(b':') { cursor.digits(1, 2)? } else { 0 };
    } else if !cursor.is_empty() {
        minute = cursor.digits(2, 2)?;
    }
    let seconds = (hour * 60 + minute) * 60 + second;
    (minute < 60 && second < 60 && seconds <= 18 * 3600).then_some(Some(sign * seconds))
}

/// The rest of a string that is parsed.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Parses `yyyy-MM-dd`, the most frequent form, and returns the day.
    fn plain_date(&mut self) -> Option<i64> {
        let (date, rest) = self.0.split_first_chunk()?;
        let [c1, c0, y1, y0, b'-', m1, m0, b'-', d1, d0] = *date else { return None };
        let days = days_of_civil(two_digits(c1, c0)? * 100 + two_digits(y1, y0)?, two_digits(m1, m0)?, two_digits(d1, d0)?)?;
        self.0 = rest;
        Some(days)
    }

    /// Parses `HH:mm:ss`, the most frequent form, and returns the second of the day.
    fn plain_time(&mut self) -> Option<i64> {
        let (time, rest) = self.0.split_first_chunk()?;
        let [h1, h0, b':', m1, m0, b':', s1, s0] = *time else { return None };
        let seconds = seconds_of_day(two_digits(h1, h0)?, two_digits(m1, m0)?, two_digits(s1, s0)?)?;
        self.0 = rest;
        Some(seconds)
    }

    fn eat(&mut self, byte: u8) -> bool {
        self.eat_word(&[byte])
    }

    fn eat_word(&mut self, word: &[u8]) -> bool {
        let rest = self.0.strip_prefix(word);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    /// Parses a number with at least `least` and at most `most` digits. Further digits are not
    /// consumed.
    fn digits(&mut self, least: usize, most: usize) -> Option<i64> {
        let mut number = 0;
        for count in 0..most {
            match self.digit() {
                Some((digit, rest)) => {
                    number = number * 10 + digit;
                    self.0 = rest;
                }
                None if count < least => return None,
                None => break,
            }
        }
        Some(number)
    }

    /// Parses the digits after a decimal point, and returns microseconds.
    fn fraction(&mut self) -> i64 {
        let mut micros = 0;
        let mut unit = MICROS_PER_SECOND / 10;
        while let Some((digit, rest)) = self.digit() {
            micros += digit * unit;
            unit /= 10;
            self.0 = rest;
        }
        micros
    }

    fn digit(&self) -> Option<(i64, &'a [u8])> {
        match self.0 {
            [digit @ b'0'..=b'9', rest @ ..] => Some((i64::from(digit - b'0'), rest)),
            _ => None,
        }
    }
}

fn two_digits(tens: u8, ones: u8) -> Option<i64> {
    let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
    (tens < 10 && ones < 10).then(|| i64::from(tens * 10 + ones))
}

/// Returns the days since 1970-01-01. Years begin in March here, so that the leap day is the last
/// day of the year.
fn days_of_civil(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_leap = year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0);
    let length = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=length).contains(&day) {
        return None;
    }
    let march_year = if month <= 2 { year - 1 } else { year };
    let (cycle, year_of_cycle) = (march_year.div_euclid(400), march_year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_cycle = year_of_cycle * 365 + year_of_cycle / 4 - year_of_cycle / 100 + day_of_year;
    Some(cycle * DAYS_PER_CYCLE + day_of_cycle - EPOCH_DAY)
}

/// Returns the year, month and day for a number of days since 1970-01-01.
fn civil_of_days(days: i64) -> (i64, i64, i64) {
    let (cycle, day_of_cycle) = ((days + EPOCH_DAY).div_euclid(DAYS_PER_CYCLE), (days + EPOCH_DAY).rem_euclid(DAYS_PER_CYCLE));
    let year_of_cycle = (day_of_cycle - day_of_cycle / 1_460 + day_of_cycle / 36_524 - day_of_cycle / 146_096) / 365;
    let day_of_year = day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = cycle * 400 + year_of_cycle + i64::from(month <= 2);
    (year, month, day)
}

/// The number of days in 400 years.
const DAYS_PER_CYCLE: i64 = 146_097;
/// The number of days from 0000-03-01 to 1970-01-01.
const EPOCH_DAY: i64 = 719_468;
