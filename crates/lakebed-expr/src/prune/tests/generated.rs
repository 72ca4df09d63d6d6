//! Generated partition columns tell of the columns they are generated from.

use std::sync::Arc;

use arrow_array::{ArrayRef, Date32Array, Int32Array, StringArray, TimestampMicrosecondArray};
use lakebed_core::schema::PrimitiveType;
use lakebed_core::stats::StatKind;

use super::left;
use super::sample::{Sample, table};

const HOUR: i64 = 3_600_000_000;
const DAY: i64 = 24 * HOUR;
/// 2024-02-28 00:00.
const START: i64 = 19_781 * DAY;

fn times(values: &[i64]) -> ArrayRef {
    Arc::new(TimestampMicrosecondArray::from(values.to_vec()).with_timezone("UTC"))
}

/// Files of one time each, without statistics, partitioned by what is generated from it.
fn sample(columns: &[(&str, PrimitiveType, &str, Vec<ArrayRef>)], base: PrimitiveType, values: Vec<ArrayRef>) -> Sample {
    let mut fields = vec![("t", base)];
    fields.extend(columns.iter().map(|(name, data_type, _, _)| (*name, *data_type)));
    let partitions: Vec<&str> = columns.iter().map(|(name, ..)| *name).collect();
    let files = values.into_iter().enumerate().map(|(file, value)| {
        std::iter::once(value).chain(columns.iter().map(|(_, _, _, values)| values[file].clone())).collect()
    });
    let mut sample = Sample::new(table(&fields), &partitions, files.collect());
    for (name, _, expression, _) in columns {
        sample = sample.generating(name, expression);
    }
    sample.without = vec![StatKind::Min, StatKind::Max, StatKind::NullCount];
    sample
}

/// One file for each of five days, by wall-clock time or by instant.
fn days(base: PrimitiveType, expression: &str) -> Sample {
    let dates = (0..5).map(|day| Arc::new(Date32Array::from(vec![19_781 + day])) as ArrayRef).collect();
    let values = (0..5).map(|day| {
        let time = TimestampMicrosecondArray::from(vec![START + day * DAY + 5 * HOUR]);
        if base == PrimitiveType::Timestamp {
            Arc::new(time.with_timezone("UTC")) as ArrayRef
        } else {
            Arc::new(time) as ArrayRef
        }
    });
    sample(&[("day", PrimitiveType::Date, expression, dates)], base, values.collect())
}

#[test]
fn date_of_wall_clock_time_is_exact() {
    for expression in ["CAST(t AS DATE)", "to_date(t)", "date(T)", "`t`::DATE"] {
        let sample = days(PrimitiveType::TimestampNtz, expression);
        let check = |filter: &str, expected: &[usize]| assert_eq!(left(&sample, filter), expected, "{filter} of {expression}");
        check("t = '2024-02-29 05:00:00'", &[1]);
        check("t < '2024-02-29 00:00:00'", &[0]);
        check("t <= '2024-02-29 00:00:00'", &[0, 1]);
        check("t > '2024-03-01 23:59:59.999999'", &[3, 4]);
        check("t BETWEEN '2024-02-29' AND '2024-03-01'", &[1, 2]);
        check("CAST(t AS DATE) = '2024-02-29'", &[1]);
        check("t IN (TIMESTAMP_NTZ '2024-02-28 01:00:00', TIMESTAMP_NTZ '2024-03-03 01:00:00')", &[0, 4]);
        check("year(t) = 2025", &[]);
        check("t = '2024-02-29 05:00:00' OR t > '2024-03-03'", &[1, 4]);
        check("NOT t < '2024-03-02'", &[3, 4]);
        check("t IS NULL", &[0, 1, 2, 3, 4]);
        check("t IS NOT NULL", &[0, 1, 2, 3, 4]);
        check("t > '2024-02-29' AND day < '2024-03-01'", &[1]);
    }
}

#[test]
fn date_of_instant_allows_any_zone() {
    let sample = days(PrimitiveType::Timestamp, "CAST(t AS DATE)");
    let check = |filter: &str, expected: &[usize]| assert_eq!(left(&sample, filter), expected, "{filter}");
    check("t = '2024-03-01 05:00:00'", &[1, 2]);
    check("t = '2024-03-01 12:00:00'", &[1, 2, 3]);
    check("t < '2024-02-28 00:00:00'", &[0]);
    check("t > '2024-03-03 12:00:00'", &[3, 4]);
    check("t > '2024-03-10'", &[]);
}

#[test]
fn null_partition_values_tell_nothing() {
    let dates: Vec<ArrayRef> =
        [Some(19_781), None].into_iter().map(|day| Arc::new(Date32Array::from(vec![day])) as ArrayRef).collect();
    let null = Arc::new(TimestampMicrosecondArray::from(vec![None::<i64>]).with_timezone("UTC")) as ArrayRef;
    let sample =
        sample(&[("day", PrimitiveType::Date, "CAST(t AS DATE)", dates)], PrimitiveType::Timestamp, vec![times(&[START]), null]);
    assert_eq!(left(&sample, "t > '2030-01-01'"), [1]);
    assert_eq!(left(&sample, "t IS NULL"), [0, 1]);
    assert_eq!(left(&sample, "t <=> NULL"), [0, 1]);
}

