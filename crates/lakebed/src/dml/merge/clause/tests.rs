//! Tests the meaning of clauses and the errors for invalid ones.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use lakebed_core::ErrorKind;
use lakebed_core::feature::upgrade::{CURRENT_DEFAULT, GENERATION_EXPRESSION};
use lakebed_core::schema::PrimitiveType as P;
use lakebed_core::schema::evolve::{MergeOptions, merge};

use super::super::names::SidesOptions;
use super::*;
use crate::kit::schema;

fn target() -> StructType {
    let mut target = schema(&[("id", P::Integer), ("name", P::String), ("n", P::Long)]);
    target.fields[2].metadata.insert(CURRENT_DEFAULT.into(), json!("42"));
    target
}

fn source() -> StructType {
    schema(&[("ID", P::Long), ("Name", P::String), ("extra", P::Long)])
}

fn sides(target: &StructType, source: &StructType) -> Sides {
    Sides::new(SidesOptions { target, target_alias: "t", source, source_alias: "s", now_ms: Some(0) }).unwrap()
}

fn given(columns: &[(&str, &str)]) -> Vec<(String, String)> {
    columns.iter().map(|(column, text)| ((*column).to_owned(), (*text).to_owned())).collect()
}

fn clause(when: When, condition: &str, action: Action) -> Clause {
    Clause { when, condition: Some(condition.to_owned()).filter(|text| !text.is_empty()), action }
}

fn read(clauses: &[Clause]) -> Result<Clauses> {
    Clauses::new(clauses, &sides(&target(), &source()), &target(), false)
}

#[track_caller]
fn refused(clauses: &[Clause], kind: ErrorKind) -> String {
    let error = read(clauses).unwrap_err();
    assert_eq!(*error.kind(), kind, "{error}");
    error.message().to_owned()
}

