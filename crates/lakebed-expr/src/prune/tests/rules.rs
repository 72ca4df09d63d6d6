//! Which files of hand-made tables are left.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int32Array, StringArray, StructArray,
    TimestampMicrosecondArray, UInt64Array, new_empty_array,
};
use arrow_schema::{DataType as ArrowType, Field, Fields};
use lakebed_core::ErrorKind;
use lakebed_core::schema::{PrimitiveType, StructField, StructType};
use lakebed_core::stats::StatKind;

use super::left;
use super::sample::{Sample, table};
use crate::prune::conjunct::SkippedBy;
use crate::prune::pruner::{ConjunctCounts, FileFacts};

fn ints(values: &[Option<i32>]) -> ArrayRef {
    Arc::new(Int32Array::from(values.to_vec()))
}

/// Files with x in 1..=10, 11..=20, 21..=30 with a null, only null, and always 15.
fn numbers() -> Sample {
    let file = |values: &[Option<i32>]| vec![ints(values)];
    Sample::new(
        table(&[("x", PrimitiveType::Integer)]),
        &[],
        vec![
            file(&[Some(1), Some(10)]),
            file(&[Some(11), Some(20)]),
            file(&[Some(21), None, Some(30)]),
            file(&[None, None]),
            file(&[Some(15), Some(15)]),
        ],
    )
}

#[test]
fn comparisons_with_bounds_and_null_counts() {
    let sample = numbers();
    let check = |filter: &str, expected: &[usize]| assert_eq!(left(&sample, filter), expected, "{filter}");
    check("x = 15", &[1, 4]);
    check("x <> 15", &[0, 1, 2]);
    check("NOT x = 15", &[0, 1, 2]);
    check("x < 11", &[0]);
    check("x <= 11", &[0, 1]);
    check("x > 20", &[2]);
    check("x >= 20", &[1, 2]);
    check("20 > x", &[0, 1, 4]);
    check("NOT x > 20", &[0, 1, 4]);
    check("x BETWEEN 12 AND 14", &[1]);
    check("x NOT BETWEEN 11 AND 30", &[0]);
    check("x IS NULL", &[2, 3]);
    check("x IS NOT NULL", &[0, 1, 2, 4]);
    check("x <=> NULL", &[2, 3]);
    check("x <=> 15", &[1, 4]);
    check("NOT x <=> 15", &[0, 1, 2, 3]);
    check("x IN (5, 25)", &[0, 2]);
    check("x IN (5, NULL)", &[0]);
    check("x NOT IN (15, 16)", &[0, 1, 2]);
    check("x NOT IN (15, NULL)", &[]);
    check("x IN (100, 101, 102, 103, 104, 105, 106, 107, 108, 12)", &[1]);
    check("x = 5 OR x = 25", &[0, 2]);
    check("x = 5 OR x IS NULL", &[0, 2, 3]);
    check("NOT (x < 11 OR x > 20)", &[1, 4]);
    check("NOT (x > 10 AND x < 21)", &[0, 2]);
    check("x > 5 AND x < 3", &[0]);
    check("x = NULL", &[]);
    check("false", &[]);
    check("true", &[0, 1, 2, 3, 4]);
    check("x > 20 IS TRUE", &[2]);
    check("x > 20 IS NOT TRUE", &[0, 1, 2, 3, 4]);
    check("x > 20 IS NULL", &[2, 3]);
    check("x > 25.5", &[2]);
    check("x = 15.5", &[1]);
    check("x > 9999999999", &[]);
    check("x + 1 > 30", &[2]);
    check("10 - x > 0", &[0]);
    check("x + 2147483647 < 0", &[0, 1, 2, 4]);
    check("double(x) > 20.5D", &[2]);
    check("CAST(x AS TINYINT) < 11", &[0]);
    check("coalesce(x, 0) = 15", &[1, 2, 4]);
    check("abs(x) > 100", &[]);
    check("CASE WHEN x > 20 THEN true ELSE false END", &[2]);
    check("IF(x > 20, x < 5, x < 3)", &[0]);
}

#[test]
fn missing_statistics_keep_a_file() {
    let with_without = |without: &[StatKind], filter: &str| {
        let mut sample = numbers();
        sample.without = without.to_vec();
        left(&sample, filter)
    };
    assert_eq!(with_without(&[StatKind::Max], "x > 20"), [0, 1, 2, 4]);
    assert_eq!(with_without(&[StatKind::Min], "x < 11"), [0, 1, 2, 4]);
    assert_eq!(with_without(&[StatKind::Min], "x = 25"), [2]);
    assert_eq!(with_without(&[StatKind::NullCount], "x > 20"), [2, 3]);
    assert_eq!(with_without(&[StatKind::NumRecords], "x > 20"), [2, 3]);
    assert_eq!(with_without(&[StatKind::NullCount], "x IS NULL"), [0, 1, 2, 3, 4]);
    assert_eq!(with_without(&[StatKind::Min, StatKind::Max, StatKind::NullCount], "x = 5"), [0, 1, 2, 3, 4]);
}

