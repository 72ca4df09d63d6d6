//! Tests what columns contain after assignments, with hand-written expectations.

use arrow_array::{Date32Array, Decimal128Array, Int32Array, Int64Array, StringArray};
use lakebed_core::ErrorKind;
use lakebed_expr::{Options, filter_schema, parse_expr};
use serde_json::json;

use super::*;
use crate::kit::error::check_error;

fn schema() -> StructType {
    let inner = StructType { fields: vec![StructField::new("k", PrimitiveType::Long, true)] };
    let mut with_default = StructField::new("day", PrimitiveType::Date, true);
    with_default.metadata.insert(CURRENT_DEFAULT.to_owned(), json!("DATE '2024-02-29'"));
    let mut generated = StructField::new("twice", PrimitiveType::Long, true);
    generated.metadata.insert(GENERATION_EXPRESSION.to_owned(), json!("id * 2"));
    let fields = vec![
        StructField::new("id", PrimitiveType::Long, true),
        StructField::new("Name", PrimitiveType::String, true),
        StructField::new("price", PrimitiveType::Decimal { precision: 6, scale: 2 }, true),
        StructField::new(
            "s",
            StructType {
                fields: vec![
                    StructField::new("x", PrimitiveType::Integer, true),
                    StructField::new("a.b", PrimitiveType::String, true),
                    StructField::new("inner", inner, true),
                ],
            },
            true,
        ),
        StructField::new("code", PrimitiveType::Char { length: 4 }, true),
        with_default,
        generated,
    ];
    StructType { fields }
}

/// Returns rows 1 to 3. The struct of row 2 is null and has hidden values below it. The struct of
/// row 3 has a null inside.
fn rows() -> RecordBatch {
    let schema = filter_schema(&schema()).unwrap();
    let ArrowType::Struct(fields) = schema.field(3).data_type() else { panic!() };
    let ArrowType::Struct(inner) = fields[2].data_type() else { panic!() };
    let inner =
        StructArray::new(inner.clone(), vec![Arc::new(Int64Array::from(vec![10, 20, 30]))], Some(vec![true, true, false].into()));
    let parts: Vec<ArrayRef> =
        vec![Arc::new(Int32Array::from(vec![100, 200, 300])), Arc::new(StringArray::from(vec!["p", "q", "r"])), Arc::new(inner)];
    let s = StructArray::new(fields.clone(), parts, Some(vec![true, false, true].into()));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(vec![1, 2, 3])),
        Arc::new(StringArray::from(vec![Some("7"), None, Some("9")])),
        Arc::new(Decimal128Array::from(vec![150, 250, 350]).with_precision_and_scale(6, 2).unwrap()),
        Arc::new(s),
        Arc::new(StringArray::from(vec!["a   ", "b   ", "c   "])),
        Arc::new(Date32Array::from(vec![1, 2, 3])),
        Arc::new(Int64Array::from(vec![2, 4, 6])),
    ];
    RecordBatch::try_new(Arc::new(schema), columns).unwrap()
}

fn assignments(given: &[(&str, &str)], absent: Absent) -> Result<Assignments> {
    let given: Vec<(String, String)> = given.iter().map(|(column, text)| ((*column).to_owned(), (*text).to_owned())).collect();
    let schema = filter_schema(&schema()).unwrap();
    Assignments::with(&self::schema(), &given, absent, &|text| parse_expr(text, &schema, &Options::default()))
}

/// Returns the columns after the assignments, one string per row.
fn after(given: &[(&str, &str)]) -> Vec<Vec<String>> {
    let rows = rows();
    let after = assignments(given, Absent::Refused).unwrap().apply(rows.columns(), &rows).unwrap();
    after.iter().map(shown).collect()
}

fn shown(array: &ArrayRef) -> Vec<String> {
    let options = arrow_cast::display::FormatOptions::new().with_null("NULL");
    let texts = arrow_cast::display::ArrayFormatter::try_new(array.as_ref(), &options).unwrap();
    (0..array.len()).map(|row| texts.value(row).to_string()).collect()
}

