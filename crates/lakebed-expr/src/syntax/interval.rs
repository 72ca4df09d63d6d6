//! Interval literals: `INTERVAL 3 DAYS`, `INTERVAL '1-2' YEAR TO MONTH`, `INTERVAL '1 day 2
//! hours'`.
//!
//! The module `function::operator` adds intervals to dates and timestamps. Read [`parse`] first.

use lakebed_core::Result;

use super::lex::TokenKind;
use super::parse::Parser;
use super::tree::Interval;

const MICROS_PER_SECOND: i64 = 1_000_000;
const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
pub(crate) enum IntervalUnit {
    Year,
    Quarter,
    Month,
    Week,
    Day,
    Hour,
    Minute,
    Second,
    Millisecond,
    Microsecond,
}

impl IntervalUnit {
    /// Returns the unit with this name, singular or plural.
    pub(crate) fn parse(name: &str) -> Option<IntervalUnit> {
        Some(match name.to_ascii_lowercase().as_str() {
            "year" | "years" => IntervalUnit::Year,
            "quarter" | "quarters" => IntervalUnit::Quarter,
            "month" | "months" => IntervalUnit::Month,
            "week" | "weeks" => IntervalUnit::Week,
            "day" | "days" => IntervalUnit::Day,
            "hour" | "hours" => IntervalUnit::Hour,
            "minute" | "minutes" => IntervalUnit::Minute,
            "second" | "seconds" => IntervalUnit::Second,
            "millisecond" | "milliseconds" => IntervalUnit::Millisecond,
            "microsecond" | "microseconds" => IntervalUnit::Microsecond,
            _ => return None,
        })
    }

    /// The number of months of this unit, if it has a fixed number of months.
    pub(crate) fn months(self) -> Option<i32> {
        match self {
            IntervalUnit::Year => Some(12),
            IntervalUnit::Quarter => Some(3),
            IntervalUnit::Month => Some(1),
            _ => None,
        }
    }

    /// The number of microseconds of this unit, if it has a fixed length.
    pub(crate) fn micros(self) -> Option<i64> {
        match self {
            IntervalUnit::Year | IntervalUnit::Quarter | IntervalUnit::Month => None,
            IntervalUnit::Week => Some(7 * MICROS_PER_DAY),
            IntervalUnit::Day => Some(MICROS_PER_DAY),
            IntervalUnit::Hour => Some(3_600 * MICROS_PER_SECOND),
            IntervalUnit::Minute => Some(60 * MICROS_PER_SECOND),
            IntervalUnit::Second => Some(MICROS_PER_SECOND),
            IntervalUnit::Millisecond => Some(1_000),
            IntervalUnit::Microsecond => Some(1),
        }
    }
}

/// Whether a token names a unit of time.
pub(super) fn is_unit(word: &TokenKind) -> bool {
    matches!(word, TokenKind::Name(name) if IntervalUnit::parse(name).is_some())
}

/// The sum of the amounts that have been read so far. An inner `None` means that a sum is out of
/// range.
#[derive(Default)]
struct Sum {
    months: Option<i32>,
    days: Option<i64>,
    micros: Option<i64>,
}

/// Reads the tokens after INTERVAL.
pub(super) fn parse(parser: &mut Parser<'_>) -> Result<Interval> {
    let start = parser.span();
    let mut sum = Sum::default();
    let mut first = true;
    loop {
        let signed = usize::from(matches!(parser.peek(), TokenKind::Symbol("-" | "+")));
        let unit_follows = is_unit(parser.peek_nth(signed + 1));
        match parser.peek_nth(signed) {
            TokenKind::Number { .. } | TokenKind::Text(_) if first || unit_follows => {}
            _ => break,
        }
        let negative = parser.symbol("-");
        if !negative {
            parser.symbol("+");
        }
        let (TokenKind::Number { digits: amount, .. } | TokenKind::Text(amount)) = parser.peek().clone() else {
            return Err(parser.unexpected("a number or a string"));
        };
        parser.advance();
        let added = match unit(parser) {
            None => sum.add_text(&amount, negative),
            Some(from) if parser.keyword("TO") => match unit(parser) {
                Some(to) => sum.add_range(&amount, from, to, negative),
                None => return Err(parser.unexpected("a unit of time")),
            },
            Some(unit) => sum.add(&amount, unit, negative),
        };
        if added.is_none() {
            return Err(parser.error(start, "not an interval that fits Spark's range"));
        }
        first = false;
    }
    sum.interval().ok_or_else(|| parser.error(start, "not an interval that fits Spark's range"))
}