#[test]
fn pruner_asks_only_for_needed_statistics() {
    let sample = numbers();
    let wanted = |filter: &str| sample.pruner(filter).statistics().iter().map(|column| column.kind).collect::<Vec<_>>();
    assert_eq!(wanted("x < 5"), [StatKind::Min, StatKind::Max, StatKind::NullCount, StatKind::NumRecords]);
    assert_eq!(wanted("x IS NULL"), [StatKind::NullCount]);
    assert_eq!(wanted("abs(x) % 2 = 1 OR true"), []);
}

/// Files with x in 1 and 2, 5 and NaN, always 7, a zero of each sign, and NaN.
fn doubles() -> Sample {
    let file = |values: &[f64]| vec![Arc::new(Float64Array::from(values.to_vec())) as ArrayRef];
    Sample::new(
        table(&[("x", PrimitiveType::Double)]),
        &[],
        vec![file(&[1.0, 2.0]), file(&[5.0, f64::NAN]), file(&[7.0, 7.0]), file(&[-0.0]), file(&[0.0]), file(&[f64::NAN])],
    )
}

#[test]
fn prune_trusts_maximum_that_covers_nan() {
    let mut sample = doubles();
    sample.complete = true;
    let check = |filter: &str, expected: &[usize]| assert_eq!(left(&sample, filter), expected, "{filter}");
    // The files of NaN have no maximum.
    check("x > 6", &[1, 2, 5]);
    check("x >= 7", &[1, 2, 5]);
    check("x > 7", &[1, 5]);
    check("NOT x < 6", &[1, 2, 5]);
    check("x <> 7", &[0, 1, 3, 4, 5]);
    check("x NOT IN (7)", &[0, 1, 3, 4, 5]);
    check("x = double('NaN')", &[1, 5]);
    check("x >= double('NaN')", &[1, 5]);
    check("x > double('NaN')", &[1, 5]);
    check("x > 6 AND (x < 100 OR x = 3)", &[1, 2, 5]);
    check("x < 1.5", &[0, 3, 4, 5]);
    check("x = 6", &[1, 5]);
    check("x <=> double('NaN')", &[1, 5]);
    check("x = x", &[0, 1, 2, 3, 4, 5]);
    check("x < x", &[0, 1, 5]);
    // Of arithmetic and of functions, too.
    check("x + 1 > 7", &[1, 2, 5]);
    check("-x < -6", &[1, 2, 5]);
    check("-x > 0.5", &[1, 5]);
    check("x * 1e308 > 0 AND x > 6", &[1, 2, 5]);
    check("float(x) > 6", &[1, 2, 5]);
}

#[test]
fn floats_may_hide_nan_above_their_maximum() {
    let sample = doubles();
    let check = |filter: &str, expected: &[usize]| assert_eq!(left(&sample, filter), expected, "{filter}");
    // Any file may hold NaN, which is above all and different from all.
    check("x > 6", &[0, 1, 2, 3, 4, 5]);
    check("x >= 6", &[0, 1, 2, 3, 4, 5]);
    check("x <> 7", &[0, 1, 2, 3, 4, 5]);
    check("x NOT IN (7)", &[0, 1, 2, 3, 4, 5]);
    check("NOT x < 6", &[0, 1, 2, 3, 4, 5]);
    check("x = double('NaN')", &[0, 1, 2, 3, 4, 5]);
    // NaN is not below anything and equals no number, so bounds count.
    check("x < 1.5", &[0, 3, 4, 5]);
    check("x <= 1", &[0, 3, 4, 5]);
    check("x = 6", &[5]);
    check("x = 5", &[1, 5]);
    check("x IN (2, 7)", &[0, 2, 5]);
    check("x IN (1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 7.0)", &[0, 2, 5]);
    // A condition beside it excludes NaN.
    check("x > 6 AND x < 100", &[2, 5]);
    check("x BETWEEN 6 AND 8", &[2, 5]);
    check("NOT (x <= 6 OR x > 100)", &[2, 5]);
    check("x > 6 AND (x < 100 OR x = 3)", &[0, 1, 2, 3, 4, 5]);
    // Zeros of both signs are equal.
    check("x = 0", &[3, 4, 5]);
    check("x = -0.0D", &[3, 4, 5]);
    check("x < 0", &[5]);
    check("x <= -0.0D", &[3, 4, 5]);
    check("x IN (0D, 9D)", &[3, 4, 5]);
    check("x > 0 AND x < 1", &[5]);
}

