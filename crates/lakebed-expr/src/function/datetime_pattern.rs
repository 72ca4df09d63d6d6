//! Patterns of dates and times such as `yyyy-MM-dd HH:mm`, for formatting and for parsing.
//!
//! The letters are those of Java's DateTimeFormatter that Spark documents, without zones, weeks and eras; a pattern with another
//! letter is refused rather than misread. Read [`Pattern::parse`] first.

use std::fmt::Write;

use crate::calendar::{Civil, DAY, SECOND, is_leap, split};

/// A pattern, split into fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pattern(Vec<PatternItem>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum PatternItem {
    /// A letter and the number of its repetitions.
    Field(char, usize),
    Literal(String),
}

const MONTHS: [&str; 12] =
    ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];
const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

impl Pattern {
    /// Parses a pattern.
    pub(crate) fn parse(text: &str) -> Result<Pattern, String> {
        let mut parts = Vec::new();
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            if c == '\'' {
                parts.push(PatternItem::Literal(quoted(&mut chars).ok_or_else(|| format!("`{text}`: a quote does not close"))?));
            } else if c.is_ascii_alphabetic() {
                let mut count = 1;
                while chars.next_if_eq(&c).is_some() {
                    count += 1;
                }
                if !is_known(c, count) {
                    return Err(format!("the pattern `{text}` holds `{}`, which is not supported", c.to_string().repeat(count)));
                }
                parts.push(PatternItem::Field(c, count));
            } else if matches!(c, '[' | ']' | '{' | '}' | '#') {
                return Err(format!("the pattern `{text}` holds `{c}`, which is not supported"));
            } else {
                parts.push(PatternItem::Literal(c.to_string()));
            }
        }
        Ok(Pattern(parts))
    }

    /// Formats a time.
    pub(crate) fn format(&self, micros: i64) -> String {
        let (days, clock) = split(micros);
        let date = Civil::from_days(days);
        let mut text = String::new();
        for part in &self.0 {
            match part {
                PatternItem::Literal(literal) => text.push_str(literal),
                PatternItem::Field(letter, count) => write_field(&mut text, *letter, *count, days, date, clock),
            }
        }
        text
    }

    /// Parses a time. Returns `None` if the string does not match the whole pattern.
    pub(crate) fn read(&self, text: &str) -> Option<i64> {
        let mut fields = Fields::default();
        let mut rest = text;
        for (index, part) in self.0.iter().enumerate() {
            rest = match part {
                PatternItem::Literal(literal) => rest.strip_prefix(literal.as_str())?,
                PatternItem::Field(letter, count) => {
                    // A field ends at its width if another field follows directly.
                    let adjacent = matches!(self.0.get(index + 1), Some(PatternItem::Field(..)));
                    fields.read(*letter, *count, adjacent, rest)?
                }
            };
        }
        if rest.is_empty() { fields.micros() } else { None }
    }
}

