//! Conversion between day or microsecond counts and calendar dates and clock times, over the whole
//! range of both.
//!
//! The calendar is the proleptic Gregorian calendar in UTC, as in Spark. The range of chrono does
//! not cover the extreme values that tables hold. Read [`Civil`] first.

/// The number of microseconds in a second.
pub(crate) const SECOND: i64 = 1_000_000;
/// The number of microseconds in a day.
pub(crate) const DAY: i64 = 86_400 * SECOND;

/// A date of the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Civil {
    pub(crate) year: i64,
    pub(crate) month: i64,
    pub(crate) day: i64,
}

impl Civil {
    /// Returns the date that is `days` days after 1970-01-01. Years begin in March in this
    /// computation, so that a leap day is the last day of its year.
    pub(crate) fn from_days(days: i64) -> Civil {
        let days = days + 719_468;
        let era = days.div_euclid(146_097);
        let day_of_era = days.rem_euclid(146_097);
        let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let march_month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * march_month + 2) / 5 + 1;
        let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        Civil { year, month, day }
    }

    /// Returns the number of days since 1970-01-01.
    pub(crate) fn days(self) -> i64 {
        let year = self.year - i64::from(self.month <= 2);
        let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let march_month = (self.month + 9) % 12;
        let day_of_year = (153 * march_month + 2) / 5 + self.day - 1;
        era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
    }

    /// Returns the date if it exists.
    pub(crate) fn checked(year: i64, month: i64, day: i64) -> Option<Civil> {
        let valid = (1..=12).contains(&month) && (1..=days_in_month(year, month)).contains(&day) && year.abs() < 10_000_000;
        valid.then_some(Civil { year, month, day })
    }

    /// Returns the same day some months later, or the last day of that month if the month is
    /// shorter.
    pub(crate) fn plus_months(self, months: i64) -> Civil {
        let total = self.year * 12 + self.month - 1 + months;
        let (year, month) = (total.div_euclid(12), total.rem_euclid(12) + 1);
        Civil { year, month, day: self.day.min(days_in_month(year, month)) }
    }
}

pub(crate) fn is_leap(year: i64) -> bool {
    year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0)
}

pub(crate) fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Splits a timestamp into its day and the microseconds since midnight.
pub(crate) fn split(micros: i64) -> (i64, i64) {
    (micros.div_euclid(DAY), micros.rem_euclid(DAY))
}

/// Formats a date as Spark does: `2024-02-29`.
pub fn date_text(days: i64) -> String {
    let Civil { year, month, day } = Civil::from_days(days);
    let sign = match year {
        10_000.. => "+",
        ..0 => "-",
        _ => "",
    };
    format!("{sign}{:04}-{month:02}-{day:02}", year.abs())
}

/// Formats a timestamp as Spark does: `2024-02-29 12:34:56.789`, without trailing zeros.
pub fn timestamp_text(micros: i64) -> String {
    let (days, time) = split(micros);
    let (seconds, fraction) = (time / SECOND, time % SECOND);
    let clock = format!("{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let fraction = match fraction {
        0 => String::new(),
        _ => format!(".{fraction:06}").trim_end_matches('0').to_string(),
    };
    format!("{} {clock}{fraction}", date_text(days))
}