#[test]
fn prune_compares_truncated_text_by_bytes() {
    let file = |values: &[&str]| vec![Arc::new(StringArray::from(values.to_vec())) as ArrayRef];
    let mut sample = Sample::new(
        table(&[("s", PrimitiveType::String)]),
        &[],
        vec![
            file(&["aardvark", "abyss"]),
            file(&["abc", "abcdefgh"]),
            file(&["b", "c"]),
            file(&["\u{ffff}", "😀"]),
            file(&["abc"]),
        ],
    );
    let check = |sample: &Sample, filter: &str, expected: &[usize]| assert_eq!(left(sample, filter), expected, "{filter}");
    for prefix in [32, 3] {
        sample.prefix = prefix;
        check(&sample, "s LIKE 'abc%'", &[0, 1, 4]);
        check(&sample, "s LIKE 'b%'", &[2]);
        check(&sample, "s LIKE 'b_'", &[2]);
        check(&sample, "s LIKE 'abc'", &[0, 1, 4]);
        check(&sample, "s NOT LIKE 'abc%'", &[0, 2, 3]);
        check(&sample, "s NOT LIKE 'abc'", &[0, 1, 2, 3]);
        check(&sample, "s LIKE '%c'", &[0, 1, 2, 3, 4]);
        check(&sample, "s ILIKE 'B%'", &[0, 1, 2, 3]);
        check(&sample, "startswith(s, 'b')", &[2]);
        check(&sample, "NOT startswith(s, 'ab')", &[0, 2, 3]);
        check(&sample, "s RLIKE '^b.*'", &[2]);
        check(&sample, "s RLIKE '^bx*'", &[2]);
        check(&sample, "s RLIKE '^b|^a'", &[0, 1, 2, 3, 4]);
        check(&sample, "s RLIKE 'b'", &[0, 1, 2, 3, 4]);
        check(&sample, "substring(s, 1, 2) = 'ab'", &[0, 1, 4]);
        check(&sample, "left(s, 1) > 'b'", &[2, 3]);
        check(&sample, "s > '\u{ffff}'", &[3]);
        check(&sample, "s >= 'abcdef'", &[0, 1, 2, 3]);
        check(&sample, "upper(s) = 'B'", &[0, 1, 2, 3]);
        check(&sample, "s > 5", &[0, 1, 2, 3, 4]);
    }
    check(&sample, "s LIKE 'a\\\\_c'", &[]);
}

/// Files of the days 2023-12-30 and 31, 2024-02-28 to March 1, and 9999.
fn times() -> Sample {
    let day = 86_400_000_000i64;
    let file = |first: i64, last: i64| {
        let days = Date32Array::from(vec![first as i32, last as i32]);
        let times = TimestampMicrosecondArray::from(vec![first * day + 1, last * day + day - 1]);
        vec![Arc::new(days) as ArrayRef, Arc::new(times.clone().with_timezone("UTC")) as ArrayRef, Arc::new(times) as ArrayRef]
    };
    Sample::new(
        table(&[("d", PrimitiveType::Date), ("t", PrimitiveType::Timestamp), ("n", PrimitiveType::TimestampNtz)]),
        &[],
        vec![file(19_721, 19_722), file(19_781, 19_783), file(2_932_890, 2_932_896)],
    )
}

#[test]
fn prune_sees_through_monotonic_time_functions() {
    let sample = times();
    let check = |filter: &str, expected: &[usize]| assert_eq!(left(&sample, filter), expected, "{filter}");
    for column in ["d", "t", "n"] {
        let check = |filter: &str, expected: &[usize]| check(&filter.replace("{}", column), expected);
        check("{} > '2024-01-01'", &[1, 2]);
        check("{} = DATE '2023-12-31'", &[0]);
        check("CAST({} AS DATE) = DATE '2024-02-29'", &[1]);
        check("date({}) = '2024-02-27'", &[]);
        check("to_date({}) < DATE '2024-01-01'", &[0]);
        check("year({}) = 2024", &[1]);
        check("year({}) IN (2023, 2025)", &[0]);
        check("date_trunc('MONTH', {}) = '2024-02-01'", &[1]);
        check("trunc({}, 'YEAR') >= '2024-01-01'", &[1, 2]);
        check("last_day({}) = '2024-02-29'", &[1]);
        check("date_format({}, 'yyyy-MM') = '2024-03'", &[1]);
        check("date_format({}, 'yyyyMMdd') >= '20240101'", &[1, 2]);
        check("date_format({}, 'MM-dd') = '12-30'", &[0, 1, 2]);
        check("month({}) = 12", &[0, 2]);
        check("quarter({}) = 4", &[0, 2]);
        check("day({}) = 15", &[1]);
        check("dayofyear({}) = 60", &[1]);
        check("weekday({}) = 6", &[0, 2]);
        check("dayofweek({}) = 2", &[0, 2]);
        check("add_months({}, 1) < DATE '2024-02-10'", &[0]);
        check("{} + INTERVAL 1 DAY < '2024-01-01'", &[0]);
        check("{} >= '2024-03-01' AND {} - INTERVAL 1 DAY < '2024-03-01'", &[1]);
        check("extract(YEAR FROM {}) > 2024", &[2]);
        check("date_add({}, 10) < '2024-02-01'", &[0]);
        check("datediff({}, DATE '2024-01-01') > 1", &[1, 2]);
        check("weekofyear({}) = 9", &[1]);
    }
    check("d > TIMESTAMP '2024-02-28 12:00:00'", &[1, 2]);
    check("t > n", &[0, 1, 2]);
    check("unix_timestamp(t) < 1704067200", &[0]);
    check("unix_micros(t) < 1704067200000000", &[0]);
    check("CAST(t AS BIGINT) < 1704067200", &[0]);
    check("hour(t) = 0", &[0, 1, 2]);
    check("string(d) = '2024-02-29'", &[0, 1, 2]);
}

