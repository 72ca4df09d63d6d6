use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, StructArray};
use arrow_schema::{DataType as ArrowType, Field, Fields};
use parquet::arrow::PARQUET_FIELD_ID_META_KEY;
use serde_json::json;

use lakebed_core::schema::PrimitiveType;
use lakebed_core::schema::mapping::MappingMode;

use super::*;

/// Returns a logical field that has another name in files.
fn mapped(name: &str, id: i32, physical: &str, data_type: impl Into<DataType>) -> StructField {
    let mut field = StructField::new(name, data_type, true);
    field.metadata.insert("delta.columnMapping.id".to_owned(), json!(id));
    field.metadata.insert("delta.columnMapping.physicalName".to_owned(), json!(physical));
    field
}

/// Returns a Parquet field with an id.
fn with_id(name: &str, id: Option<i32>, data_type: ArrowType) -> Field {
    let metadata = id.map(|id| (PARQUET_FIELD_ID_META_KEY.to_owned(), id.to_string()));
    Field::new(name, data_type, true).with_metadata(metadata.into_iter().collect::<HashMap<_, _>>())
}

fn longs(values: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

fn file_of(columns: Vec<(Field, ArrayRef)>) -> Vec<u8> {
    let (fields, columns): (Vec<Field>, Vec<ArrayRef>) = columns.into_iter().unzip();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
    write(&batch, WriterProperties::builder().build())
}

/// `id` is `col-1` (1), `s` is `col-2` (2) with `x` as `col-3` (3).
fn fields() -> Vec<StructField> {
    let inner = StructType { fields: vec![mapped("x", 3, "col-3", PrimitiveType::Long)] };
    vec![mapped("id", 1, "col-1", PrimitiveType::Long), mapped("s", 2, "col-2", inner)]
}

/// Returns a file with columns of these names and ids.
fn named(top: (&str, Option<i32>), record: (&str, Option<i32>), inner: (&str, Option<i32>)) -> Vec<u8> {
    let inner = Fields::from(vec![with_id(inner.0, inner.1, ArrowType::Int64)]);
    let stored: ArrayRef = Arc::new(StructArray::new(inner.clone(), vec![longs(&[10, 20])], None));
    file_of(vec![
        (with_id(record.0, record.1, ArrowType::Struct(inner)), stored),
        (with_id(top.0, top.1, ArrowType::Int64), longs(&[1, 2])),
    ])
}

#[tokio::test]
async fn name_mapping_ignores_field_ids() {
    let mut table = Table::new(fields());
    table.task.spec.mapping_mode = MappingMode::Name;
    table.add(named(("col-1", Some(77)), ("col-2", None), ("col-3", Some(1)))).await;
    // The columns of the file with the logical names are other columns, which were dropped.
    table.add(named(("id", Some(1)), ("s", Some(2)), ("x", Some(3)))).await;
    assert_eq!(table.rows().await, ["1|{x: 10}", "2|{x: 20}", "-|-", "-|-"]);
    assert_eq!(table.filter("s.x = 20").columns(&["id"]).rows().await, ["2"]);
}

#[tokio::test]
async fn id_mapping_ignores_names() {
    let mut table = Table::new(fields());
    table.task.spec.mapping_mode = MappingMode::Id;
    table.add(named(("a", Some(1)), ("b", Some(2)), ("c", Some(3)))).await;
    // If the file has no column with an id, it lacks the column.
    table.add(named(("col-1", Some(9)), ("col-2", Some(2)), ("col-3", Some(8)))).await;
    assert_eq!(table.rows().await, ["1|{x: 10}", "2|{x: 20}", "-|{x: -}", "-|{x: -}"]);
    assert_eq!(table.filter("id >= 2").columns(&["s.x"]).rows().await, ["{x: 20}"]);

    table.add(named(("col-1", None), ("col-2", None), ("col-3", None))).await;
    table.check_corrupt("memory://test/f2.parquet", &[]).await;
}

#[tokio::test]
async fn duplicate_field_id_is_refused() {
    let mut table = Table::new(fields());
    table.task.spec.mapping_mode = MappingMode::Id;
    table.add(named(("a", Some(1)), ("b", Some(1)), ("c", Some(3)))).await;
    table.check_corrupt("memory://test/f0.parquet", &["column id has the field id 1"]).await;
}

#[tokio::test]
async fn without_mapping_stray_physical_names_mean_nothing() {
    let mut table = Table::new(fields());
    table.add(named(("id", Some(5)), ("s", None), ("x", None))).await;
    assert_eq!(table.rows().await, ["1|{x: 10}", "2|{x: 20}"]);
}

#[tokio::test]
async fn exact_name_wins_over_other_case() {
    let column = |name: &str, value: i64| (Field::new(name, ArrowType::Int64, true), longs(&[value]));
    let mut table = Table::of("Id", PrimitiveType::Long);
    table.add(file_of(vec![column("id", 1), column("Id", 2), column("ID", 3)])).await;
    table.add(file_of(vec![column("ID", 4)])).await;
    assert_eq!(table.rows().await, ["2", "4"]);
    table.add(file_of(vec![column("id", 5), column("ID", 6)])).await;
    table.check_corrupt("memory://test/f2.parquet", &["column Id"]).await;
}

#[tokio::test]
async fn partition_value_uses_physical_name() {
    let mut table =
        Table::new(vec![mapped("id", 1, "col-1", PrimitiveType::Long), mapped("p", 4, "col-4", PrimitiveType::Integer)]);
    table.task.spec.mapping_mode = MappingMode::Name;
    table.task.spec.partition_columns = vec!["p".to_owned()];
    let file = table.add(file_of(vec![(with_id("col-1", Some(1), ArrowType::Int64), longs(&[1]))])).await;
    file.partition_values = [("col-4".to_owned(), Some("7".to_owned()))].into();
    assert_eq!(table.rows().await, ["1|7"]);
    assert_eq!(table.filter("p = 8").rows().await, [""; 0]);
}