fn refused(given: &[(&str, &str)]) -> (ErrorKind, String) {
    let error = assignments(given, Absent::Refused).unwrap_err();
    (error.kind().clone(), error.message().to_owned())
}

#[test]
fn assigned_value_gets_type_of_column() {
    let after = after(&[("ID", "name"), ("price", "id * 1.005"), ("code", "'xy'"), ("name", "id > 1")]);
    assert_eq!(after[0], ["7", "NULL", "9"]);
    assert_eq!(after[1], ["false", "true", "true"]);
    assert_eq!(after[2], ["1.01", "2.01", "3.02"]);
    assert_eq!(after[4], ["xy  ", "xy  ", "xy  "]);
    assert_eq!(after[5], shown(rows().column(5)));
}

#[test]
fn nested_fields_are_cast_by_name() {
    let after = after(&[("s", "named_struct('inner', named_struct('K', price), 'A.B', id, 'X', name)")]);
    assert_eq!(after[3], ["{x: 7, a.b: 1, inner: {k: 1}}", "{x: NULL, a.b: 2, inner: {k: 2}}", "{x: 9, a.b: 3, inner: {k: 3}}"]);
    let failing = assignments(&[("s", "named_struct('x', code, 'a.b', '', 'inner', NULL)")], Absent::Refused).unwrap();
    let error = failing.apply(rows().columns(), &rows()).unwrap_err();
    check_error(&error, &ErrorKind::Predicate, &["column s: ", "'a   ' cannot be cast to INT"]);
}

#[test]
fn assignments_see_row_before_update() {
    let after = after(&[("id", "s.x"), ("s.x", "id"), ("s.inner.k", "id + 1"), ("Name", "s.inner.k")]);
    assert_eq!(after[0], ["100", "NULL", "300"]);
    assert_eq!(after[1], ["10", "NULL", "NULL"]);
    assert_eq!(
        after[3],
        [
            "{x: 1, a.b: p, inner: {k: 2}}",
            // The struct was null, so its fields are null.
            "{x: 2, a.b: NULL, inner: {k: 3}}",
            "{x: 3, a.b: r, inner: {k: 4}}"
        ]
    );
}

#[test]
fn assigning_field_of_null_struct_makes_struct() {
    let after = after(&[("s.`A.B`", "'new'")]);
    assert_eq!(
        after[3],
        ["{x: 100, a.b: new, inner: {k: 10}}", "{x: NULL, a.b: new, inner: NULL}", "{x: 300, a.b: new, inner: NULL}"]
    );
}

#[test]
fn default_assigns_column_default_or_null() {
    let after = after(&[("day", " Default "), ("id", "DEFAULT"), ("s", "default"), ("twice", "DEFAULT")]);
    assert_eq!(after[5], ["2024-02-29"; 3]);
    assert_eq!(after[0], ["NULL"; 3]);
    assert_eq!(after[3], ["NULL"; 3]);
    assert_eq!(after[6], ["2", "4", "6"]);
    let assigned = assignments(&[("twice", "DEFAULT"), ("s.x", "s.inner.k + id"), ("id", "id")], Absent::Refused).unwrap();
    assert_eq!(assigned.columns(), BTreeSet::from([0, 3]));
    assert_eq!(assigned.reads(), [vec!["id"], vec!["s", "inner", "k"]]);
}