#[test]
fn years_months_days_and_hours_work_together() {
    let part = |values: [Option<i32>; 4]| values.map(|value| Arc::new(Int32Array::from(vec![value])) as ArrayRef).to_vec();
    let wall = |hours: i64| Arc::new(TimestampMicrosecondArray::from(vec![START + hours * HOUR])) as ArrayRef;
    let columns = [
        ("y", PrimitiveType::Integer, "YEAR(t)", part([Some(2024), Some(2024), Some(2024), Some(2025)])),
        ("m", PrimitiveType::Integer, "MONTH(t)", part([Some(2), Some(2), Some(3), Some(1)])),
        ("d", PrimitiveType::Integer, "DAY(t)", part([Some(28), Some(29), Some(1), None])),
        ("h", PrimitiveType::Integer, "HOUR(t)", part([Some(0), Some(23), Some(12), Some(5)])),
    ];
    let values = || vec![wall(0), wall(47), wall(60), wall(24 * 320)];
    let all = sample(&columns, PrimitiveType::TimestampNtz, values());
    let check = |sample: &Sample, filter: &str, expected: &[usize]| assert_eq!(left(sample, filter), expected, "{filter}");
    check(&all, "t < '2024-02-28 01:00:00'", &[0]);
    check(&all, "t >= '2024-02-28 01:00:00'", &[1, 2, 3]);
    check(&all, "t = '2024-02-29 23:30:00'", &[1]);
    check(&all, "t = '2025-01-20 00:00:00'", &[3]);
    check(&all, "date_trunc('MONTH', t) = '2024-03-01'", &[2]);
    let years = sample(&columns[..1], PrimitiveType::TimestampNtz, values());
    check(&years, "t < '2024-02-28 01:00:00'", &[0, 1, 2]);
    check(&years, "t > '2025-06-01'", &[3]);
    let months = sample(&columns[..2], PrimitiveType::TimestampNtz, values());
    check(&months, "t >= '2024-03-05'", &[2, 3]);
    // A month without its year is of no order.
    let month = sample(&columns[1..2], PrimitiveType::TimestampNtz, values());
    check(&month, "t >= '2030-03-05'", &[0, 1, 2, 3]);
}

#[test]
fn text_and_truncated_times_are_read_back() {
    let text = |values: [&str; 3]| values.map(|value| Arc::new(StringArray::from(vec![value])) as ArrayRef).to_vec();
    let wall = |hours: i64| Arc::new(TimestampMicrosecondArray::from(vec![START + hours * HOUR])) as ArrayRef;
    let values = || vec![wall(0), wall(30), wall(72)];
    let check = |data_type: PrimitiveType, expression: &str, partition: Vec<ArrayRef>, filter: &str, expected: &[usize]| {
        let sample = sample(&[("p", data_type, expression, partition)], PrimitiveType::TimestampNtz, values());
        assert_eq!(left(&sample, filter), expected, "{filter} of {expression}");
    };
    let months = || text(["2024-02", "2024-02", "2024-03"]);
    let string = PrimitiveType::String;
    check(string, "date_format(t, 'yyyy-MM')", months(), "t >= '2024-03-01'", &[2]);
    check(string, "DATE_FORMAT(t, 'yyyy-MM')", months(), "t < '2024-02-10'", &[0, 1]);
    let hours = || text(["2024-02-28-00", "2024-02-29-06", "2024-03-02-00"]);
    check(string, "date_format(t, 'yyyy-MM-dd-HH')", hours(), "t BETWEEN '2024-02-29 06:30' AND '2024-02-29 06:31'", &[1]);
    check(string, "date_format(t, 'MM-yyyy')", months(), "t >= '2030-03-01'", &[0, 1, 2]);
    check(string, "date_format(t, 'yyyy-MM')", text(["+12024-02", "bogus", "2024-03"]), "t >= '2030-03-01'", &[0, 1]);
    let ntz = PrimitiveType::TimestampNtz;
    let cut = || vec![wall(0), wall(30), wall(72)];
    check(ntz, "date_trunc('HOUR', t)", cut(), "t < '2024-02-29 06:00:00'", &[0]);
    check(ntz, "date_trunc('HOUR', t)", cut(), "t > '2024-02-29 06:30:00'", &[1, 2]);
    check(ntz, "t", cut(), "t > '2024-02-29 06:00:00'", &[2]);
}

#[test]
fn beginnings_of_text_bound_the_text() {
    let text = |values: [&str; 4]| values.map(|value| Arc::new(StringArray::from(vec![value])) as ArrayRef).to_vec();
    for expression in ["SUBSTRING(t, 0, 2)", "substring(t, 1, 2)", "left(t, 2)"] {
        let columns = [("p", PrimitiveType::String, expression, text(["ab", "b", "ba", "z\u{10ffff}"]))];
        let sample = sample(&columns, PrimitiveType::String, text(["abc", "b", "bazaar", "z\u{10ffff}\u{10ffff}"]));
        let check = |filter: &str, expected: &[usize]| assert_eq!(left(&sample, filter), expected, "{filter} of {expression}");
        check("t = 'abc'", &[0]);
        check("t > 'b'", &[2, 3]);
        check("t >= 'b' AND t < 'c'", &[1, 2]);
        check("t LIKE 'ab%'", &[0]);
        check("t > 'z\u{10ffff}a'", &[3]);
    }
    let columns = [("p", PrimitiveType::String, "SUBSTRING(t, 2, 2)", text(["bc", "", "az", "z"]))];
    let sample = sample(&columns, PrimitiveType::String, text(["abc", "b", "bazaar", "zz"]));
    assert_eq!(left(&sample, "t = 'zzz'"), [0, 1, 2, 3]);
}
