//! Every expression of `expressions.txt` for every row of the sample table, as Spark answers it (`spark.tsv`, made by `spark.py`).

use arrow_array::Array;
use arrow_array::cast::AsArray;

use super::table::sample;
use crate::*;

/// What is answered otherwise than Spark does, and why.
const OTHERWISE: &[(&str, &str)] = &[
    ("LEAST(d, 1.0D)", "zeros of either sign are one value, and which of them comes out is open"),
    ("CAST(d AS DECIMAL(10,2))", "a number that does not fit is an error, never a silent null"),
    ("ROUND(dec, 1) = 12.3", "a number that does not fit is an error, never a silent null"),
    ("CAST(b AS DECIMAL(3,1))", "booleans are cast to whole numbers only"),
    ("dt - DATE '2024-01-01'", "intervals have no text here"),
    ("ts - TIMESTAMP '2024-01-01'", "intervals have no text here"),
    ("BASE64('abc')", "not among the functions"),
    ("UNBASE64('YWJj') = X'616263'", "not among the functions"),
    ("SUM(i)", "aggregates are refused"),
];

/// The value as text for each row: `\N` for null, `ERROR` for a failure.
fn answers(text: &str) -> Vec<String> {
    let table = sample();
    let expression = parse_expr(&format!("CAST(({text}) AS STRING)"), &table.schema(), &Options::default());
    let physical = expression.and_then(|expression| expression.physical(&table.schema()));
    let answer = |row: usize| {
        let row = table.slice(row, 1);
        let value = physical.as_ref().ok()?.evaluate(&row).ok()?.into_array(1).ok()?;
        let value = value.as_string::<i32>();
        if value.is_null(0) {
            return Some("\\N".to_string());
        }
        Some(value.value(0).replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n"))
    };
    (0..table.num_rows()).map(|row| answer(row).unwrap_or_else(|| "ERROR".into())).collect()
}

#[test]
fn expressions_answer_as_spark_does() {
    let mut wrong = Vec::new();
    for line in include_str!("spark.tsv").lines() {
        let mut parts = line.split('\t');
        let text = parts.next().unwrap();
        let expected: Vec<&str> = parts.collect();
        let found = answers(text);
        let known = OTHERWISE.iter().any(|(otherwise, _)| *otherwise == text);
        if known == (found == expected) {
            wrong.push(format!("{text}\n    Spark: {}\n    here:  {}", expected.join(" | "), found.join(" | ")));
        }
    }
    assert!(wrong.is_empty(), "{} expressions:\n{}", wrong.len(), wrong.join("\n"));
}
