//! What cannot be understood is refused with its place and what to do.

use super::table::sample;
use crate::*;
use lakebed_core::ErrorKind;

/// The message of the error that a filter over the sample table gives.
fn message(filter: &str) -> String {
    let error = parse_filter(filter, &sample().schema(), &Options::default()).unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Predicate, "{error}");
    error.to_string()
}

fn check(filter: &str, parts: &[&str]) {
    let message = message(filter);
    for part in parts {
        assert!(message.contains(part), "{filter}: {message} lacks {part}");
    }
}

#[test]
fn the_message_tells_the_place() {
    assert_eq!(
        message("i = 1 AND nme = 'x'"),
        "in the expression `i = 1 AND nme = 'x'`, at character 11 (`nme = 'x'`): there is no column `nme`; \
         there are i, l, s, d, f, dec, big, dt, ts, ntz, b, bin, …"
    );
    assert_eq!(message("i = "), "in the expression `i = `, at its end: expected a value");
    check("ñ = (1", &["at its end", "expected `)`"]);
    check("i = 1 i = 2", &["at character 7 (`i = 2`)", "expected an operator or the end"]);
    check("", &["the text is empty"]);
}

#[test]
fn unknown_names_come_with_the_nearest_ones() {
    check("dex = 1", &["did you mean `dec`?"]);
    check("st.bb = 1", &["no field `bb`", "did you mean `b`?"]);
    check("uper(s) = 'A'", &["no function `uper`", "did you mean `upper`?"]);
    check("i.x = 1", &["INT has no fields"]);
    check("_metadata.row_id = 1", &["no column `_metadata` here", "conditions of scans, `delete` and `update`"]);
}

#[test]
fn parse_refuses_functions_over_several_rows() {
    check("i IN (SELECT 1)", &["subqueries"]);
    check("EXISTS (SELECT 1)", &["subqueries"]);
    check("i = (SELECT max(i) FROM t)", &["subqueries"]);
    check("sum(i) > 1", &["sum is an aggregate function"]);
    check("count(*) > 1", &["aggregate functions"]);
    check("row_number() OVER (ORDER BY i) = 1", &["window function"]);
    check("abs(i) OVER (ORDER BY i) = 1", &["window functions"]);
    check("rand() > 0.5", &["another answer at each call"]);
}

#[test]
fn types_that_do_not_fit_are_refused() {
    check("i", &["this is INT, but a condition is true or false"]);
    check("i AND b", &["this is INT"]);
    check("i = b", &["INT and BOOLEAN cannot be compared"]);
    check("dt > 5", &["DATE and INT cannot be compared"]);
    check("m = m", &["maps cannot be compared"]);
    check("st = st", &["compare the fields"]);
    check("dt > 'yesterday'", &["'yesterday' cannot be cast to DATE"]);
    check("i = 'x'", &["'x' cannot be cast to BIGINT"]);
    check("ts > '2024-13-01'", &["'2024-13-01' cannot be cast to TIMESTAMP"]);
    check("CAST('x' AS INT) = 1", &["'x' cannot be cast to INT"]);
    check("CAST(arr AS INT) = 1", &["ARRAY<INT> cannot be cast to INT"]);
    check("CAST(i AS ARRAY) = 1", &["`ARRAY` is not a type"]);
    check("CAST(arr AS ARRAY<INT) = 1", &["expected `>`"]);
    check("CAST(arr AS ARRAY<INT>>) = 1", &["expected `)`"]);
    check("CAST(m AS MAP<INT>) = 1", &["expected `,`"]);
    check("CAST(st AS STRUCT<INT>) = 1", &["expected the name of a type"]);
    check(&format!("CAST(arr AS {}INT) = 1", "ARRAY<".repeat(10_000)), &["nest more than"]);
    check("CAST(st AS STRUCT<a: INT>) = 1", &["cannot be cast to STRUCT<a: INT>"]);
    check("CAST(m AS MAP<DATE, INT>) = 1", &["cannot be cast to MAP<DATE, INT>"]);
    check("named_struct('a') = 1", &["pairs of a name and a value"]);
    check("named_struct(s, 1) = 1", &["argument 1 must be a string literal"]);
    check("map('a') = 1", &["pairs of a key and a value"]);
    check("size(map(b, 1, DATE '2024-01-01', 2)) = 1", &["map: BOOLEAN, DATE have no common type"]);
    check("DATE '2024-02-30' = dt", &["'2024-02-30' is no DATE"]);
    check("s RLIKE '('", &["regular expression"]);
    check("i = 99999999999999999999999999999999999999999", &["out of the range"]);
    check("dt + INTERVAL 1 FORTNIGHT > dt", &["expected"]);
}

#[test]
fn broken_words_are_refused() {
    check("s = 'abc", &["closing quote is missing"]);
    check("`i = 1", &["closing backtick is missing"]);
    check("i = 1.5x", &["not a number"]);
    check("i = 1 /* never ends", &["a comment that does not end"]);
    check("i = ?", &["`?` means nothing here"]);
    check("i = 1;", &["`;` means nothing here"]);
    check("i IN ()", &["the list behind IN is empty"]);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(2_000))]
    #[test]
    fn no_text_makes_the_parser_panic(text in "([iltsdb(),.'\"` 0-9=<>+*/%-]|AND |OR |NOT |IN |IS |CASE |WHEN |THEN |END|CAST\\(|AS INT\\)|LIKE |INTERVAL |DATE |st\\.|arr\\[){0,24}") {
        let _ = parse_filter(&text, &sample().schema(), &Options { now_ms: Some(0) });
    }
}
