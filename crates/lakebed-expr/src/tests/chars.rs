//! What Delta Spark 4.4 keeps of a table with CHAR columns.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Field, Schema};
use lakebed_core::schema::char_varchar::pad;
use lakebed_core::schema::{PrimitiveType, StructField, StructType};

use super::*;

/// `c CHAR(6)`, `d CHAR(3)`, `e CHAR(3)`, `s STRING`, `st STRUCT<x: CHAR(3)>` as they are read, padded.
fn sample() -> (Schema, RecordBatch) {
    let char = |length: u32| PrimitiveType::Char { length };
    let inner = StructType { fields: vec![StructField::new("x", char(3), true)] };
    let table = StructType {
        fields: vec![
            StructField::new("c", char(6), true),
            StructField::new("d", char(3), true),
            StructField::new("e", char(3), true),
            StructField::new("s", PrimitiveType::String, true),
            StructField::new("st", inner, true),
        ],
    };
    let padded = |texts: [Option<&str>; 6], length: u32| -> ArrayRef {
        Arc::new(texts.iter().map(|text| text.map(|text| pad(text, length).into_owned())).collect::<StringArray>())
    };
    let x = padded([Some("ab"), Some("abc"), Some(""), None, Some("a\t"), Some("é")], 3);
    let columns: Vec<ArrayRef> = vec![
        padded([Some("ab"), Some("abcdef"), Some(""), None, Some("ab\t"), Some("é")], 6),
        padded([Some("ab"), Some("abc"), Some(""), None, Some("ab\t"), Some("é")], 3),
        padded([Some("ab"), Some("abd"), Some(""), None, Some("a\t"), Some("é")], 3),
        padded([Some("ab"), Some("abcdef"), Some(""), None, Some("ab\t"), Some("é")], 0),
        Arc::new(StructArray::from(vec![(Arc::new(Field::new("x", DataType::Utf8, true)), x)])),
    ];
    let schema = lakebed_core::schema::arrow::schema_to_arrow(&table).unwrap();
    (filter_schema(&table).unwrap(), RecordBatch::try_new(schema, columns).unwrap())
}

#[test]
fn filter_on_char_columns_matches_spark() {
    let (schema, batch) = sample();
    let check = |filter: &str, expected: &[usize]| {
        let found = parse_filter(filter, &schema, &Options::default()).unwrap().evaluate(&batch).unwrap();
        let rows: Vec<usize> = (0..found.len()).filter(|row| found.value(*row)).map(|row| row + 1).collect();
        assert_eq!(rows, expected, "{filter}");
    };
    // Comparisons with a constant.
    for same in ["'ab'", "'ab    '", "'ab       '", "concat('a', 'b')", "lower('AB')", "'a' || 'b'", "CAST('ab' AS STRING)"] {
        check(&format!("c = {same}"), &[1]);
        check(&format!("{same} = c"), &[1]);
        check(&format!("c <=> {same}"), &[1]);
    }
    check("c = 'ab\\t'", &[5]);
    check("c = 'é'", &[6]);
    check("c = ''", &[3]);
    check("c != 'ab'", &[2, 3, 5, 6]);
    check("c < 'ab'", &[3, 5]);
    check("c <= 'ab'", &[1, 3, 5]);
    check("c > 'ab'", &[2, 6]);
    check("c >= 'ab'", &[1, 2, 6]);
    check("'ab' < c", &[2, 6]);
    check("d = 'abcdef'", &[]);
    check("d >= 'ab\\t'", &[1, 2, 5, 6]);
    check("NOT c = 'ab'", &[2, 3, 5, 6]);
    check("c IS DISTINCT FROM 'ab'", &[2, 3, 4, 5, 6]);
    check("equal_null(c, 'ab')", &[1]);
    check("CASE c WHEN 'ab' THEN true ELSE false END", &[1]);
    check("CASE 'ab' WHEN c THEN true ELSE false END", &[1]);
    check("if(c = 'ab', true, false)", &[1]);
    check("c <=> NULL", &[4]);
    // IN.
    check("c IN ('ab', 'x')", &[1]);
    check("c IN ('ab        ', 'x')", &[1]);
    check("c NOT IN ('ab', 'x')", &[2, 3, 5, 6]);
    check("c IN ('ab', 'éééééééé')", &[1]);
    check("d IN ('abcdef', 'ab')", &[1]);
    check("c IN ('ab', NULL)", &[]);
    check("c IN ('abcdef', NULL, 'ab')", &[2]);
    check("c IN ('ab', s)", &[2]);
    check("c IN (d, s)", &[2]);
    check("c IN (d, e)", &[1, 3, 5, 6]);
    // Two columns.
    check("c = d", &[1, 3, 5, 6]);
    check("d != c", &[2]);
    check("c <=> d", &[1, 3, 4, 5, 6]);
    check("d < e", &[2]);
    check("c = s", &[2]);
    check("s < c", &[1, 3, 5, 6]);
    // Nothing else pads its other side.
    check("c BETWEEN 'ab' AND 'abcdef'", &[1, 2, 5]);
    check("c NOT BETWEEN 'ab' AND 'abcdef'", &[3, 6]);
    check("nullif(c, 'ab') IS NULL", &[4]);
    check("c LIKE 'ab'", &[]);
    check("c LIKE 'ab    '", &[1]);
    check("c LIKE 'ab%'", &[1, 2, 5]);
    check("c RLIKE '^ab$'", &[]);
    check("upper(c) = 'AB'", &[]);
    check("CAST(c AS STRING) = 'ab'", &[]);
    check("coalesce(c, 'z') = 'ab'", &[]);
    check("st.x = 'ab'", &[]);
    check("st.x = 'ab '", &[1]);
    check("st.x IN ('ab')", &[]);
    check("c = st.x", &[]);
    // What computes with the column sees the blanks.
    check("length(c) = 6", &[1, 2, 3, 5, 6]);
    check("rtrim(c) = 'ab'", &[1]);
    check("c || 'x' = 'ab    x'", &[1]);
}
