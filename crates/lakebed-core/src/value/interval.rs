//! Intervals as strings, as Spark prints them: `INTERVAL '1-2' YEAR TO MONTH`, `INTERVAL '3
//! 04:05:06.7' DAY TO SECOND`.

use super::time::push_fraction;
use super::trim::trim;

/// The units from large to small, with their size in microseconds.
const UNITS: [(&str, i128); 4] =
    [("DAY", 86_400_000_000), ("HOUR", 3_600_000_000), ("MINUTE", 60_000_000), ("SECOND", 1_000_000)];

/// Returns the months of an interval with years, months or both. The quoted part may be given
/// alone.
pub(super) fn parse_months(text: &str) -> Option<i32> {
    let (negative, amounts, units) = split(text)?;
    let months = match (units.unwrap_or("YEAR TO MONTH").to_ascii_uppercase().as_str(), amounts.split_once('-')) {
        ("YEAR TO MONTH", Some((years, months))) => parse(years)? * 12 + parse(months).filter(|months| *months < 12)?,
        ("YEAR", None) => parse(amounts)? * 12,
        ("MONTH", None) => parse(amounts)?,
        _ => return None,
    };
    i32::try_from(if negative { -months } else { months }).ok()
}

/// Returns the microseconds of an interval with any consecutive units of days, hours, minutes and
/// seconds. The quoted part may be given alone if it has all units.
pub(super) fn parse_micros(text: &str) -> Option<i64> {
    let (negative, amounts, units) = split(text)?;
    let units = units.unwrap_or("DAY TO SECOND").to_ascii_uppercase();
    let (first, last) = units.split_once(" TO ").unwrap_or((&units, &units));
    let position = |name: &str| UNITS.iter().position(|(unit, _)| *unit == name);
    let units = UNITS.get(position(first)?..=position(last)?)?;
    let mut amounts = amounts.split([' ', ':']);
    let mut micros = 0_i128;
    for (unit, size) in units {
        let amount = amounts.next()?;
        micros += match amount.split_once('.') {
            Some((seconds, fraction)) if *unit == "SECOND" && fraction.len() <= 6 => {
                parse(seconds)? * size + parse(&format!("{fraction:0<6}"))?
            }
            _ => parse(amount)? * size,
        };
    }
    let micros = if negative { -micros } else { micros };
    amounts.next().is_none().then(|| i64::try_from(micros).ok())?
}

/// Formats years and months.
pub(super) fn format_months(months: i32) -> String {
    let sign = if months < 0 { "-" } else { "" };
    let months = months.unsigned_abs();
    format!("INTERVAL '{sign}{}-{}' YEAR TO MONTH", months / 12, months % 12)
}

/// Formats days, hours, minutes and seconds.
pub(super) fn format_micros(micros: i64) -> String {
    let sign = if micros < 0 { "-" } else { "" };
    let (seconds, micros) = (micros.unsigned_abs() / 1_000_000, micros.unsigned_abs() % 1_000_000);
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    let mut text = format!("INTERVAL '{sign}{days} {hours:02}:{minutes:02}:{:02}", seconds % 60);
    push_fraction(&mut text, micros.cast_signed());
    text.push_str("' DAY TO SECOND");
    text
}

/// Splits an interval into its sign, its amounts and its units. There are no units if the amounts
/// are given alone.
fn split(text: &str) -> Option<(bool, &str, Option<&str>)> {
    let text = trim(text);
    let (outer_sign, amounts, units) = match text.split_once('\'') {
        None => (false, text, None),
        Some((head, rest)) => {
            let (amounts, units) = rest.split_once('\'')?;
            let head = head.trim_end();
            let (outer_sign, word) = match head.strip_suffix('-') {
                Some(word) => (true, word.trim_end()),
                None => (false, head),
            };
            if !word.eq_ignore_ascii_case("INTERVAL") {
                return None;
            }
            (outer_sign, amounts, Some(trim(units)))
        }
    };
    match amounts.strip_prefix('-') {
        Some(amounts) => Some((!outer_sign, amounts, units)),
        None => Some((outer_sign, amounts.strip_prefix('+').unwrap_or(amounts), units)),
    }
}

/// Parses a number that consists of digits only. It must be so small that sums of such numbers
/// cannot overflow.
fn parse(digits: &str) -> Option<i128> {
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<u64>().ok().map(i128::from))?
}
