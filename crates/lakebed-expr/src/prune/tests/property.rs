//! A file that holds a matching row is never skipped: random files, random filters, the rows themselves as judge.

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, BooleanArray, Float64Array, Int32Array, StringArray, TimestampMicrosecondArray};
use lakebed_core::schema::PrimitiveType;
use lakebed_core::stats::StatKind;
use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};

use super::sample::{Sample, table};

/// One row of x (integer), d (double), s (text), t (instant), f (boolean), b (bytes); p is the file's.
type Row = (Option<i32>, Option<f64>, Option<String>, Option<i64>, Option<bool>, Option<Vec<u8>>);

const DAY: i64 = 86_400_000_000;

fn row() -> impl Strategy<Value = Row> {
    let ints = select(vec![i32::MIN, -7, -1, 0, 1, 5, 6, 7, 8, 100, i32::MAX]);
    let negative_nan = f64::from_bits(0xfff8_0000_0000_0000);
    let doubles =
        select(vec![f64::NEG_INFINITY, -1e300, -2.5, -0.0, 0.0, 1.0, 2.5, 1e300, f64::INFINITY, f64::NAN, negative_nan]);
    let texts = select(vec!["", "a", "aa", "ab", "abc", "abcd", "abd", "b", "ba", "é", "\u{ffff}", "😀", "😀😀😀"])
        .prop_map(String::from);
    let times = select(vec![
        -DAY,
        -1,
        0,
        1,
        DAY - 1,
        DAY,
        19_722 * DAY + 5,
        19_723 * DAY,
        19_781 * DAY + DAY / 2,
        19_782 * DAY,
        3_000_000 * DAY,
    ]);
    let bytes =
        select(vec![vec![], vec![0], vec![0x7f], vec![0x80], vec![0x80, 0], vec![0xff], vec![0xff, 0xff, 1], vec![b'a', b'b']]);
    let some = (weighted(0.85, any::<bool>()), weighted(0.85, bytes));
    (weighted(0.85, ints), weighted(0.85, doubles), weighted(0.85, texts), weighted(0.85, times), some)
        .prop_map(|(x, d, s, t, (f, b))| (x, d, s, t, f, b))
}

/// Neighbouring values more often than not, so that files differ.
fn file() -> impl Strategy<Value = (Option<i32>, Vec<Row>)> {
    let rows = (vec(row(), 1..4), any::<u8>()).prop_map(|(rows, columns)| repeated(rows, columns));
    (weighted(0.8, -1i32..3), rows)
}

/// The rows with the first one's value in the columns that bits tell. With the last bit this value is null, and without the one before
/// nothing is changed.
fn repeated(mut rows: Vec<Row>, columns: u8) -> Vec<Row> {
    let has = |bit: u8| columns & (1 << bit) != 0;
    let one = if has(7) { Row::default() } else { rows.first().cloned().unwrap_or_default() };
    for row in rows.iter_mut().filter(|_| has(6)) {
        row.0 = if has(0) { one.0 } else { row.0 };
        row.1 = if has(1) { one.1 } else { row.1 };
        row.2 = if has(2) { one.2.clone() } else { row.2.take() };
        row.3 = if has(3) { one.3 } else { row.3 };
    }
    rows
}

fn sample() -> impl Strategy<Value = Sample> {
    (
        vec(file(), 1..5),
        select(vec![1usize, 2, 32]),
        vec(select(vec![StatKind::Min, StatKind::Max, StatKind::NullCount, StatKind::NumRecords]), 0..2),
        any::<(bool, bool)>(),
    )
        .prop_map(|(files, prefix, without, (complete, footers))| {
            let fields = [
                ("p", PrimitiveType::Integer),
                ("x", PrimitiveType::Integer),
                ("d", PrimitiveType::Double),
                ("s", PrimitiveType::String),
                ("t", PrimitiveType::Timestamp),
                ("y", PrimitiveType::Integer),
                ("f", PrimitiveType::Boolean),
                ("b", PrimitiveType::Binary),
            ];
            let files = files.into_iter().map(|(p, rows)| columns(p, &rows)).collect();
            let mut sample = Sample::new(table(&fields), &["p", "y"], files).generating("y", "YEAR(t)");
            sample.prefix = prefix;
            sample.complete = complete;
            sample.footers = footers;
            sample.without = if without.len() > 1 { vec![] } else { without };
            sample
        })
}

/// The columns of a file. All its times are of the year that its partition says.
fn columns(p: Option<i32>, rows: &[Row]) -> Vec<ArrayRef> {
    let year = |time: i64| match time / DAY {
        3_000_000.. => 10_183,
        19_723.. => 2024,
        19_722.. => 2023,
        _ if time < 0 => 1969,
        _ => 1970,
    };
    let file_year = rows.iter().find_map(|row| row.3).map(year);
    let times = rows.iter().map(|row| row.3.filter(|time| Some(year(*time)) == file_year));
    vec![
        Arc::new(Int32Array::from(vec![p; rows.len()])),
        Arc::new(rows.iter().map(|row| row.0).collect::<Int32Array>()),
        Arc::new(rows.iter().map(|row| row.1).collect::<Float64Array>()),
        Arc::new(rows.iter().map(|row| row.2.clone()).collect::<StringArray>()),
        Arc::new(times.collect::<TimestampMicrosecondArray>().with_timezone("UTC")),
        Arc::new(Int32Array::from(vec![file_year; rows.len()])),
        Arc::new(rows.iter().map(|row| row.4).collect::<BooleanArray>()),
        Arc::new(rows.iter().map(|row| row.5.as_deref()).collect::<BinaryArray>()),
    ]
}

