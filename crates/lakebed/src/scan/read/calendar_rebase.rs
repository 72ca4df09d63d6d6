//! Dates and timestamps in files of old writers, which used the Julian calendar before 1582-10-15.
//!
//! Such a writer turned the date 1000-01-01 into the number of the day that had this date in the
//! Julian calendar. A current reader gives that day another date. Rebasing keeps the date and
//! changes the number, as Spark does. The metadata of a file says whether it needs rebasing.

use std::cmp::Ordering;

use arrow_array::timezone::Tz;
use chrono::{Offset, TimeZone};

use lakebed_io::parquet::ParquetFile;

use crate::Result;

/// The key of the version of Spark that wrote a file.
const VERSION: &str = "org.apache.spark.version";
const LEGACY_DATES: &str = "org.apache.spark.legacyDateTime";
const LEGACY_INT96: &str = "org.apache.spark.legacyINT96";
const TIME_ZONE: &str = "org.apache.spark.timeZone";

/// 1582-10-15, the first day of the Gregorian calendar.
const FIRST_GREGORIAN_DAY: i32 = -141_427;
/// 1900-01-01. Before this day, old writers used today's standard offset of a time zone as its
/// offset.
const FIRST_DAY_OF_ZONES: i64 = -25_567;
const MICROS_PER_DAY: i64 = 86_400_000_000;
const MICROS_PER_SECOND: i64 = 1_000_000;

/// The types of values in a file that use the old calendar.
#[derive(Debug, Clone, Default)]
pub(super) struct CalendarRebase {
    pub(super) dates: bool,
    pub(super) timestamps: Option<RebaseZone>,
    pub(super) int96: Option<RebaseZone>,
}

/// The time zone of the writer.
#[derive(Debug, Clone)]
pub(super) enum RebaseZone {
    Utc,
    Named {
        zone: Tz,
        /// The standard offset of the time zone today, in seconds.
        standard: i64,
    },
}

impl CalendarRebase {
    /// Reads from the metadata of a file what must be rebased.
    pub(super) fn of(file: &ParquetFile) -> Result<Self> {
        let Some(version) = file.key_value(VERSION) else { return Ok(Self::default()) };
        let before = |limit: [u32; 2]| parse_version(version).is_some_and(|version| version.cmp(&limit) == Ordering::Less);
        let dates = before([3, 0]) || file.key_value(LEGACY_DATES).is_some();
        let int96 = before([3, 1]) || file.key_value(LEGACY_INT96).is_some();
        let zone = || file.key_value(TIME_ZONE).map_or(RebaseZone::Utc, RebaseZone::parse);
        Ok(Self { dates, timestamps: dates.then(zone), int96: int96.then(zone) })
    }
}

fn parse_version(text: &str) -> Option<[u32; 2]> {
    let mut parts = text.split('.').map(|part| part.parse().ok());
    Some([parts.next()??, parts.next()??])
}

impl RebaseZone {
    /// Parses a time zone by its name or offset. It is UTC if there is no such time zone.
    pub(super) fn parse(name: &str) -> Self {
        let Ok(zone) = name.parse::<Tz>() else { return Self::Utc };
        // Standard time is the smaller of the offsets in summer and winter.
        let offsets = [1_704_067_200, 1_719_792_000].map(|seconds| {
            let utc = chrono::DateTime::from_timestamp(seconds, 0).map(|instant| instant.naive_utc()).unwrap_or_default();
            i64::from(zone.offset_from_utc_datetime(&utc).fix().local_minus_utc())
        });
        Self::Named { zone, standard: offsets.into_iter().min().unwrap_or(0) }
    }

    /// Returns today's standard offset.
    fn standard(&self) -> i64 {
        match self {
            Self::Utc => 0,
            Self::Named { standard, .. } => *standard,
        }
    }

    /// Returns the offset at a local time, in seconds.
    fn offset_at(&self, day: i64, micros: i64) -> i64 {
        let Self::Named { zone, standard } = self else { return 0 };
        let local = day.checked_mul(86_400).and_then(|seconds| seconds.checked_add(micros / MICROS_PER_SECOND));
        let local = local.and_then(|seconds| chrono::DateTime::from_timestamp(seconds, 0)).map(|instant| instant.naive_utc());
        let Some(local) = local else { return *standard };
        zone.offset_from_local_datetime(&local).earliest().map_or(*standard, |offset| i64::from(offset.fix().local_minus_utc()))
    }
}

/// Returns the day with a Gregorian date that equals the Julian date of this day.
pub(super) fn rebase_days(day: i32) -> i32 {
    if day >= FIRST_GREGORIAN_DAY {
        return day;
    }
    i32::try_from(gregorian_day(julian_date(i64::from(day)))).unwrap_or(day)
}

/// Returns the timestamp whose local time today equals the local time that the writer saw.
pub(super) fn rebase_micros(zone: &RebaseZone, micros: i64) -> i64 {
    if micros >= FIRST_DAY_OF_ZONES * MICROS_PER_DAY {
        return micros;
    }
    let Some(local) = micros.checked_add(zone.standard() * MICROS_PER_SECOND) else { return micros };
    let (day, time) = (local.div_euclid(MICROS_PER_DAY), local.rem_euclid(MICROS_PER_DAY));
    let day = if day < i64::from(FIRST_GREGORIAN_DAY) { gregorian_day(julian_date(day)) } else { day };
    let rebased = day.checked_mul(MICROS_PER_DAY).and_then(|start| start.checked_add(time));
    rebased.and_then(|local| local.checked_sub(zone.offset_at(day, time) * MICROS_PER_SECOND)).unwrap_or(micros)
}

