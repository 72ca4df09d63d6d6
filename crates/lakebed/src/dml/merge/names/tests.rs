//! Tests to which column a name resolves, and which names are refused.

use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray};
use lakebed_core::schema::{PrimitiveType, StructField};
use std::sync::Arc;

use super::*;
use crate::kit::schema;

/// Returns sides in which a target column is called like the source's alias and has a field that
/// the source lacks.
fn sides() -> Sides {
    let mut target =
        schema(&[("id", PrimitiveType::Long), ("value", PrimitiveType::String), ("code", PrimitiveType::Char { length: 4 })]);
    let below = schema(&[("id", PrimitiveType::Long), ("deep", PrimitiveType::String)]);
    target.fields.push(StructField::new("s", below, true));
    let source = schema(&[("id", PrimitiveType::Long), ("new.value", PrimitiveType::String), ("at", PrimitiveType::Timestamp)]);
    let options = SidesOptions { target: &target, target_alias: "t", source: &source, source_alias: "s", now_ms: Some(0) };
    Sides::new(options).unwrap()
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(sides().condition(text).unwrap().text(), expected);
}

#[track_caller]
fn message(found: Result<Filter>) -> String {
    let error = found.unwrap_err();
    error.message().to_owned()
}

#[test]
fn names_become_those_of_the_flat_schema() {
    let names: Vec<String> = sides().flat().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["t.id", "t.value", "t.code", "t.s", "s.id", "s.new.value", "s.at"]);
    check("t.id = s.id AND T.VALUE<>S.`new.value`", "`t.id` = `s.id` AND `t.value`<>`s.new.value`");
    check("value = `New.Value`", "`t.value` = `s.new.value`");
    check(
        "value LIKE ANY ('a', 'b') AND at < now()",
        "`t.value` LIKE ANY ('a', 'b') AND `s.at` < TIMESTAMP '1970-01-01 00:00:00'",
    );
    check("t.s.deep = 'at' -- t.id", "`t.s`.`deep` = 'at' -- t.id");
}

#[test]
fn alias_wins_over_column_of_same_name() {
    check("s.id = 1", "`s.id` = 1");
    check("s.deep = 'x'", "`t.s`.`deep` = 'x'");
    assert_eq!(sides().target_condition("s.id = 1").unwrap().text(), "`t.s`.`id` = 1");
}

#[test]
fn condition_of_one_table_sees_its_columns() {
    let sides = sides();
    assert_eq!(sides.source_condition("id > 1 AND s.id < 9").unwrap().text(), "`s.id` > 1 AND `s.id` < 9");
    assert_eq!(sides.target_condition("id > 1 AND value = 'x'").unwrap().text(), "`t.id` > 1 AND `t.value` = 'x'");
    assert_eq!(
        message(sides.source_condition("id = 1 OR t.value = 'x'")),
        "in the expression `id = 1 OR t.value = 'x'`, at character 11 (`t.value = 'x'`): `t.value` is a column of the target, but this clause is for source rows without a target row"
    );
    assert_eq!(
        message(sides.target_condition("at IS NULL")),
        "in the expression `at IS NULL`, at character 1 (`at IS NULL`): `at` is a column of the source, but this clause is for target rows without a source row"
    );
}

#[test]
fn unknown_or_ambiguous_name_is_refused_helpfully() {
    let at = |text: &str| message(sides().condition(text)).split_once("`): ").unwrap().1.to_owned();
    assert_eq!(at("id = 1"), "`id` is a column of both tables; write t.id or s.id");
    assert_eq!(at("valu = 'x'"), "there is no column `valu`; did you mean `value`?");
    assert_eq!(at("t.valu = 'x'"), "there is no column `valu` in t; did you mean `value`?");
    assert_eq!(at("t.at IS NULL"), "there is no column `at` in t; there are id, value, code, s");
    assert_eq!(at("other.id = 1"), "there is no column `other`; there are id, value, code, s, id, new.value, at");
    assert_eq!(at("t.s.dep = 'x'"), "there is no field `dep`; did you mean `deep`?");
    assert_eq!(at("id = (SELECT 1)"), "subqueries are not supported here");
}

#[test]
fn aliases_must_tell_the_columns_apart() {
    let one = schema(&[("b.c", PrimitiveType::Long)]);
    let other = schema(&[("c", PrimitiveType::Long)]);
    let refused = |target_alias, source_alias| {
        let options = SidesOptions { target: &one, target_alias, source: &other, source_alias, now_ms: None };
        Sides::new(options).unwrap_err().message().to_owned()
    };
    assert_eq!(refused("x", "X"), "target and source both have the alias x: give one of them another alias");
    assert_eq!(refused("a", "a.b"), "a.b.c could be a column of the target or of the source: give one of them another alias");
}

#[test]
fn target_condition_prints_over_target_schema() {
    let sides = sides();
    let own = |text: &str| sides.of_target(&sides.condition(text).unwrap()).map(|filter| filter.text().to_owned());
    assert_eq!(own("t.id > 3 AND t.s.deep = 'x'").as_deref(), Some("`id` > 3 AND `s`.`deep` = 'x'"));
    assert_eq!(own("1 = 0").as_deref(), Some("1 = 0"));
    assert_eq!(own("t.id > s.id"), None);
    assert_eq!(sides.side_of("t.value"), Some((Side::Target, "value")));
    assert_eq!(sides.side_of("s.new.value"), Some((Side::Source, "new.value")));
    assert_eq!(sides.side_of("value"), None);
}

#[test]
fn flat_expressions_keep_text_lengths() {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("t.code", Arc::new(StringArray::from(vec!["ab  ", "abc ", "x   "]))),
        ("s.id", Arc::new(Int64Array::from(vec![1, 2, 3]))),
        ("s.new.value", Arc::new(StringArray::from(vec!["10", "20", "30"]))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let matching = sides().condition("t.code = 'ab' OR s.id = 3").unwrap().evaluate(&batch).unwrap();
    assert_eq!((0..3).map(|row| matching.value(row)).collect::<Vec<_>>(), [true, false, true]);
    let sum = sides().expression("s.id + CAST(`new.value` AS BIGINT)").unwrap();
    for batch in [batch.clone(), batch] {
        let values = sum.evaluate(&batch).unwrap();
        assert_eq!(values.as_any().downcast_ref::<Int64Array>().unwrap(), &Int64Array::from(vec![11, 22, 33]));
    }
}