#[test]
fn what_cannot_be_assigned_is_refused() {
    let predicate = |text: &str| (ErrorKind::Predicate, text.to_owned());
    let mismatch = |text: &str| (ErrorKind::SchemaMismatch, text.to_owned());
    assert_eq!(refused(&[("nam", "1")]), predicate("the table has no column `nam`; did you mean `Name`?"));
    assert_eq!(
        refused(&[("no such", "1")]),
        predicate("the table has no column `no such`; it has id, Name, price, s, code, day, twice")
    );
    assert_eq!(refused(&[("s.xx", "1")]), predicate("column s has no field `xx`; did you mean `x`?"));
    assert_eq!(refused(&[("id.x", "1")]), predicate("`id` is not a struct, so it has no fields that can be assigned"));
    assert_eq!(refused(&[("id", "1"), ("ID", "2")]), predicate("column id is assigned more than once"));
    assert_eq!(
        refused(&[("s.x", "1"), ("s", "NULL")]),
        predicate("columns s.x and s are both assigned, but one is a part of the other")
    );
    assert_eq!(refused(&[("id", "day")]), predicate("column id: `day` is DATE, which cannot be cast to BIGINT"));
    assert_eq!(
        refused(&[("id", "nope")]),
        predicate(
            "column id: in the expression `nope`, at character 1 (`nope`): there is no column `nope`; there are id, Name, price, s, code, day, twice"
        )
    );
    assert_eq!(
        refused(&[("s", "id")]),
        mismatch(
            "column s: the value `id` does not fit:\n  ~ s: struct<x: integer, a.b: string, inner: struct<k: long>> in the table, long in the data"
        )
    );
    assert_eq!(
        refused(&[("s", "named_struct('x', 1)")]),
        mismatch("column s: the value `named_struct('x', 1)` lacks the field s.a.b")
    );
    assert_eq!(
        refused(&[("s", "named_struct('x', day, 'a.b', 'c', 'inner', NULL)")]),
        mismatch(
            "column s: the value `named_struct('x', day, 'a.b', 'c', 'inner', NULL)` does not fit:\n  ~ s.x: integer in the table, date in the data"
        )
    );
    assert_eq!(refused(&[("s", "s.inner")]).0, ErrorKind::SchemaMismatch);
    let failing = assignments(&[("id", "1 / (id - 2)")], Absent::Refused).unwrap();
    let error = failing.apply(rows().columns(), &rows()).unwrap_err();
    assert!(error.message().starts_with("column id: the expression `1 / (id - 2)` failed: "), "{error}");
}

/// Assigns a struct column `from` with fewer fields to `s`.
fn struct_set_from_fewer_fields(absent: Absent) -> Result<Vec<String>> {
    let inner = Fields::from(vec![Field::new("j", ArrowType::Int64, true)]);
    let fields =
        Fields::from(vec![Field::new("X", ArrowType::Int64, true), Field::new("inner", ArrowType::Struct(inner.clone()), true)]);
    let parts: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(vec![-1, -2, -3])),
        Arc::new(StructArray::new(inner, vec![Arc::new(Int64Array::from(vec![5, 6, 7]))], None)),
    ];
    let from: ArrayRef = Arc::new(StructArray::new(fields.clone(), parts, Some(vec![false, false, true].into())));
    let over = RecordBatch::try_from_iter_with_nullable([("from", from, true)]).unwrap();
    let mut table = schema();
    let DataType::Struct(s) = &mut table.fields[3].data_type else { panic!() };
    let DataType::Struct(inner) = &mut s.fields[2].data_type else { panic!() };
    inner.fields.push(StructField::new("j", PrimitiveType::Long, true));
    let given = [("s".to_owned(), "from".to_owned())];
    let assigned = Assignments::with(&table, &given, absent, &|text| parse_expr(text, &over.schema(), &Options::default()))?;
    // The columns before the assignment, as a scan returns them, with a new field.
    let before: Vec<ArrayRef> = rows()
        .columns()
        .iter()
        .zip(&table.fields)
        .map(|(column, field)| fit(column, &field.data_type, OnLossy::Error, ""))
        .collect::<Result<_>>()?;
    Ok(shown(&assigned.apply(&before, &over)?[3]))
}

#[test]
fn missing_fields_are_refused_null_or_kept() {
    let refused = struct_set_from_fewer_fields(Absent::Refused).unwrap_err();
    assert_eq!(refused.message(), "column s: the value `from` lacks the field s.a.b");
    let null = struct_set_from_fewer_fields(Absent::Null).unwrap();
    assert_eq!(null, ["NULL", "NULL", "{x: -3, a.b: NULL, inner: {k: NULL, j: 7}}"]);
    let kept = struct_set_from_fewer_fields(Absent::Kept).unwrap();
    assert_eq!(kept, ["{x: NULL, a.b: p, inner: {k: 10, j: NULL}}", "NULL", "{x: -3, a.b: r, inner: {k: NULL, j: 7}}"]);
}