/// Returns pairs of rows.
fn pairs() -> RecordBatch {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("t.id", Arc::new(arrow_array::Int32Array::from(vec![1, 2]))),
        ("t.name", Arc::new(StringArray::from(vec!["a", "b"]))),
        ("t.n", Arc::new(Int64Array::from(vec![10, 20]))),
        ("s.ID", Arc::new(Int64Array::from(vec![1, 2]))),
        ("s.Name", Arc::new(StringArray::from(vec!["A", "B"]))),
        ("s.extra", Arc::new(Int64Array::from(vec![100, 200]))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn shown_rows(columns: &[ArrayRef]) -> Vec<Vec<String>> {
    let options = FormatOptions::new().with_null("NULL");
    let each = columns.iter().map(|column| ArrayFormatter::try_new(column.as_ref(), &options).unwrap());
    each.zip(columns).map(|(texts, column)| (0..column.len()).map(|row| texts.value(row).to_string()).collect()).collect()
}

#[test]
fn clauses_bind_over_rows_they_see() {
    use When::{Matched, NotMatched, NotMatchedBySource};
    let clauses = read(&[
        clause(Matched, "s.name = 'B'", Action::Delete),
        clause(NotMatched, "id > 1", Action::Insert(given(&[("t.ID", "s.id"), ("name", "upper(name)"), ("n", "DEFAULT")]))),
        clause(Matched, "", Action::Update(given(&[("T.n", "n + extra"), ("name", "s.name")]))),
        clause(NotMatchedBySource, "", Action::Update(given(&[("name", "concat(name, '-', t.id)")]))),
    ]);
    let Clauses { matched, not_matched, not_matched_by_source } = clauses.unwrap();
    let [TargetClause { condition: Some(gone), act: Act::Delete }, TargetClause { condition: None, act: Act::Update(changed) }] =
        matched.as_slice()
    else {
        panic!("{matched:?}")
    };
    let pairs = pairs();
    let found = gone.evaluate(&pairs).unwrap();
    assert_eq!((found.value(0), found.value(1)), (false, true));
    assert_eq!(shown_rows(&changed.apply(&pairs.columns()[..3], &pairs).unwrap()), [["1", "2"], ["A", "B"], ["110", "220"]]);

    let [InsertClause { condition: Some(condition), columns }] = not_matched.as_slice() else { panic!("{not_matched:?}") };
    let rows = pairs.project(&[3, 4]).unwrap();
    assert_eq!(condition.evaluate(&rows).unwrap().true_count(), 1);
    assert_eq!(columns.iter().map(|(place, _)| *place).collect::<Vec<_>>(), [0, 1, 2]);
    let values: Vec<ArrayRef> = columns.iter().map(|(_, value)| value.evaluate(&rows).unwrap()).collect();
    assert_eq!(shown_rows(&values), [["1", "2"], ["A", "B"], ["42", "42"]]);

    let [TargetClause { condition: None, act: Act::Update(changed) }] = not_matched_by_source.as_slice() else { panic!() };
    let rows = pairs.project(&[0, 1, 2]).unwrap();
    assert_eq!(shown_rows(&changed.apply(rows.columns(), &rows).unwrap())[1], ["a-1", "b-2"]);
}

#[test]
fn star_takes_source_columns_by_name() {
    let mut target = schema(&[("name", P::String), ("id", P::Integer), ("twice", P::Long)]);
    target.fields[2].metadata.insert(GENERATION_EXPRESSION.into(), json!("id * 2"));
    let all = [clause(When::Matched, "", Action::UpdateAll), clause(When::NotMatched, "", Action::InsertAll)];
    let clauses = Clauses::new(&all, &sides(&target, &source()), &target, false).unwrap();
    let pairs = pairs();
    let Act::Update(changed) = &clauses.matched[0].act else { panic!() };
    let before = [Arc::clone(pairs.column(1)), Arc::clone(pairs.column(0)), Arc::clone(pairs.column(2))];
    // The table computes the generated column.
    assert_eq!(shown_rows(&changed.apply(&before, &pairs).unwrap()), [["A", "B"], ["1", "2"], ["10", "20"]]);
    assert_eq!(changed.columns().into_iter().collect::<Vec<_>>(), [0, 1]);
    let values: Vec<ArrayRef> = clauses.not_matched[0].columns.iter().map(|(_, value)| value.evaluate(&pairs).unwrap()).collect();
    assert_eq!(shown_rows(&values), [["A", "B"], ["1", "2"]]);
}

#[test]
fn star_lacking_column_needs_schema_evolution() {
    let all = [clause(When::Matched, "", Action::UpdateAll)];
    assert_eq!(
        refused(&all, ErrorKind::SchemaMismatch),
        "WHEN MATCHED: UPDATE SET * takes every column from the source, but the source lacks n; name the columns one by one, or ignore the missing ones with schema_mode=\"merge\""
    );
    let all = [all, [clause(When::NotMatched, "", Action::InsertAll)]].concat();
    let clauses = Clauses::new(&all, &sides(&target(), &source()), &target(), true).unwrap();
    let Act::Update(changed) = &clauses.matched[0].act else { panic!() };
    assert_eq!(changed.columns().into_iter().collect::<Vec<_>>(), [0, 1]);
    assert_eq!(clauses.not_matched[0].columns.len(), 2);
}

#[test]
fn clauses_that_break_a_rule_are_refused() {
    use When::{Matched, NotMatched, NotMatchedBySource};
    let input = ErrorKind::InvalidInput;
    assert!(refused(&[], input.clone()).starts_with("a merge without clauses "));
    let check = |when, action, expected: &str| {
        let message = refused(&[clause(when, "", action)], ErrorKind::InvalidInput);
        assert_eq!(message, expected);
    };
    check(NotMatched, Action::Delete, "WHEN NOT MATCHED: rows can only be inserted");
    check(Matched, Action::InsertAll, "WHEN MATCHED: rows can only be updated or deleted");
    check(
        NotMatchedBySource,
        Action::UpdateAll,
        "WHEN NOT MATCHED BY SOURCE: rows can only be deleted, or updated column by column, because there is no source row",
    );
    check(Matched, Action::Update(vec![]), "WHEN MATCHED: name at least one column and its value");
    let twice = [clause(Matched, "", Action::Delete), clause(Matched, "t.id = 1", Action::Delete)];
    assert!(refused(&twice, input).starts_with("WHEN MATCHED: only the last of these clauses"));
    let last = [
        clause(Matched, "t.id = 1", Action::Delete),
        clause(NotMatchedBySource, "", Action::Delete),
        clause(Matched, "", Action::Delete),
    ];
    assert_eq!(read(&last).unwrap().matched.len(), 2);
}

#[test]
fn columns_that_cannot_get_values_are_refused() {
    use When::{Matched, NotMatched, NotMatchedBySource};
    let predicate = |clause: Clause| refused(&[clause], ErrorKind::Predicate);
    let insert = |columns| clause(NotMatched, "", Action::Insert(given(columns)));
    assert_eq!(predicate(insert(&[("extra", "1")])), "WHEN NOT MATCHED: the table has no column `extra`; it has id, name, n");
    assert_eq!(predicate(insert(&[("id", "1"), ("t.id", "2")])), "WHEN NOT MATCHED: column id is given more than one value");
    assert!(
        predicate(insert(&[("id", "t.id")]))
            .contains("column id: in the expression `t.id`, at character 1 (`t.id`): `t.id` is a column of the target")
    );
    let update = |when, columns| clause(when, "", Action::Update(given(columns)));
    assert_eq!(predicate(update(Matched, &[("n", "1"), ("t.n", "2")])), "WHEN MATCHED: column n is assigned more than once");
    assert!(predicate(update(Matched, &[("n", "id")])).ends_with("`id` is a column of both tables; write t.id or s.ID"));
    assert!(predicate(update(NotMatchedBySource, &[("n", "extra")])).contains("`extra` is a column of the source"));
    let nested = schema::<DataType>(&[("id", P::Integer.into()), ("st", schema(&[("x", P::Long)]).into())]);
    let error = Clauses::new(&[insert(&[("st.x", "1")])], &sides(&nested, &source()), &nested, false).unwrap_err();
    assert_eq!(error.message(), "WHEN NOT MATCHED: st.x: a new row needs values for whole columns, not for fields inside them");
}

#[test]
fn history_shows_clauses_as_given() {
    let clauses = [
        clause(When::Matched, "s.x > \"1\"", Action::UpdateAll),
        clause(When::NotMatched, "", Action::InsertAll),
        clause(When::Matched, "", Action::Delete),
    ];
    assert_eq!(shown(&clauses, When::Matched), r#"[{"predicate":"s.x > \"1\"","actionType":"update"},{"actionType":"delete"}]"#);
    assert_eq!(shown(&clauses, When::NotMatched), r#"[{"actionType":"insert"}]"#);
    assert_eq!(shown(&clauses, When::NotMatchedBySource), "[]");
}

/// Returns the columns of a table after schema evolution, with their types.
fn evolved(clauses: &[Clause]) -> Vec<String> {
    let inner = |names: &[&str]| DataType::from(schema(&names.iter().map(|name| (*name, P::Long)).collect::<Vec<_>>()));
    let target = schema(&[("id", P::Integer.into()), ("st", inner(&["x"]))]);
    let source =
        schema(&[("id", P::Long.into()), ("st", inner(&["x", "y", "z"])), ("new", P::Date.into()), ("More", P::Date.into())]);
    let part = evolving(&source, clauses, "t").unwrap();
    let merged = merge(&target, &part, MergeOptions { widen: true });
    let shown = |field: &StructField| match &field.data_type {
        DataType::Primitive(primitive) => format!("{}: {primitive}", field.name),
        DataType::Struct(below) => {
            let names: Vec<&str> = below.fields.iter().map(|field| field.name.as_str()).collect();
            format!("{}: {}", field.name, names.join(" "))
        }
        other => panic!("{other:?}"),
    };
    merged.fields.iter().map(shown).collect()
}

#[test]
fn evolved_columns_have_names_of_source() {
    let update = |columns| clause(When::Matched, "", Action::Update(given(columns)));
    assert_eq!(evolved(&[update(&[("id", "s.id + 1"), ("more", "s.new")])]), ["id: long", "st: x", "More: date"]);
    assert_eq!(evolved(&[update(&[("t.new", "s.new")])]), ["id: integer", "st: x", "new: date"]);
    assert_eq!(evolved(&[update(&[("st.y", "1")])]), ["id: integer", "st: x y"]);
    assert_eq!(evolved(&[update(&[("unknown", "1")])]), ["id: integer", "st: x"]);
    let insert = clause(When::NotMatched, "", Action::InsertAll);
    assert_eq!(evolved(&[insert]), ["id: long", "st: x y z", "new: date", "More: date"]);
    let unmatched = clause(When::NotMatchedBySource, "", Action::Update(given(&[("new", "NULL")])));
    assert_eq!(evolved(&[unmatched]), ["id: integer", "st: x"]);
    assert_eq!(evolved(&[clause(When::Matched, "", Action::Delete)]), ["id: integer", "st: x"]);
}