#[test]
fn prune_keeps_files_with_long_year_texts() {
    let file = |days: &[i32]| vec![Arc::new(Date32Array::from(days.to_vec())) as ArrayRef];
    let sample = Sample::new(table(&[("d", PrimitiveType::Date)]), &[], vec![file(&[19_782, 3_000_000]), file(&[19_782])]);
    assert_eq!(left(&sample, "date_format(d, 'yyyy-MM') = '2024-02'"), [0, 1]);
    assert_eq!(left(&sample, "date_format(d, 'yyyy-MM') > '2025'"), [0]);
    // Dates that no timestamp can hold are not lost, and not mistaken for others.
    let far =
        Sample::new(table(&[("d", PrimitiveType::Date)]), &[], vec![file(&[i32::MIN, i32::MIN]), file(&[i32::MAX]), file(&[0])]);
    assert_eq!(left(&far, "d < TIMESTAMP '2024-01-01'"), [0, 1, 2]);
    assert_eq!(left(&far, "d > TIMESTAMP '2024-01-01'"), [0, 1]);
    assert_eq!(left(&far, "year(d) > 5000000"), [1]);
}

#[test]
fn decimals_are_compared_exactly() {
    let file = |values: &[i128]| {
        let values = Decimal128Array::from(values.to_vec()).with_precision_and_scale(38, 2).unwrap();
        vec![Arc::new(values) as ArrayRef]
    };
    let nines = 99_999_999_999_999_999_999_999_999_999_999_999_999i128;
    let sample = Sample::new(
        table(&[("x", PrimitiveType::Decimal { precision: 38, scale: 2 })]),
        &[],
        vec![file(&[101, 250]), file(&[-nines, 0]), file(&[nines - 1, nines])],
    );
    let check = |filter: &str, expected: &[usize]| assert_eq!(left(&sample, filter), expected, "{filter}");
    check("x = 2.5", &[0]);
    check("x < 1.001", &[1]);
    check("x > 2.505", &[2]);
    check("x >= 999999999999999999999999999999999999.99", &[2]);
    check("x > 999999999999999999999999999999999999.98", &[2]);
    check("floor(x) = 2", &[0]);
    check("x > 0.0000000000000000000000000000000000001", &[0, 2]);
}

#[test]
fn columns_are_compared_with_columns() {
    let file = |a: &[i32], b: &[i32]| {
        vec![Arc::new(Int32Array::from(a.to_vec())) as ArrayRef, Arc::new(Int32Array::from(b.to_vec())) as ArrayRef]
    };
    let fields = [("a", PrimitiveType::Integer), ("b", PrimitiveType::Integer)];
    let sample = Sample::new(table(&fields), &[], vec![file(&[1, 2], &[3, 4]), file(&[3, 5], &[4, 4]), file(&[9, 9], &[9, 9])]);
    let check = |filter: &str, expected: &[usize]| assert_eq!(left(&sample, filter), expected, "{filter}");
    check("a > b", &[1]);
    check("a = b", &[1, 2]);
    check("a <> b", &[0, 1]);
    check("a >= b", &[1, 2]);
    check("a + b < 7", &[0]);
    check("a - b > 0", &[1]);
    check("a <=> b", &[1, 2]);
    check("a IN (b, 3)", &[1, 2]);
    check("a IN (coalesce(b, 0), 100)", &[1, 2]);
}

#[test]
fn prune_uses_null_counts_of_booleans_bytes() {
    let file = |values: &[Option<bool>]| vec![Arc::new(BooleanArray::from(values.to_vec())) as ArrayRef];
    let sample = Sample::new(
        table(&[("b", PrimitiveType::Boolean)]),
        &[],
        vec![file(&[Some(true)]), file(&[Some(false)]), file(&[None]), file(&[Some(true), None])],
    );
    let check = |filter: &str, expected: &[usize]| assert_eq!(left(&sample, filter), expected, "{filter}");
    check("b", &[0, 1, 3]);
    check("NOT b", &[0, 1, 3]);
    check("b = true", &[0, 1, 3]);
    check("b IS NULL", &[2, 3]);
    check("b IS NOT TRUE", &[0, 1, 2, 3]);
    check("b IS FALSE", &[0, 1, 3]);
}

