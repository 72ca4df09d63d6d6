//! Values read from text and written as text.

use proptest::prelude::*;

use crate::calendar::{Civil, DAY, date_text, timestamp_text};
use crate::evaluate::text_value::{
    decimal_text, float_text, parse_date, parse_decimal, parse_double, parse_long, parse_timestamp, parse_timestamp_ntz,
};
use crate::function::datetime_pattern::Pattern;

#[test]
fn days_of_the_calendar_are_known() {
    for (year, month, day, days) in [(1970, 1, 1, 0), (2000, 3, 1, 11_017), (1600, 2, 29, -135_081), (1, 1, 1, -719_162)] {
        let civil = Civil { year, month, day };
        assert_eq!((civil.days(), Civil::from_days(days)), (days, civil));
    }
}

proptest! {
    #[test]
    fn days_survive_the_calendar(days in i32::MIN..=i32::MAX) {
        let civil = Civil::from_days(days.into());
        prop_assert_eq!(civil.days(), i64::from(days));
        prop_assert_eq!(Civil::checked(civil.year, civil.month, civil.day), Some(civil));
    }

    #[test]
    fn the_day_after_is_later(days in i32::MIN..i32::MAX) {
        let (a, b) = (Civil::from_days(days.into()), Civil::from_days(i64::from(days) + 1));
        prop_assert!((a.year, a.month, a.day) < (b.year, b.month, b.day));
    }

    #[test]
    fn dates_survive_text(days in -719_162i32 * 3..2_932_896 * 2) {
        prop_assert_eq!(parse_date(&date_text(days.into())), Some(days));
    }

    #[test]
    fn timestamps_survive_text(micros in -719_162 * DAY * 3..2_932_896 * DAY * 2) {
        prop_assert_eq!(parse_timestamp(&timestamp_text(micros)), Some(micros));
        prop_assert_eq!(parse_timestamp_ntz(&timestamp_text(micros)), Some(micros));
    }

    #[test]
    fn timestamps_survive_a_pattern(micros in -719_162 * DAY..2_932_897 * DAY) {
        let pattern = Pattern::parse("yyyy-MM-dd HH:mm:ss.SSSSSS").unwrap();
        prop_assert_eq!(pattern.read(&pattern.format(micros)), Some(micros));
        let packed = Pattern::parse("yyyyMMddHHmmss").unwrap();
        prop_assert_eq!(packed.read(&packed.format(micros)), Some(micros.div_euclid(1_000_000) * 1_000_000));
    }

    #[test]
    fn doubles_survive_text(bits in any::<u64>()) {
        let value = f64::from_bits(bits);
        let read = parse_double(&float_text(value, &format!("{value:e}"))).unwrap();
        prop_assert!(read == value || (read.is_nan() && value.is_nan()));
    }

    #[test]
    fn decimals_survive_text(value in -99_999_999_999_999_999_999_999_999_999_999_999_999i128..=99_999_999_999_999_999_999_999_999_999_999_999_999, scale in 0i8..=38) {
        prop_assert_eq!(parse_decimal(&decimal_text(value, scale), 38, scale), Some(value));
    }

    #[test]
    fn longs_survive_text(value in any::<i64>()) {
        prop_assert_eq!(parse_long(&value.to_string()), Some(value));
    }
}

#[test]
fn decimals_are_rounded_half_up() {
    let check = |text: &str, expected: Option<i128>| assert_eq!(parse_decimal(text, 5, 2), expected, "{text}");
    check("1.005", Some(101));
    check("-1.005", Some(-101));
    check("1.00499", Some(100));
    check("999.994", Some(99_999));
    check("999.995", None);
    check("1e2", Some(10_000));
    check("1e-2", Some(1));
    check("5e-3", Some(1));
    check("4e-3", Some(0));
    check("1e-999999999999", None);
    check("1e-99999999", Some(0));
    check("0e99999999", Some(0));
    check("1e99999999", None);
    check(".5", Some(50));
    check("5.", Some(500));
    check(".", None);
    check("", None);
    check("1_0", None);
    check("NaN", None);
}