fn leaf() -> impl Strategy<Value = String> {
    let ints =
        || select(vec!["-8", "-7", "0", "1", "5", "6", "7", "100", "2147483647", "3000000000", "5.5", "'6'", "-2147483648"]);
    let doubles =
        || select(vec!["0", "-0.0D", "1", "2.5D", "-2.5", "1e300", "double('NaN')", "double('Infinity')", "double('-Infinity')"]);
    let texts = || select(vec!["''", "'a'", "'ab'", "'abc'", "'abcde'", "'b'", "'é'", "'\u{ffff}'", "'😀'"]);
    let times = || {
        select(vec![
            "'1970-01-01'",
            "'1969-12-31 23:59:59.999999'",
            "'2023-12-31 12:00:00'",
            "DATE '2024-01-01'",
            "TIMESTAMP '2024-02-28 12:00:00'",
        ])
    };
    let operator = || select(vec!["=", "<>", "<", "<=", ">", ">=", "<=>"]);
    let not = || select(vec!["", "NOT "]);
    let of = |column: &'static str, values: BoxedStrategy<&'static str>| {
        let (a, b, c, d) = (values.clone(), values.clone(), values.clone(), values);
        prop_oneof![
            3 => (operator(), a).prop_map(move |(operator, value)| format!("{column} {operator} {value}")),
            1 => (operator(), b).prop_map(move |(operator, value)| format!("{value} {operator} {column}")),
            1 => (not(), vec(c, 1..12)).prop_map(move |(not, list)| format!("{column} {not}IN ({})", list.join(", "))),
            1 => (not(), d.clone(), d).prop_map(move |(not, low, high)| format!("{column} {not}BETWEEN {low} AND {high}")),
            1 => not().prop_map(move |not| format!("{column} IS {not}NULL")),
        ]
    };
    prop_oneof![
        of("x", ints().boxed()),
        of("f", select(vec!["true", "false"]).boxed()),
        of("b", select(vec!["X''", "X'00'", "X'7F'", "X'80'", "X'8000'", "X'FF'", "X'FFFF'", "X'6162'", "'ab'"]).boxed()),
        select(vec!["f", "NOT f", "f AND x > 5", "f OR b > X'80'", "int(f) = 1", "string(f) < 'true'", "string(b) = 'ab'"])
            .prop_map(String::from),
        of("p", ints().boxed()),
        of("d", doubles().boxed()),
        of("s", texts().boxed()),
        of("t", times().boxed()),
        of("CAST(t AS DATE)", times().boxed()),
        of("date_trunc('MONTH', t)", times().boxed()),
        of("substring(s, 1, 2)", texts().boxed()),
        of("double(x)", doubles().boxed()),
        of("try_add(x, 1)", ints().boxed()),
        of("d + d", doubles().boxed()),
        of("d * 2", doubles().boxed()),
        of("-d", doubles().boxed()),
        of("d - 1", doubles().boxed()),
        of("float(d)", doubles().boxed()),
        of("abs(d)", doubles().boxed()),
        of("d * -2", doubles().boxed()),
        of("least(d, 1)", doubles().boxed()),
        of("least(d, x)", doubles().boxed()),
        of("greatest(d, x, 1)", doubles().boxed()),
        of("greatest(x, p)", ints().boxed()),
        of("coalesce(d, 1)", doubles().boxed()),
        of("nanvl(d, 1)", doubles().boxed()),
        of("if(x > 0, d, 2.5D)", doubles().boxed()),
        of("floor(d / 1e300)", ints().boxed()),
        of("round(d)", doubles().boxed()),
        of("try_cast(d AS INT)", ints().boxed()),
        of("year(t)", select(vec!["1969", "1970", "2023", "2024", "10183"]).boxed()),
        of("date_format(t, 'yyyy-MM')", select(vec!["'1970-01'", "'2024-02'", "'2023'", "'3'"]).boxed()),
        of("coalesce(x, p)", ints().boxed()),
        of("abs(p)", ints().boxed()),
        functions(),
        (not(), select(vec!["'a%'", "'ab%'", "'ab'", "'%b'", "'a_c%'", "'é%'", "'😀%'", "''"]))
            .prop_map(|(not, pattern)| format!("s {not}LIKE {pattern}")),
        (select(vec!["x", "p", "d"]), operator(), select(vec!["x", "p", "d"]))
            .prop_map(|(a, operator, b)| format!("{a} {operator} {b}")),
        select(vec!["true", "false", "NULL", "isnan(d)", "startswith(s, 'ab')", "s RLIKE '^ab?'", "x IN (p, 5)"])
            .prop_map(String::from),
    ]
}