/// Returns year, month and day in the Julian calendar of a day counted from 1970-01-01. The year
/// before 1 is 0.
fn julian_date(day: i64) -> (i64, i64, i64) {
    // Days are counted from the first of March of a year divisible by four, so that leap days come
    // last.
    let days = day + 2_440_588 + 32_082;
    let year = (4 * days + 3).div_euclid(1461);
    let day_of_year = days - (1461 * year).div_euclid(4);
    let (year, month, day) = split_months(year, day_of_year);
    (year - 4800, month, day)
}

/// Returns year, month and day for a day of a year that begins in March.
fn split_months(year: i64, day_of_year: i64) -> (i64, i64, i64) {
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    if month < 10 { (year, month + 3, day) } else { (year + 1, month - 9, day) }
}

/// Returns the day of a Gregorian date, counted from 1970-01-01. A leap day that does not exist
/// becomes the day after it.
fn gregorian_day((year, month, day): (i64, i64, i64)) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use chrono::{Datelike, NaiveDate, NaiveDateTime};
    use proptest::prelude::*;

    use super::*;

    const EPOCH_OF_CHRONO: i32 = 719_163;

    fn day(year: i32, month: u32, day: u32) -> i32 {
        NaiveDate::from_ymd_opt(year, month, day).unwrap().num_days_from_ce() - EPOCH_OF_CHRONO
    }

    fn micros(text: &str) -> i64 {
        NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S%.f").unwrap().and_utc().timestamp_micros()
    }

    #[test]
    fn days_keep_their_name() {
        // From each of these days on, the day with the same date in the Gregorian calendar is this
        // many days later (earlier, if negative). The table is Spark's own.
        let switches = [
            (-719_164, 2),
            (-682_945, 1),
            (-646_420, 0),
            (-609_895, -1),
            (-536_845, -2),
            (-500_320, -3),
            (-463_795, -4),
            (-390_745, -5),
            (-354_220, -6),
            (-317_695, -7),
            (-244_645, -8),
            (-208_120, -9),
            (-171_595, -10),
            (-141_427, 0),
            (0, 0),
            (18_262, 0),
        ];
        for pair in switches.windows(2) {
            let ((from, shift), (to, _)) = (pair[0], pair[1]);
            for day in [from, from + 1, (from + to) / 2, to - 1] {
                assert_eq!(rebase_days(day) - day, shift, "day {day}");
            }
        }
        // 1582-10-04 was the day before 1582-10-15.
        assert_eq!(rebase_days(-141_428), day(1582, 10, 4));
        assert_eq!(rebase_days(-719_164), day(1, 1, 1));
        // There was a 1000-02-29. Today this day has the date March 1st.
        assert_eq!(julian_date(-354_221), (1000, 2, 29));
        assert_eq!(rebase_days(-354_221), day(1000, 3, 1));
    }

    #[test]
    fn instants_in_utc_shift_by_whole_days() {
        let utc = RebaseZone::Utc;
        assert_eq!(rebase_micros(&utc, -141_428 * MICROS_PER_DAY + 12_345_678), micros("1582-10-04 00:00:12.345678"));
        for unchanged in ["1582-10-15 00:00:00", "1899-12-31 23:59:59.999999", "2026-11-21 01:02:03"] {
            assert_eq!(rebase_micros(&utc, micros(unchanged)), micros(unchanged));
        }
        assert!(matches!(RebaseZone::parse("Nowhere/Atall"), RebaseZone::Utc));
    }

    #[test]
    fn rebased_instant_keeps_local_time() {
        let zone = RebaseZone::parse("America/Los_Angeles");
        // Local mean time, 7:52:58 behind UTC, ended in 1883. Old writers used 8:00:00 for all
        // times before 1900.
        assert_eq!(rebase_micros(&zone, micros("1800-01-01 08:00:00")), micros("1800-01-01 07:52:58"));
        assert_eq!(rebase_micros(&zone, micros("1890-01-01 08:00:00")), micros("1890-01-01 08:00:00"));
        assert_eq!(rebase_micros(&zone, micros("2026-07-01 07:00:00")), micros("2026-07-01 07:00:00"));
        // 1500-01-01 of the Julian calendar is nine days after the Gregorian day of that name.
        assert_eq!(rebase_micros(&zone, micros("1500-01-10 08:00:00")), micros("1500-01-01 07:52:58"));
    }

    #[test]
    fn versions_are_told_apart_by_number() {
        assert_eq!(parse_version("2.4.8"), Some([2, 4]));
        assert_eq!(parse_version("3.10.0-SNAPSHOT"), Some([3, 10]));
        assert_eq!(parse_version("unknown"), None);
    }

    proptest! {
        #[test]
        fn gregorian_days_agree_with_chrono(number in -3_000_000_i32..3_000_000) {
            let date = NaiveDate::from_num_days_from_ce_opt(number + EPOCH_OF_CHRONO).unwrap();
            let parts = (i64::from(date.year()), i64::from(date.month()), i64::from(date.day()));
            prop_assert_eq!(gregorian_day(parts), i64::from(number));
        }

        #[test]
        fn rebasing_never_reorders_and_never_panics(a in any::<i32>(), b in any::<i32>(), instant in any::<i64>()) {
            let (low, high) = if a < b { (a, b) } else { (b, a) };
            if high < FIRST_GREGORIAN_DAY {
                prop_assert!(rebase_days(low) <= rebase_days(high));
            }
            rebase_micros(&RebaseZone::parse("Europe/Paris"), instant);
            rebase_micros(&RebaseZone::Utc, instant);
        }
    }
}