fn unit(parser: &mut Parser<'_>) -> Option<IntervalUnit> {
    let TokenKind::Name(name) = parser.peek() else { return None };
    let unit = IntervalUnit::parse(name)?;
    parser.advance();
    Some(unit)
}

impl Sum {
    /// Adds an amount of one unit. Returns `None` if it is not a number or too large.
    fn add(&mut self, amount: &str, unit: IntervalUnit, negative: bool) -> Option<()> {
        let amount = amount.trim();
        if unit == IntervalUnit::Second {
            let micros = seconds_to_micros(amount)?;
            return self.add_micros(if negative { micros.checked_neg()? } else { micros });
        }
        let amount: i64 = amount.parse().ok()?;
        let amount = if negative { amount.checked_neg()? } else { amount };
        if let Some(months) = unit.months() {
            let more = i32::try_from(amount).ok()?.checked_mul(months)?;
            self.months = Some(self.months.unwrap_or(0).checked_add(more)?);
            return Some(());
        }
        let whole = amount.checked_mul(unit.micros()?)?;
        match unit {
            IntervalUnit::Week | IntervalUnit::Day => {
                self.days = Some(self.days.unwrap_or(0).checked_add(whole / MICROS_PER_DAY)?);
                Some(())
            }
            _ => self.add_micros(whole),
        }
    }

    fn add_micros(&mut self, micros: i64) -> Option<()> {
        self.micros = Some(self.micros.unwrap_or(0).checked_add(micros)?);
        Some(())
    }

    /// Reads `1 day -2 hours`, optionally with the word `interval` before it.
    fn add_text(&mut self, text: &str, negative: bool) -> Option<()> {
        let mut words = text.split_whitespace().peekable();
        words.next_if(|word| word.eq_ignore_ascii_case("interval"));
        words.peek()?;
        while let Some(amount) = words.next() {
            self.add(amount, IntervalUnit::parse(words.next()?)?, negative)?;
        }
        Some(())
    }

    /// Reads `'1-2' YEAR TO MONTH`, `'1 02:03:04.5' DAY TO SECOND` and the forms between these.
    fn add_range(&mut self, text: &str, from: IntervalUnit, to: IntervalUnit, negative: bool) -> Option<()> {
        let text = text.trim();
        let (minus, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let negative = negative != minus;
        if (from, to) == (IntervalUnit::Year, IntervalUnit::Month) {
            let (years, months) = text.split_once('-')?;
            self.add(years, IntervalUnit::Year, negative)?;
            return self.add(months, IntervalUnit::Month, negative);
        }
        let units = [IntervalUnit::Day, IntervalUnit::Hour, IntervalUnit::Minute, IntervalUnit::Second];
        let first = units.iter().position(|unit| *unit == from)?;
        let last = units.iter().position(|unit| *unit == to)?;
        let parts: Vec<&str> = text.split([' ', ':']).filter(|part| !part.is_empty()).collect();
        if last <= first || parts.len() != last - first + 1 {
            return None;
        }
        for (part, unit) in parts.into_iter().zip(&units[first..=last]) {
            self.add(part, *unit, negative)?;
        }
        Some(())
    }

    fn interval(self) -> Option<Interval> {
        let time = self.days.is_some() || self.micros.is_some();
        match (self.months, time) {
            (Some(months), false) => Some(Interval::Months(months)),
            (Some(months), true) => {
                let days = i32::try_from(self.days.unwrap_or(0)).ok()?;
                Some(Interval::Calendar { months, days, micros: self.micros.unwrap_or(0) })
            }
            (None, true) => {
                let days = self.days.unwrap_or(0).checked_mul(MICROS_PER_DAY)?;
                let micros = days.checked_add(self.micros.unwrap_or(0))?;
                Some(Interval::Time { micros, whole_days: self.micros.is_none() })
            }
            (None, false) => None,
        }
    }
}

/// Reads seconds such as `12`, `-1.5`, `0.000001`.
fn seconds_to_micros(text: &str) -> Option<i64> {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.len() > 9 || !fraction.bytes().chain(whole.bytes()).all(|b| b.is_ascii_digit()) {
        return None;
    }
    let whole: i64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let digits: String = fraction.chars().chain("000000".chars()).take(6).collect();
    let micros = whole.checked_mul(MICROS_PER_SECOND)?.checked_add(digits.parse().ok()?)?;
    Some(if negative { -micros } else { micros })
}
