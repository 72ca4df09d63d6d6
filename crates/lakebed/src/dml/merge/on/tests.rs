//! Tests how ON conditions are split.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, Float32Array, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use lakebed_core::schema::{PrimitiveType as P, StructField};

use super::super::names::SidesOptions;
use super::*;
use crate::kit::schema;

fn sides() -> Sides {
    let mut target =
        schema(&[("id", P::Integer), ("d", P::Double), ("name", P::String), ("code", P::Char { length: 3 }), ("day", P::Date)]);
    target.fields.push(StructField::new("s", schema(&[("k", P::Long)]), true));
    let source =
        schema(&[("id", P::Long), ("d", P::Float), ("name", P::String), ("code", P::Char { length: 5 }), ("day", P::String)]);
    let options = SidesOptions { target: &target, target_alias: "t", source: &source, source_alias: "s", now_ms: None };
    Sides::new(options).unwrap()
}

/// Returns the keys of a condition as `target = source: type`, with the target's path.
fn keys(text: &str) -> Vec<(String, Option<String>)> {
    let keys = On::new(&sides(), text).unwrap().keys;
    let shown = |key: &Key| {
        assert_eq!(key.target.data_type, key.source.data_type);
        let operator = if key.null_safe { "<=>" } else { "=" };
        let shown = format!("{} {operator} {}: {}", key.target.text, key.source.text, key.target.data_type);
        (shown, key.target_path.as_ref().map(|path| path.join(".")))
    };
    keys.iter().map(shown).collect()
}

fn key(shown: &str, path: Option<&str>) -> Vec<(String, Option<String>)> {
    vec![(shown.to_owned(), path.map(str::to_owned))]
}

/// Returns the texts of the conditions on one table alone.
fn alone(text: &str) -> (Vec<String>, Vec<String>) {
    let on = On::new(&sides(), text).unwrap();
    (
        on.target_only.iter().map(|filter| filter.text().to_owned()).collect(),
        on.source_only.iter().map(|expression| expression.text.to_string()).collect(),
    )
}

#[test]
fn equalities_become_keys_of_one_type() {
    assert_eq!(keys("t.name = s.name"), key("`t.name` = `s.name`: Utf8", Some("name")));
    assert_eq!(keys("s.id = t.s.k"), key("`t.s`.`k` = `s.id`: Int64", Some("s.k")));
    assert_eq!(keys("t.id = s.id"), key("`t.id` = `s.id`: Int64", None));
    assert_eq!(keys("t.name <=> s.name"), key("`t.name` <=> `s.name`: Utf8", Some("name")));
    assert_eq!(keys("equal_null(t.name, s.name)").len(), 1);
    assert_eq!(keys("lower(t.name) = s.name || 'x'"), key("lower(`t.name`) = `s.name` || 'x': Utf8", None));
    assert_eq!(keys("t.d = s.d"), key("`t.d` = `s.d`: Float64", Some("d")));
    assert_eq!(keys("t.day = s.day"), key("`t.day` = `s.day`: Date32", Some("day")));
    assert_eq!(keys("t.code = s.code"), key("`t.code` = `s.code`: Utf8", None));
    assert_eq!(keys("t.id + s.id = s.id OR t.name = s.name"), []);
    assert_eq!(keys("t.id + s.id = s.id"), []);
    assert_eq!(keys("t.id < s.id"), []);
    assert_eq!(keys("t.id = s.id AND (t.name = s.name)").len(), 2);
}

#[test]
fn key_uses_rows_of_one_table() {
    let on = On::new(&sides(), "t.id = s.id AND t.d = s.d AND t.code = s.code").unwrap();
    let target: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int32Array::from(vec![1, 2]))),
        ("d", Arc::new(Float64Array::from(vec![-0.0, 0.5]))),
        ("code", Arc::new(StringArray::from(vec!["a  ", "bcd"]))),
    ];
    let source: Vec<(&str, ArrayRef)> = vec![
        ("code", Arc::new(StringArray::from(vec!["a    ", "bcd  "]))),
        ("d", Arc::new(Float32Array::from(vec![0.0, 0.5]))),
        ("id", Arc::new(Int64Array::from(vec![1, 2]))),
    ];
    let (target, source) = (RecordBatch::try_from_iter(target).unwrap(), RecordBatch::try_from_iter(source).unwrap());
    for key in &on.keys {
        let (left, right) = (key.target.evaluate(&target).unwrap(), key.source.evaluate(&source).unwrap());
        assert_eq!(left.to_data(), right.to_data(), "{}", key.target.text);
    }
    // Equal floats must have equal bits.
    let doubles = on.keys[1].target.evaluate(&target).unwrap();
    assert!(doubles.as_any().downcast_ref::<Float64Array>().unwrap().value(0).is_sign_positive());
}

#[test]
fn conditions_on_one_table_are_told_apart() {
    let (target, source) = alone("t.id = s.id AND t.day > '2024-01-01' AND s.name <> 'x' AND t.s.k IN (1, 2) AND 1 = 0");
    assert_eq!(target, ["`day` > '2024-01-01'", "`s`.`k` IN (1, 2)", "1 = 0"]);
    assert_eq!(source, ["`s.name` <> 'x'"]);
    assert_eq!(alone("true"), (vec![], vec![]));
    let on = On::new(&sides(), "s.name <> 'x' AND s.id > 1").unwrap();
    let source: Vec<(&str, ArrayRef)> =
        vec![("id", Arc::new(Int64Array::from(vec![1, 2]))), ("name", Arc::new(StringArray::from(vec!["x", "y"])))];
    let source = RecordBatch::try_from_iter(source).unwrap();
    for condition in &on.source_only {
        let found = condition.evaluate(&source).unwrap();
        assert_eq!(found.as_any().downcast_ref::<BooleanArray>().unwrap(), &BooleanArray::from(vec![false, true]));
    }
}

#[test]
fn fallible_condition_stays_behind_its_guard() {
    let guarded = "t.name <> '' AND CAST(t.name AS INT) > 3";
    assert_eq!(alone(guarded).0.len(), 2);
    assert_eq!(alone(&format!("t.id = s.id AND {guarded}")).0, ["`name` <> ''"]);
    assert_eq!(alone("CAST(t.name AS INT) > 3 AND t.id = s.id").0, ["CAST(`name` AS INT) > 3"]);
    assert_eq!(alone("t.id = s.id AND CAST(s.name AS INT) > 3").1, [""; 0]);
}