#[test]
fn prune_uses_statistics_of_struct_fields() {
    let inner = StructType { fields: vec![StructField::new("a", PrimitiveType::Integer, true)] };
    let outer = StructType { fields: vec![StructField::new("s", inner, true)] };
    let fields = Fields::from(vec![Field::new("a", ArrowType::Int32, true)]);
    let file = |values: &[Option<i32>], present: &[bool]| -> Vec<ArrayRef> {
        vec![Arc::new(StructArray::new(fields.clone(), vec![ints(values)], Some(present.to_vec().into())))]
    };
    let files = vec![
        file(&[Some(1), Some(5)], &[true, true]),
        file(&[Some(10), Some(50)], &[true, false]),
        file(&[None, None], &[true, false]),
    ];
    let mut sample = Sample::new(outer, &[], files);
    sample.complete = true;
    let check = |filter: &str, expected: &[usize]| assert_eq!(left(&sample, filter), expected, "{filter}");
    check("s.a = 10", &[1]);
    check("S.A > 20", &[]);
    check("s.a IS NOT NULL", &[0, 1]);
    check("s.a IS NULL", &[1, 2]);
    check("s.a <=> NULL", &[1, 2]);
    check("s IS NULL", &[1, 2]);
    // Not all writers count the fields of null structs.
    sample.complete = false;
    let check = |filter: &str, expected: &[usize]| assert_eq!(left(&sample, filter), expected, "{filter}");
    check("s.a = 10", &[1, 2]);
    check("s.a IS NOT NULL", &[0, 1, 2]);
    check("s.a IS NULL", &[0, 1, 2]);
    assert_eq!(sample.pruner("s.a = 10").statistics()[0].path, ["s", "a"]);
}

/// Files of p = 1, 2, null, with x in 1..=10, 11..=20, 21..=30.
fn partitioned() -> Sample {
    let file = |p: Option<i32>, low: i32| vec![ints(&[p, p]), ints(&[Some(low), Some(low + 9)])];
    let fields = [("p", PrimitiveType::Integer), ("x", PrimitiveType::Integer)];
    Sample::new(table(&fields), &["p"], vec![file(Some(1), 1), file(Some(2), 11), file(None, 21)])
}

#[test]
fn partition_values_are_facts() {
    let sample = partitioned();
    let check = |filter: &str, expected: &[usize]| assert_eq!(left(&sample, filter), expected, "{filter}");
    check("p = 1", &[0]);
    check("p <> 1", &[1]);
    check("p IS NULL", &[2]);
    check("p IS NOT NULL", &[0, 1]);
    check("p <=> NULL", &[2]);
    check("NOT p <=> 1", &[1, 2]);
    check("p IN (2, 3)", &[1]);
    check("abs(p) % 2 = 1", &[0]);
    check("coalesce(p, 2) = 2", &[1, 2]);
    check("p = 1 OR x > 20", &[0, 2]);
    check("p = 1 AND x > 20", &[]);
    check("NOT (p = 1 AND x < 20)", &[1, 2]);
    check("NOT (p = 1 OR x < 15)", &[1]);
    check("p = x", &[0]);
    check("p > x", &[]);
    check("x - p > 9", &[1]);
}

#[test]
fn failing_partition_condition_fails_scan_or_waits() {
    let sample = partitioned();
    // Nobody looks at the rows of a filter on partition columns alone.
    let pruner = sample.pruner("10 / (p - 1) > 0");
    let partitions = sample.partition_values(&pruner);
    let error = pruner.prune(&FileFacts { files: 3, partitions: &partitions, stats: &[], guaranteed: &[] }).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Predicate, "{error}");
    assert_eq!(left(&sample, "10 / (p - 1) > 0 AND x % 7 = 1"), [0, 1]);
    // A file that an earlier condition rules out cannot fail a later one.
    assert_eq!(left(&sample, "p <> 1 AND 10 / (p - 1) > 5"), [1]);
    assert_eq!(left(&sample, "p <> 1 AND 10 / (p - 1) > 100"), [0; 0]);
}

#[test]
fn prune_counts_skipped_files_by_conjunct() {
    let sample = partitioned();
    let result = sample.prune("p = 1 AND x > 5 AND abs(x) % 2 = 0 AND x < 0");
    assert_eq!((result.by_partition, result.by_stats), (2, 1));
    let counts = |by_partition, by_stats| ConjunctCounts { by_partition, by_stats, undecided: 0 };
    assert_eq!(result.by_conjunct, [counts(2, 0), counts(0, 0), counts(0, 0), counts(0, 1)]);
    let pruner = sample.pruner("p = 1 AND x > 5 AND size(array(x)) = 1 AND (p = 2 OR x = 3)");
    let used: Vec<(&str, SkippedBy)> = pruner.conjuncts().map(|(text, used)| (text, used.clone())).collect();
    let of_x = || SkippedBy::Statistics { names: vec!["x".into()], asks_of_nan: false };
    assert_eq!(used[0], ("p = 1", SkippedBy::Partitions(vec!["p".into()])));
    assert_eq!(used[1], ("x > 5", of_x()));
    assert_eq!(used[2], ("size(array(x)) = 1", of_x()));
    assert_eq!(used[3], ("p = 2 OR x = 3", of_x()));
    assert!(!pruner.is_exact_on_partitions());
    let of_floats = Sample::new(table(&[("d", PrimitiveType::Double)]), &[], vec![]);
    let floats = of_floats.pruner("size(array(d)) = 1 AND d > 5");
    let used: Vec<&SkippedBy> = floats.conjuncts().map(|(_, used)| used).collect();
    assert!(matches!(used[0], SkippedBy::Nothing(reason) if reason.contains("size")), "{used:?}");
    assert_eq!(used[1], &SkippedBy::Statistics { names: vec!["d".into()], asks_of_nan: true });
    assert!(sample.pruner("p = 1 AND p < 5").is_exact_on_partitions());
    assert!(sample.pruner("true").is_exact_on_partitions());
    assert!(!sample.pruner("NULL").is_exact_on_partitions() || left(&sample, "NULL").is_empty());
}