/// Conditions on functions: some follow bounds, others are computed where a column holds one value.
fn functions() -> impl Strategy<Value = String> {
    let of_numbers = select(vec![
        "try_multiply(x, 2)",
        "try_multiply(-3, x)",
        "x / 2",
        "x / -0.5D",
        "x DIV 3",
        "x % 7",
        "pmod(bigint(x), 7L)",
        "abs(bigint(x))",
        "abs(d)",
        "abs(bigint(x)) + 1",
        "-bigint(x)",
        "coalesce(x, 6)",
        "coalesce(d, -0.0D)",
        "coalesce(d, x)",
        "nvl2(x, p, x)",
        "nullif(x, 6)",
        "if(x > 5, x, p)",
        "greatest(x, 6)",
        "least(x, p)",
        "greatest(d, x)",
        "round(d)",
        "round(bigint(x), -1)",
        "floor(x / 2)",
        "ceil(d)",
        "d * 2",
        "d / -2",
        "sign(d)",
        "length(s)",
        "ascii(s)",
        "locate('b', s)",
        "month(t)",
        "quarter(t)",
        "day(t)",
        "dayofyear(t)",
        "dayofweek(t)",
        "weekday(t)",
        "weekofyear(t)",
        "hour(t)",
        "minute(t)",
        "second(t)",
        "extract(SECOND FROM t)",
        "month(add_months(t, 3))",
        "timestampdiff(DAY, t, TIMESTAMP '2024-01-01')",
        "datediff(t, DATE '2024-01-01')",
        "int(x IN (coalesce(p, 6), 7))",
    ]);
    let of_texts =
        select(vec!["upper(s)", "concat(s, 'b')", "concat_ws('-', s, 'b')", "reverse(s)", "coalesce(s, 'ab')", "string(x)"]);
    let numbers = select(vec!["-7", "-1", "0", "1", "2", "3", "5", "6", "7", "12", "14", "24", "2.5"]);
    let texts = select(vec!["'a'", "'ab'", "'AB'", "'abb'", "'ba'", "'b'", "'6'"]);
    let operator = || select(vec!["=", "<>", "<", "<=", ">", ">=", "<=>"]);
    prop_oneof![
        (of_numbers, operator(), numbers).prop_map(|(value, operator, number)| format!("{value} {operator} {number}")),
        (of_texts, operator(), texts).prop_map(|(value, operator, text)| format!("{value} {operator} {text}")),
        select(vec![
            "s LIKE '%b%'",
            "s NOT LIKE '%b'",
            "s ILIKE 'A%'",
            "s RLIKE 'b'",
            "upper(s) IS NULL",
            "length(s) IS NOT NULL"
        ])
        .prop_map(String::from),
    ]
}

fn filter() -> impl Strategy<Value = String> {
    leaf().prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} AND {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} OR {b})")),
            inner.clone().prop_map(|a| format!("(NOT {a})")),
            (inner.clone(), select(vec!["TRUE", "FALSE", "NULL", "NOT TRUE", "NOT FALSE", "NOT NULL"]))
                .prop_map(|(a, is)| format!("(({a}) IS {is})")),
            (inner.clone(), inner.clone(), inner).prop_map(|(a, b, c)| format!("(CASE WHEN {a} THEN {b} ELSE {c} END)")),
        ]
    })
}

/// Files with matching rows that are skipped, other files, and how many of those are skipped.
fn judge(sample: &Sample, text: &str) -> (Vec<usize>, usize, usize) {
    let filter = sample.filter(text);
    let keep = sample.prune(text).keep;
    let (mut lost, mut empty, mut skipped) = (vec![], 0, 0);
    for (index, file) in sample.files.iter().enumerate() {
        let matches = filter.evaluate(file).unwrap_or_else(|error| panic!("{text}: {error}")).true_count() > 0;
        match (matches, keep.value(index)) {
            (true, false) => lost.push(index),
            (true, true) => {}
            (false, kept) => {
                empty += 1;
                skipped += usize::from(!kept);
            }
        }
    }
    (lost, empty, skipped)
}

proptest! {
    #![proptest_config(Config::with_cases(3_000))]
    #[test]
    fn prune_keeps_files_with_matching_rows(sample in sample(), text in filter()) {
        let (lost, _, _) = judge(&sample, &text);
        prop_assert!(lost.is_empty(), "{} loses rows of files {:?}: {:?}", text, lost, sample.files);
    }
}

#[test]
fn most_files_without_matching_rows_are_skipped() {
    let mut runner = TestRunner::deterministic();
    let (mut empty, mut skipped) = (0, 0);
    for _ in 0..500 {
        let sample = sample().new_tree(&mut runner).unwrap().current();
        let text = filter().new_tree(&mut runner).unwrap().current();
        let (_, more_empty, more_skipped) = judge(&sample, &text);
        empty += more_empty;
        skipped += more_skipped;
    }
    assert!(skipped * 2 > empty, "of {empty} files without matching rows only {skipped} were skipped");
}