fn quoted(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<String> {
    if chars.next_if_eq(&'\'').is_some() {
        return Some("'".into());
    }
    let mut literal = String::new();
    loop {
        match chars.next()? {
            '\'' if chars.next_if_eq(&'\'').is_some() => literal.push('\''),
            '\'' => return Some(literal),
            c => literal.push(c),
        }
    }
}

fn is_known(letter: char, count: usize) -> bool {
    match letter {
        'y' | 'u' => count <= 4,
        'M' | 'L' | 'E' => count <= 4,
        'd' | 'H' | 'h' | 'm' | 's' | 'k' | 'K' => count <= 2,
        'D' => count <= 3,
        'S' => count <= 9,
        'a' | 'q' | 'Q' => count == 1,
        _ => false,
    }
}

fn write_field(text: &mut String, letter: char, count: usize, days: i64, date: Civil, clock: i64) {
    let seconds = clock / SECOND;
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let month_name = MONTHS.get(date.month as usize - 1).copied().unwrap_or_default();
    let day_name = DAYS.get((days + 3).rem_euclid(7) as usize).copied().unwrap_or_default();
    let year_of_era = if date.year > 0 { date.year } else { 1 - date.year };
    let number = match letter {
        'y' if count == 2 => year_of_era.rem_euclid(100),
        'y' => return write_year(text, year_of_era, count),
        'u' if count == 2 => date.year.rem_euclid(100),
        'u' => return write_year(text, date.year, count),
        'M' | 'L' if count == 3 => return text.push_str(month_name.get(..3).unwrap_or(month_name)),
        'M' | 'L' if count == 4 => return text.push_str(month_name),
        'E' if count == 4 => return text.push_str(day_name),
        'E' => return text.push_str(day_name.get(..3).unwrap_or(day_name)),
        'a' => return text.push_str(if hour < 12 { "AM" } else { "PM" }),
        'S' => {
            let digits = format!("{:06}000", clock % SECOND);
            return text.push_str(digits.get(..count).unwrap_or(&digits));
        }
        'M' | 'L' => date.month,
        'q' | 'Q' => (date.month + 2) / 3,
        'd' => date.day,
        'D' => days - Civil { month: 1, day: 1, ..date }.days() + 1,
        'H' => hour,
        'k' => (hour + 23) % 24 + 1,
        'K' => hour % 12,
        'h' => (hour + 11) % 12 + 1,
        'm' => minute,
        _ => second,
    };
    // Writing to a String does not fail.
    let _ = write!(text, "{number:0count$}");
}

fn write_year(text: &mut String, year: i64, count: usize) {
    let sign = match year {
        ..0 => "-",
        10_000.. if count == 4 => "+",
        _ => "",
    };
    let _ = write!(text, "{sign}{:0count$}", year.abs());
}

/// The parts of a time that have been read. Missing parts are those of 1970-01-01 00:00.
#[derive(Default)]
struct Fields {
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    hour: Option<i64>,
    /// The hour on a clock face, 0 to 11.
    half_day_hour: Option<i64>,
    afternoon: Option<bool>,
    minute: i64,
    second: i64,
    fraction: i64,
}

impl Fields {
    /// Reads one field from the front of a text and returns the rest.
    fn read<'a>(&mut self, letter: char, count: usize, adjacent: bool, text: &'a str) -> Option<&'a str> {
        match letter {
            'M' | 'L' if count >= 3 => {
                let (index, rest) = named(&MONTHS, count, text)?;
                self.month = Some(index as i64 + 1);
                return Some(rest);
            }
            'E' => return named(&DAYS, count, text).map(|(_, rest)| rest),
            'a' => {
                let (marker, rest) = text.split_at_checked(2)?;
                self.afternoon = Some(match marker.to_ascii_uppercase().as_str() {
                    "AM" => false,
                    "PM" => true,
                    _ => return None,
                });
                return Some(rest);
            }
            _ => {}
        }
        let available = text.bytes().take_while(u8::is_ascii_digit).count();
        let most = match (letter, count) {
            ('S', count) => count,
            _ if adjacent => count,
            (_, 1) => 19,
            ('y' | 'u', 4) => 7,
            (_, count) => count,
        };
        let width = available.min(most);
        if width < count {
            return None;
        }
        let (digits, rest) = text.split_at(width);
        self.set(letter, count, digits)?;
        Some(rest)
    }

    fn set(&mut self, letter: char, count: usize, digits: &str) -> Option<()> {
        let value: i64 = digits.parse().ok()?;
        let within = |low: i64, high: i64| (low..=high).contains(&value).then_some(value);
        match letter {
            'y' | 'u' if count == 2 => self.year = Some(2000 + value),
            'y' | 'u' => self.year = Some(within(0, 9_999_999)?),
            'M' | 'L' => self.month = Some(within(1, 12)?),
            'q' | 'Q' => self.month = Some(self.month.unwrap_or((within(1, 4)? - 1) * 3 + 1)),
            'd' => self.day = Some(within(1, 31)?),
            'D' => self.day_of_year = Some(within(1, 366)?),
            'H' => self.hour = Some(within(0, 23)?),
            'k' => self.hour = Some(within(1, 24)? % 24),
            'K' => self.half_day_hour = Some(within(0, 11)?),
            'h' => self.half_day_hour = Some(within(1, 12)? % 12),
            'm' => self.minute = within(0, 59)?,
            's' => self.second = within(0, 59)?,
            _ => {
                let digits: String = digits.chars().chain("000000".chars()).take(6).collect();
                self.fraction = digits.parse().ok()?;
            }
        }
        Some(())
    }

    fn micros(&self) -> Option<i64> {
        let year = self.year.unwrap_or(1970);
        let days = match self.day_of_year {
            Some(day) if day <= 365 + i64::from(is_leap(year)) => Civil { year, month: 1, day: 1 }.days() + day - 1,
            Some(_) => return None,
            None => Civil::checked(year, self.month.unwrap_or(1), self.day.unwrap_or(1))?.days(),
        };
        let hour = match (self.hour, self.half_day_hour) {
            (Some(hour), _) => hour,
            (None, Some(hour)) => hour + if self.afternoon.unwrap_or(false) { 12 } else { 0 },
            (None, None) => 0,
        };
        let clock = (hour * 3_600 + self.minute * 60 + self.second) * SECOND + self.fraction;
        days.checked_mul(DAY)?.checked_add(clock)
    }
}

/// Returns the name at the front of a string: the whole name or its first three letters.
fn named<'a>(names: &[&str], count: usize, text: &'a str) -> Option<(usize, &'a str)> {
    names.iter().enumerate().find_map(|(index, name)| {
        let name = if count == 4 { name } else { name.get(..3)? };
        let (front, rest) = text.split_at_checked(name.len())?;
        front.eq_ignore_ascii_case(name).then_some((index, rest))
    })
}