#[test]
fn prune_counts_files_without_statistics_as_undecided() {
    let mut sample = numbers();
    let undecided = |sample: &Sample, filter: &str| {
        let result = sample.prune(filter);
        let counts = result.by_conjunct.iter().map(|counts| (counts.by_stats, counts.undecided));
        (result.keep.true_count(), counts.collect::<Vec<_>>())
    };
    assert_eq!(undecided(&sample, "x > 12 AND x < 18"), (2, vec![(2, 0), (1, 0)]));
    sample.without = vec![StatKind::Max];
    // The file of nulls is still known to hold no match.
    assert_eq!(undecided(&sample, "x > 12 AND x < 18"), (3, vec![(1, 3), (1, 0)]));
}

#[test]
fn prune_in_two_phases_equals_one() {
    let sample = partitioned();
    let pruner = sample.pruner("(p = 1 OR x > 20) AND x < 100 AND p IS NOT NULL");
    let partitions = sample.partition_values(&pruner);
    let first = pruner.prune_partitions(3, &partitions).unwrap();
    assert_eq!(first, BooleanArray::from(vec![true, true, false]));
    let kept = UInt64Array::from(vec![0, 1]);
    let take = |array: &ArrayRef| arrow_select::take::take(array, &kept, None).unwrap();
    let partitions: Vec<ArrayRef> = partitions.iter().map(take).collect();
    let stats: Vec<ArrayRef> = sample.stats(pruner.statistics()).iter().map(take).collect();
    let known = super::super::FileFacts { files: 2, partitions: &partitions, stats: &stats, guaranteed: &[] };
    assert_eq!(pruner.prune_stats(&known).unwrap(), BooleanArray::from(vec![true, false]));
}

/// Files with c, CHAR(4), stored as "ab" alone, as "ab" to "b", as "a" to "a\t\t", and as "abcd" alone.
fn chars() -> Sample {
    let file = |values: &[&str]| vec![Arc::new(StringArray::from(values.to_vec())) as ArrayRef];
    let stored = [&["ab"][..], &["ab", "b"], &["a", "a\t\t"], &["abcd"]];
    Sample::new(table(&[("c", PrimitiveType::Char { length: 4 })]), &[], stored.map(file).into())
}

#[test]
fn prune_pads_statistics_of_char_columns() {
    let sample = chars();
    let check = |filter: &str, expected: &[usize]| assert_eq!(left(&sample, filter), expected, "{filter}");
    check("c = 'ab'", &[0, 1]);
    check("c = 'b'", &[1]);
    // "a" in the third file is above its upper bound when padded.
    check("c = 'a'", &[2]);
    check("c > 'a\\t\\t'", &[0, 1, 2, 3]);
    check("c >= 'abcd'", &[1, 3]);
    check("c < 'ab'", &[0, 1, 2]);
    check("c LIKE 'ab  '", &[0, 1]);
    check("c LIKE 'abc%'", &[1, 3]);
    check("c IN ('b', 'zz')", &[1]);
    check("c <> 'abcd'", &[0, 1, 2]);
    check("c <> 'ab'", &[0, 1, 2, 3]);
    check("length(c) = 4", &[0, 1, 2, 3]);
    check("length(c) = 5", &[0, 1, 2]);
    check("upper(c) = 'ABCD'", &[0, 1, 2, 3]);
}

/// Files of one text and number, of none, of many, and of one with a null.
fn constants() -> Sample {
    let file = |texts: &[Option<&str>], numbers: &[Option<i32>]| {
        vec![Arc::new(StringArray::from(texts.to_vec())) as ArrayRef, ints(numbers)]
    };
    Sample::new(
        table(&[("s", PrimitiveType::String), ("x", PrimitiveType::Integer)]),
        &[],
        vec![
            file(&[Some("c3"), Some("c3")], &[Some(5), Some(5)]),
            file(&[None, None], &[None, None]),
            file(&[Some("a"), Some("z")], &[Some(1), Some(9)]),
            file(&[Some("c3"), None], &[Some(5), None]),
        ],
    )
}

