use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, Float64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, StringArray};
use proptest::prelude::*;

use super::*;
use crate::schema::arrow::primitive_to_arrow;

const EVERY_PRIMITIVE: [PrimitiveType; 17] = [
    PrimitiveType::String,
    PrimitiveType::Long,
    PrimitiveType::Integer,
    PrimitiveType::Short,
    PrimitiveType::Byte,
    PrimitiveType::Float,
    PrimitiveType::Double,
    PrimitiveType::Boolean,
    PrimitiveType::Binary,
    PrimitiveType::Date,
    PrimitiveType::Timestamp,
    PrimitiveType::TimestampNtz,
    PrimitiveType::Decimal { precision: 38, scale: 18 },
    PrimitiveType::Variant,
    PrimitiveType::Void,
    PrimitiveType::YearMonthInterval,
    PrimitiveType::DayTimeInterval,
];

fn parse(text: &str, primitive: PrimitiveType) -> Result<Scalar> {
    Scalar::parse_partition(Some(text), primitive)
}

/// Checks that the value is printed as the string, and that the string is parsed as the value.
#[track_caller]
fn check(scalar: Scalar, primitive: PrimitiveType, text: &str) {
    assert_eq!(scalar.to_partition().unwrap().as_deref(), Some(text));
    assert_eq!(format!("{:?}", parse(text, primitive).unwrap()), format!("{scalar:?}"));
}

/// Checks that the string is parsed as the value, although the value would be printed in another
/// way.
#[track_caller]
fn check_read(text: &str, primitive: PrimitiveType, scalar: Scalar) {
    assert_eq!(parse(text, primitive).unwrap(), scalar, "{text}");
}

#[track_caller]
fn check_bad(primitive: PrimitiveType, texts: &[&str]) {
    for text in texts {
        let expected = format!("partition value {text:?}: is not of type {primitive}");
        assert_eq!(parse(text, primitive).unwrap_err().message(), expected);
    }
}

#[test]
fn parse_missing_or_empty_string_gives_null() {
    for primitive in EVERY_PRIMITIVE {
        assert_eq!(Scalar::parse_partition(None, primitive).unwrap(), Scalar::Null);
        assert_eq!(parse("", primitive).unwrap(), Scalar::Null);
    }
    for null in [Scalar::Null, Scalar::String(String::new()), Scalar::Binary(vec![])] {
        assert_eq!(null.to_partition().unwrap(), None);
    }
}

#[test]
fn parse_strings_and_bytes_keeps_them() {
    for text in [" ", "a/b=%20", "é日", "NULL", "__HIVE_DEFAULT_PARTITION__", "\u{1}\u{2}\u{3}"] {
        check(Scalar::String(text.to_owned()), PrimitiveType::String, text);
        check(Scalar::Binary(text.as_bytes().to_vec()), PrimitiveType::Binary, text);
    }
    let error = Scalar::Binary(vec![0xff]).to_partition().unwrap_err();
    assert!(error.message().starts_with("bytes that are not UTF-8 cannot be a partition value"));
}

#[test]
fn integers_have_their_range() {
    check(Scalar::Byte(-128), PrimitiveType::Byte, "-128");
    check(Scalar::Short(32767), PrimitiveType::Short, "32767");
    check(Scalar::Integer(i32::MIN), PrimitiveType::Integer, "-2147483648");
    check(Scalar::Long(i64::MAX), PrimitiveType::Long, "9223372036854775807");
    check_read(" +7 ", PrimitiveType::Long, Scalar::Long(7));
    check_bad(PrimitiveType::Byte, &["128", "1.0", "1e1", "x", " ", "0x1", "١"]);
    check_bad(PrimitiveType::Long, &["9223372036854775808"]);
}