#[test]
fn prune_computes_conditions_on_constant_columns() {
    let mut sample = constants();
    let check = |sample: &Sample, filter: &str, expected: &[usize]| assert_eq!(left(sample, filter), expected, "{filter}");
    check(&sample, "upper(s) = 'C3'", &[0, 2, 3]);
    check(&sample, "upper(s) = 'C4'", &[2, 3]);
    check(&sample, "concat(s, 'x') = 'c3x'", &[0, 2, 3]);
    check(&sample, "s || x = 'c36'", &[2, 3]);
    check(&sample, "concat_ws('-', s, 'x') = 'x'", &[1, 2, 3]);
    check(&sample, "coalesce(s, 'none') = 'none'", &[1, 2, 3]);
    check(&sample, "s LIKE '%4'", &[2, 3]);
    check(&sample, "s NOT LIKE '%3'", &[2, 3]);
    check(&sample, "s RLIKE '[0-9]x'", &[2, 3]);
    check(&sample, "x * x = 25", &[0, 2, 3]);
    check(&sample, "x * x = 24", &[2, 3]);
    check(&sample, "x * x = 24 OR upper(s) = 'C3'", &[0, 2, 3]);
    check(&sample, "if(x > 4, x, -x) = -5", &[2, 3]);
    check(&sample, "upper(s) IS NULL", &[1, 2, 3]);
    // What fails keeps its file, and no other.
    check(&sample, "10 / (x - 5) > 0", &[0, 2, 3]);
    check(&sample, "s < 5", &[0, 2, 3]);
    // Without one of the facts it is not known whether there is another value.
    for kind in [StatKind::Min, StatKind::Max, StatKind::NullCount] {
        sample.without = vec![kind];
        assert_eq!(left(&sample, "upper(s) = 'C4'").first(), Some(&0), "{kind:?}");
    }
}

#[test]
fn null_propagating_condition_skips_files_of_nulls() {
    let sample = constants();
    for filter in [
        "length(s) = 100",
        "upper(s) = lower(s)",
        "s LIKE '%x%'",
        "NOT s ILIKE 'b%'",
        "reverse(s) < 'z'",
        "contains(s, 'x') OR endswith(s, 'y')",
        "locate('x', s) = 0",
        "least(s, upper(s)) > ''",
        "(x > 5 OR x < 9) IS NOT NULL",
        "nullif(x, 5) = 7",
        "if(x = 3, x, x + 1) > 0",
        "hex(x) <> ''",
        "split(s, ',')[0] = 'a'",
        "CAST(s AS BINARY) IS NOT NULL",
    ] {
        assert!(!left(&sample, filter).contains(&1), "{filter}");
    }
    for filter in ["concat_ws(',', s) = ''", "coalesce(s, 'a') = 'a'", "xxhash64(s) = 42", "x > 5 OR s IS NULL"] {
        assert!(left(&sample, filter).contains(&1), "{filter}");
    }
}

#[test]
fn bounds_are_followed_through_functions_of_numbers() {
    let sample = numbers();
    let check = |filter: &str, expected: &[usize]| assert_eq!(left(&sample, filter), expected, "{filter}");
    check("x * 2 = 30", &[1, 4]);
    check("3 * x > 60", &[2]);
    check("x * -1 < -25", &[2]);
    check("x * 0 = 0", &[0, 1, 2, 4]);
    check("x * 2000000000 > 1", &[0, 1, 2, 4]);
    check("x / 2 > 14", &[2]);
    check("x / -2 > -1", &[0]);
    check("x DIV 10 = 0", &[0]);
    check("x * 1.5 > 30.5", &[2]);
    check("abs(x) = 5", &[0]);
    check("abs(x - 15) < 3", &[1, 4]);
    check("abs(x - 15) > 10", &[0, 2]);
    check("abs(x) + 1 = 6", &[0]);
    check("-x > -5", &[0]);
    check("x % 100 = 15", &[1, 4]);
    check("x % 10 = 3", &[0, 1, 2]);
    check("pmod(x, 100) = 25", &[2]);
    check("round(x, -1) = 20", &[1, 2, 4]);
    check("floor(x / 2) = 3", &[0]);
    check("ceil(x / 2.5) = 12", &[2]);
    check("coalesce(x, 0) > 20", &[2]);
    check("nvl(x, 99) > 50", &[2, 3]);
    check("if(x > 5, x, 0) > 25", &[2]);
    check("CASE WHEN x > 5 THEN x * 2 WHEN x > 3 THEN -1 END > 50", &[2]);
    check("least(x, 12) > 11", &[1, 2, 3, 4]);
    check("greatest(x, 12) = 12", &[0, 1, 2, 3]);
}

#[test]
fn time_parts_increase_within_their_period() {
    let minute = 60_000_000;
    let file = |first: i64, last: i64| {
        vec![Arc::new(TimestampMicrosecondArray::from(vec![first * minute, last * minute]).with_timezone("UTC")) as ArrayRef]
    };
    let files = vec![file(490, 530), file(420, 540), file(1400, 1500), file(-10, -5)];
    let sample = Sample::new(table(&[("t", PrimitiveType::Timestamp)]), &[], files);
    let check = |filter: &str, expected: &[usize]| assert_eq!(left(&sample, filter), expected, "{filter}");
    check("hour(t) = 8", &[0, 1, 2]);
    check("hour(t) = 10", &[2]);
    check("hour(t) = 23", &[2, 3]);
    check("minute(t) = 30", &[0, 1, 2]);
    check("minute(t) = 5", &[1, 2]);
    check("extract(SECOND FROM t) = 5", &[0, 1, 2, 3]);
    check("day(t) = 2", &[2]);
    check("month(t) = 12", &[3]);
    check("timestampdiff(HOUR, TIMESTAMP '1970-01-01', t) > 20", &[2]);
    check("t - TIMESTAMP '1970-01-01' < INTERVAL 0 SECOND", &[3]);
}

#[test]
fn there_may_be_no_files() {
    let sample = Sample::new(table(&[("t", PrimitiveType::Timestamp), ("x", PrimitiveType::Integer)]), &[], vec![]);
    for filter in ["timestampdiff(HOUR, TIMESTAMP '1970-01-01', t) > 20", "round(x, -1) = 10", "x IN (coalesce(x, 1), 2)"] {
        let pruner = sample.pruner(filter);
        let stats: Vec<ArrayRef> = pruner.statistics().iter().map(|column| new_empty_array(&column.arrow_type())).collect();
        let result = pruner.prune(&FileFacts { files: 0, partitions: &[], stats: &stats, guaranteed: &[] }).unwrap();
        assert_eq!(result.keep.len(), 0, "{filter}");
    }
}

#[test]
fn variants_have_null_counts() {
    let variant = |present: &[bool]| {
        let bytes = || Arc::new(BinaryArray::from(vec![b"1".as_slice(); present.len()])) as ArrayRef;
        let fields: Vec<Field> = ["metadata", "value"].map(|name| Field::new(name, ArrowType::Binary, false)).into();
        Arc::new(StructArray::new(fields.into(), vec![bytes(), bytes()], Some(present.to_vec().into()))) as ArrayRef
    };
    let files = [[true, true], [true, false], [false, false]].map(|present| vec![variant(&present)]);
    let sample = Sample::new(table(&[("v", PrimitiveType::Variant)]), &[], files.into());
    assert_eq!(left(&sample, "v IS NULL"), [1, 2]);
    assert_eq!(left(&sample, "v IS NOT NULL"), [0, 1]);
}

#[test]
fn prune_by_footer_bounds_booleans_and_bytes() {
    let file = |f: Vec<Option<bool>>, b: Vec<&[u8]>| -> Vec<ArrayRef> {
        vec![Arc::new(BooleanArray::from(f)), Arc::new(BinaryArray::from(b))]
    };
    let files = vec![
        file(vec![Some(true), Some(true)], vec![b"", b"\x7f"]),
        file(vec![Some(false), None], vec![b"\x80", b"\xff\x01"]),
        file(vec![Some(true), Some(false)], vec![b"a", b"z"]),
    ];
    let mut sample = Sample::new(table(&[("f", PrimitiveType::Boolean), ("b", PrimitiveType::Binary)]), &[], files);
    assert_eq!(left(&sample, "f AND b = X'80'"), [0, 1, 2]);
    sample.footers = true;
    let check = |filter: &str, expected: &[usize]| assert_eq!(left(&sample, filter), expected, "{filter}");
    check("f", &[0, 2]);
    check("NOT f", &[1, 2]);
    check("f = true", &[0, 2]);
    check("f <> true", &[1, 2]);
    check("f IS NOT TRUE", &[1, 2]);
    check("f IN (false)", &[1, 2]);
    // Bytes are compared unsigned.
    check("b = X'80'", &[1]);
    check("b > X'7F'", &[1]);
    check("b < X'62'", &[0, 2]);
    check("b <> X'61'", &[0, 1, 2]);
    check("b IN (X'80', X'FF02')", &[1]);
    check("b BETWEEN X'70' AND X'7A'", &[0, 2]);
}

#[test]
fn long_conditions_take_little_time() {
    let sample = constants();
    let list = |item: &dyn Fn(usize) -> String, separator: &str| (0..40).map(item).collect::<Vec<_>>().join(separator);
    let nested = |open: &str, close: &str| format!("{}x{}", open.repeat(30), close.repeat(30));
    let of_texts = list(&|at| format!("WHEN s = 'c{at}' THEN 'v{at}'"), " ");
    let of_numbers = list(&|at| format!("WHEN x = {at} THEN x + {at}"), " ");
    // Of the file of fives and c3.
    for (filter, matches) in [
        (format!("CASE {of_texts} ELSE 'zz' END = 'w'"), false),
        (format!("CASE {of_texts} ELSE 'zz' END = 'v3'"), true),
        (format!("CASE {of_numbers} END > 100"), false),
        (format!("greatest({}) > 100", list(&|at| format!("x + {at}"), ", ")), false),
        (format!("greatest({}) > 43", list(&|at| format!("x + {at}"), ", ")), true),
        (format!("least({}) > 100", list(&|at| format!("x + {at}"), ", ")), false),
        (format!("coalesce({}, x) > 100", list(&|at| format!("x + {at}"), ", ")), false),
        (format!("{} > 100", nested("abs(", " - 1)")), false),
        (format!("{} > 100", nested("greatest(1, ", ")")), false),
        (format!("{} = 5", nested("if(x > 1, x, ", ")")), true),
        (format!("{} > 100", nested("(1 + ", ") % 7")), false),
    ] {
        assert_eq!(left(&sample, &filter).contains(&0), matches, "{filter}");
    }
}