#[test]
fn floats_are_spelled_as_java_spells_them() {
    for (value, text) in [
        (f32::NAN, "NaN"),
        (f32::INFINITY, "Infinity"),
        (f32::NEG_INFINITY, "-Infinity"),
        (-0.0, "-0.0"),
        (0.1, "0.1"),
        (0.001, "0.001"),
        (0.0005, "5.0E-4"),
        (9_999_999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (f32::MAX, "3.4028235E38"),
        (1.175_494_4e-38, "1.1754944E-38"),
    ] {
        check(Scalar::Float(value), PrimitiveType::Float, text);
    }
    for (value, text) in [
        (f64::NAN, "NaN"),
        (f64::NEG_INFINITY, "-Infinity"),
        (-0.0, "-0.0"),
        (123_456_789.125, "1.23456789125E8"),
        (1234.5, "1234.5"),
        (f64::MAX, "1.7976931348623157E308"),
        (0.002, "0.002"),
        (0.0001, "1.0E-4"),
    ] {
        check(Scalar::Double(value), PrimitiveType::Double, text);
    }
    check_read("1", PrimitiveType::Double, Scalar::Double(1.0));
    check_read(" 1e2 ", PrimitiveType::Double, Scalar::Double(100.0));
    check_read("-inf", PrimitiveType::Double, Scalar::Double(f64::NEG_INFINITY));
    check_bad(PrimitiveType::Double, &["x", "1,5", "1_0", "."]);
}

#[test]
fn booleans_have_sparks_spellings_in_any_case() {
    check(Scalar::Boolean(true), PrimitiveType::Boolean, "true");
    check(Scalar::Boolean(false), PrimitiveType::Boolean, "false");
    for text in ["TRUE", "True", "t", "yes", "Y", "1", " true "] {
        check_read(text, PrimitiveType::Boolean, Scalar::Boolean(true));
    }
    for text in ["FALSE", "f", "no", "N", "0"] {
        check_read(text, PrimitiveType::Boolean, Scalar::Boolean(false));
    }
    check_bad(PrimitiveType::Boolean, &["2", "tru", "on"]);
}

#[test]
fn decimals_keep_their_scale() {
    let money = PrimitiveType::Decimal { precision: 5, scale: 2 };
    let cents = |unscaled| Scalar::Decimal { unscaled, scale: 2 };
    check(cents(150), money, "1.50");
    check(cents(-5), money, "-0.05");
    check(cents(0), money, "0.00");
    check(cents(-99_999), money, "-999.99");
    check(Scalar::Decimal { unscaled: 7, scale: 0 }, PrimitiveType::Decimal { precision: 1, scale: 0 }, "7");
    check(
        Scalar::Decimal { unscaled: -1, scale: 38 },
        PrimitiveType::Decimal { precision: 38, scale: 38 },
        "-0.00000000000000000000000000000000000001",
    );
    check(
        Scalar::Decimal { unscaled: 10_i128.pow(38) - 1, scale: 0 },
        PrimitiveType::Decimal { precision: 38, scale: 0 },
        "99999999999999999999999999999999999999",
    );
    for (text, unscaled) in [
        ("1.5", 150),
        ("+1", 100),
        (".5", 50),
        ("5.", 500),
        (" 2 ", 200),
        ("1E1", 1000),
        ("15e-1", 150),
        ("0E-18", 0),
        ("1.500000", 150),
    ] {
        check_read(text, money, cents(unscaled));
    }
    let long = format!("{}1.{}", "0".repeat(100), "0".repeat(100));
    check_read(&long, money, cents(100));
    check_bad(money, &["1.555", "1000", "1E3", "1e-3", ".", "-", "1.2.3", "1e", "1e99999999999", "NaN", "1 2", "--1", "+-1"]);
    check_bad(PrimitiveType::Decimal { precision: 38, scale: 0 }, &["100000000000000000000000000000000000000", &"9".repeat(60)]);
}

#[test]
fn dates_reach_beyond_four_digits() {
    for (days, text) in [
        (0, "1970-01-01"),
        (-1, "1969-12-31"),
        (19_782, "2024-02-29"),
        (-719_162, "0001-01-01"),
        (-719_528, "0000-01-01"),
        (-719_529, "-0001-12-31"),
        (2_932_896, "9999-12-31"),
        (2_932_897, "+10000-01-01"),
        (-141_427, "1582-10-15"),
        (i32::MAX, "+5881580-07-11"),
        (i32::MIN, "-5877641-06-23"),
    ] {
        check(Scalar::Date(days), PrimitiveType::Date, text);
    }
    for text in ["2024-2-3", "2024-02-03 00:00:00", "2024-02-03T23:59:59Z", " 2024-02-03 ", "+2024-02-03"] {
        check_read(text, PrimitiveType::Date, Scalar::Date(19_756));
    }
    check_read("2024", PrimitiveType::Date, Scalar::Date(19_723));
    check_read("2024-02", PrimitiveType::Date, Scalar::Date(19_754));
    check_bad(
        PrimitiveType::Date,
        &[
            "2023-02-29",
            "1900-02-29",
            "2024-13-01",
            "2024-00-01",
            "2024-04-31",
            "2024-01-00",
            "24-01-01",
            "2024-01-02x",
            "20240102x",
            "2024-",
            "2024/01/02",
            "99999999-01-01",
            "9999999-01-01",
        ],
    );
    check_read("2000-02-29", PrimitiveType::Date, Scalar::Date(11_016));
}

#[test]
fn timestamps_have_both_of_sparks_spellings() {
    let micros = 1_704_164_645_120_000;
    check(Scalar::Timestamp(micros), PrimitiveType::Timestamp, "2024-01-02T03:04:05.120000Z");
    for text in [
        "2024-01-02 03:04:05.12",
        "2024-01-02 03:04:05.120000",
        "2024-01-02 03:04:05.120000999",
        "2024-01-02T04:04:05.12+01:00",
        "2024-01-02T04:04:05.12+0100",
        "2024-01-01 22:04:05.12 -05",
        "2024-01-02 03:04:05.12 UTC",
        "2024-01-02 05:04:05.12GMT+2",
        "2024-1-2 3:4:5.12",
    ] {
        check_read(text, PrimitiveType::Timestamp, Scalar::Timestamp(micros));
    }
    for (text, micros) in [
        ("2024-01-02", 1_704_153_600_000_000),
        ("2024-01-02 03", 1_704_164_400_000_000),
        ("2024-01-02 03:04", 1_704_164_640_000_000),
        ("1969-12-31 23:59:59.999999", -1),
    ] {
        check_read(text, PrimitiveType::Timestamp, Scalar::Timestamp(micros));
    }
    check(Scalar::Timestamp(-1), PrimitiveType::Timestamp, "1969-12-31T23:59:59.999999Z");
    check(Scalar::Timestamp(i64::MAX), PrimitiveType::Timestamp, "+294247-01-10T04:00:54.775807Z");
    check(Scalar::Timestamp(i64::MIN), PrimitiveType::Timestamp, "-290308-12-21T19:59:05.224192Z");
    check_bad(
        PrimitiveType::Timestamp,
        &[
            "2024-01-02 24:00:00",
            "2024-01-02 00:60:00",
            "2024-01-02 00:00:60",
            "2024-01-02 00:00:00 Europe/Paris",
            "2024-01-02 00:00:00+19:00",
            "2024-01-02 00:00:00+01:60",
            "2024-01-02 00:00:00++1",
            "2024-01-02 :00",
            "03:04:05",
            "2024-01-02 03:04:05 x",
            "+294248-01-01 00:00:00",
            "-290309-01-01 00:00:00",
        ],
    );
}

#[test]
fn timestamps_without_zone_pass_over_one() {
    check(Scalar::TimestampNtz(1_704_164_645_000_000), PrimitiveType::TimestampNtz, "2024-01-02 03:04:05");
    check(Scalar::TimestampNtz(1_704_164_645_120_000), PrimitiveType::TimestampNtz, "2024-01-02 03:04:05.12");
    check(Scalar::TimestampNtz(i64::MIN), PrimitiveType::TimestampNtz, "-290308-12-21 19:59:05.224192");
    for text in ["2024-01-02T03:04:05Z", "2024-01-02 03:04:05+05:00", "2024-01-02T03:04:05.000000"] {
        check_read(text, PrimitiveType::TimestampNtz, Scalar::TimestampNtz(1_704_164_645_000_000));
    }
    check_bad(PrimitiveType::TimestampNtz, &["2024-01-02 03:04:05 Mars/Base"]);
}

#[test]
fn intervals_are_spelled_as_spark_spells_them() {
    check(Scalar::YearMonthInterval(-14), PrimitiveType::YearMonthInterval, "INTERVAL '-1-2' YEAR TO MONTH");
    check(Scalar::YearMonthInterval(i32::MIN), PrimitiveType::YearMonthInterval, "INTERVAL '-178956970-8' YEAR TO MONTH");
    check(Scalar::DayTimeInterval(273_906_700_000), PrimitiveType::DayTimeInterval, "INTERVAL '3 04:05:06.7' DAY TO SECOND");
    check(
        Scalar::DayTimeInterval(i64::MIN),
        PrimitiveType::DayTimeInterval,
        "INTERVAL '-106751991 04:00:54.775808' DAY TO SECOND",
    );
    for (text, months) in
        [("1-2", 14), ("interval '5' month", 5), ("INTERVAL -'2' YEAR", -24), ("INTERVAL '+0-11' YEAR TO MONTH", 11)]
    {
        check_read(text, PrimitiveType::YearMonthInterval, Scalar::YearMonthInterval(months));
    }
    for (text, seconds) in [
        ("1 00:00:01", 86_401),
        ("INTERVAL '2' HOUR", 7_200),
        ("INTERVAL '-1 02' DAY TO HOUR", -93_600),
        ("INTERVAL -'01:30' MINUTE TO SECOND", -90),
        ("INTERVAL '90.5' SECOND", 90),
    ] {
        let half = if text.contains(".5") { 500_000 } else { 0 };
        check_read(text, PrimitiveType::DayTimeInterval, Scalar::DayTimeInterval(seconds * 1_000_000 + half));
    }
    check_bad(
        PrimitiveType::YearMonthInterval,
        &["1", "1-12", "INTERVAL '1-2' DAY", "INTERVAL '1' WEEK", "INTERVAL '1-2", "x '1' YEAR"],
    );
    check_bad(
        PrimitiveType::DayTimeInterval,
        &[
            "1",
            "1 2",
            "INTERVAL '1 2 3' DAY TO HOUR",
            "INTERVAL '1' SECOND TO DAY",
            "INTERVAL '1.5' DAY",
            "INTERVAL '1.1234567' SECOND",
            "INTERVAL '106751992 00:00:00' DAY TO SECOND",
        ],
    );
}

#[test]
fn variants_and_voids_have_no_text() {
    check_bad(PrimitiveType::Variant, &["{}"]);
    check_bad(PrimitiveType::Void, &["x"]);
}

/// Returns a column of these strings, parsed.
fn column(texts: &[Option<&str>], primitive: PrimitiveType) -> Result<ArrayRef> {
    parse_partition_column(&StringArray::from(texts.to_vec()), primitive)
}

#[test]
fn parse_column_gives_arrow_type_and_nulls() {
    for primitive in EVERY_PRIMITIVE {
        let parsed = column(&[None, Some("")], primitive).unwrap();
        assert_eq!(*parsed.data_type(), primitive_to_arrow(primitive).unwrap());
        assert_eq!(parsed.logical_null_count(), 2, "{primitive}");
    }
    let dates =
        column(&[Some("1970-01-02"), Some("1970-01-02"), None, Some("1970-01-02"), Some("1970-01-03")], PrimitiveType::Date);
    assert_eq!(
        dates.unwrap().as_primitive::<Date32Type>().iter().collect::<Vec<_>>(),
        [Some(1), Some(1), None, Some(1), Some(2)]
    );
    let texts = column(&[Some("a"), Some(""), None, Some("b")], PrimitiveType::String).unwrap();
    assert_eq!(texts.as_string::<i32>().iter().collect::<Vec<_>>(), [Some("a"), None, None, Some("b")]);
    let bytes = column(&[Some("a"), Some("é")], PrimitiveType::Binary).unwrap();
    assert_eq!(bytes.as_binary::<i32>().iter().collect::<Vec<_>>(), [Some(b"a".as_slice()), Some(&[0xc3, 0xa9])]);
    let flags = column(&[Some("TRUE"), None, Some("false")], PrimitiveType::Boolean).unwrap();
    assert_eq!(flags.as_boolean().iter().collect::<Vec<_>>(), [Some(true), None, Some(false)]);
    let decimals = column(&[Some("1.5"), Some("-2")], PrimitiveType::Decimal { precision: 3, scale: 2 }).unwrap();
    assert_eq!(decimals.as_primitive::<Decimal128Type>().values(), &[150, -200]);
    let floats = column(&[Some("-0.0")], PrimitiveType::Double).unwrap();
    assert!(floats.as_primitive::<Float64Type>().value(0).is_sign_negative());
}

#[test]
fn a_sliced_column_parses_its_own_rows() {
    let texts = StringArray::from(vec![Some("x"), Some("1970-01-02"), None, Some("y")]).slice(1, 2);
    let parsed = parse_partition_column(&texts, PrimitiveType::Timestamp).unwrap();
    let expected = [Some(86_400_000_000), None];
    assert_eq!(parsed.as_primitive::<TimestampMicrosecondType>().iter().collect::<Vec<_>>(), expected);
    let parsed = parse_partition_column(&texts, PrimitiveType::String).unwrap();
    assert_eq!(parsed.as_string::<i32>().iter().collect::<Vec<_>>(), [Some("1970-01-02"), None]);
}

#[test]
fn parse_column_names_bad_value() {
    for primitive in [PrimitiveType::Long, PrimitiveType::Boolean, PrimitiveType::Void, PrimitiveType::Variant] {
        let error = column(&[None, Some("oops")], primitive).unwrap_err();
        assert_eq!(error.message(), format!("partition value \"oops\": is not of type {primitive}"));
    }
}

#[test]
fn a_scalar_of_another_type_is_refused() {
    let error = scalar_to_array(&Scalar::Long(1), PrimitiveType::Integer, 1).unwrap_err();
    assert_eq!(error.message(), "the value Long(1) is not of type integer");
    let decimal = Scalar::Decimal { unscaled: 1, scale: 1 };
    let error = scalar_to_array(&decimal, PrimitiveType::Decimal { precision: 3, scale: 2 }, 1).unwrap_err();
    assert_eq!(error.message(), "the value Decimal { unscaled: 1, scale: 1 } is not of type decimal(3,2)");
}

#[test]
fn repeat_too_large_value_is_refused() {
    let error = scalar_to_array(&Scalar::String("ab".to_owned()), PrimitiveType::String, 1 << 30).unwrap_err();
    assert_eq!(error.message(), "a value of 2 bytes cannot be repeated 1073741824 times in one array");
}

fn any_scalar() -> impl Strategy<Value = (Scalar, PrimitiveType)> {
    let decimal = (1..=38_u8).prop_flat_map(|precision| {
        let bound = 10_i128.pow(u32::from(precision)) - 1;
        (Just(precision), 0..=precision, -bound..=bound)
    });
    prop_oneof![
        "\\PC{1,12}".prop_map(|text| (Scalar::String(text), PrimitiveType::String)),
        "\\PC{1,12}".prop_map(|text| (Scalar::Binary(text.into_bytes()), PrimitiveType::Binary)),
        any::<i64>().prop_map(|value| (Scalar::Long(value), PrimitiveType::Long)),
        any::<i32>().prop_map(|value| (Scalar::Integer(value), PrimitiveType::Integer)),
        any::<i16>().prop_map(|value| (Scalar::Short(value), PrimitiveType::Short)),
        any::<i8>().prop_map(|value| (Scalar::Byte(value), PrimitiveType::Byte)),
        any::<f32>().prop_map(|value| (Scalar::Float(value), PrimitiveType::Float)),
        any::<f64>().prop_map(|value| (Scalar::Double(value), PrimitiveType::Double)),
        any::<bool>().prop_map(|value| (Scalar::Boolean(value), PrimitiveType::Boolean)),
        any::<i32>().prop_map(|value| (Scalar::Date(value), PrimitiveType::Date)),
        any::<i64>().prop_map(|value| (Scalar::Timestamp(value), PrimitiveType::Timestamp)),
        any::<i64>().prop_map(|value| (Scalar::TimestampNtz(value), PrimitiveType::TimestampNtz)),
        any::<i32>().prop_map(|value| (Scalar::YearMonthInterval(value), PrimitiveType::YearMonthInterval)),
        any::<i64>().prop_map(|value| (Scalar::DayTimeInterval(value), PrimitiveType::DayTimeInterval)),
        decimal.prop_map(|(precision, scale, unscaled)| (
            Scalar::Decimal { unscaled, scale },
            PrimitiveType::Decimal { precision, scale }
        )),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    // Debug output distinguishes -0.0 from 0.0, and NaN equals itself in it.
    #[test]
    fn print_then_parse_gives_same_scalar((scalar, primitive) in any_scalar()) {
        let text = scalar.to_partition().unwrap();
        let read = Scalar::parse_partition(text.as_deref(), primitive).unwrap();
        prop_assert_eq!(format!("{:?}", read), format!("{:?}", scalar));
    }

    #[test]
    fn a_column_says_what_its_scalars_say((scalar, primitive) in any_scalar()) {
        let text = scalar.to_partition().unwrap();
        let parsed = parse_partition_column(&StringArray::from(vec![text.as_deref(); 3]), primitive).unwrap();
        let repeated = scalar_to_array(&scalar, primitive, 3).unwrap();
        let (parsed_data, repeated_data) = (parsed.to_data(), repeated.to_data());
        prop_assert_eq!(parsed_data.buffers(), repeated_data.buffers());
        prop_assert_eq!(parsed.data_type(), repeated.data_type());
        prop_assert_eq!(repeated.null_count(), 0);
    }

    #[test]
    fn later_days_have_later_texts(a in -719_528..2_932_897, b in -719_528..2_932_897) {
        let text = |days| Scalar::Date(days).to_partition().unwrap();
        prop_assert_eq!(text(a).cmp(&text(b)), a.cmp(&b));
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,30}|[-+0-9:. TZE'a-z]{0,30}") {
        for primitive in EVERY_PRIMITIVE {
            let _ = parse(&text, primitive);
        }
    }
}
