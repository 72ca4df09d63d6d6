//! Fields that are always null. No file has a column for them.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, NullArray, RecordBatch, StructArray};
use arrow_schema::{DataType, Field, Fields};
use lakebed::{Error, ErrorKind};
use lakebed_tests::TableBuilder;
use lakebed_tests::action::{metadata, protocol};
use lakebed_tests::lake::stream_of;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};

const FIELD: &str = r#"{"name":"a","type":"long","nullable":true,"metadata":{}}"#;
const VOID: &str = r#"{"name":"v","type":"void","nullable":true,"metadata":{}}"#;

/// Returns a table of `id long` and `s` with this type.
async fn table(of_s: &str) -> TableBuilder {
    let mut head = metadata(&["id long"], &[], &[]);
    let id = r#"{"name":"id","type":"long","nullable":true,"metadata":{}}"#;
    let schema = format!(r#"{{"type":"struct","fields":[{id},{{"name":"s","type":{of_s},"nullable":true,"metadata":{{}}}}]}}"#);
    head["metaData"]["schemaString"] = json!(schema);
    let builder = TableBuilder::with(protocol(&["deletionVectors"], &["deletionVectors"]), head);
    builder.commit(&[]).await;
    builder
}

async fn append(builder: &TableBuilder, s: ArrayRef) -> Result<u64, Error> {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..s.len() as i64));
    let batch = RecordBatch::try_from_iter_with_nullable([("id", ids, true), ("s", s, true)]).unwrap();
    let rows = stream_of(batch);
    Ok(builder.table().write(rows).run().await?.version)
}

fn with_void(values: Vec<Option<i64>>) -> ArrayRef {
    let fields = Fields::from(vec![Field::new("a", DataType::Int64, true), Field::new("v", DataType::Null, true)]);
    let void: ArrayRef = Arc::new(NullArray::new(values.len()));
    Arc::new(StructArray::new(fields, vec![Arc::new(Int64Array::from(values)), void], None))
}

fn without_void(values: Vec<Option<i64>>) -> ArrayRef {
    let fields = Fields::from(vec![Field::new("a", DataType::Int64, true)]);
    Arc::new(StructArray::new(fields, vec![Arc::new(Int64Array::from(values))], None))
}

/// Returns the values of `s.a`. Its sibling `s.v` is null in every row.
async fn values(builder: &TableBuilder) -> Vec<Option<i64>> {
    let batches = builder.table().snapshot().await.unwrap().scan().stream().await.unwrap().collect_all().await.unwrap();
    let mut found = Vec::new();
    for batch in batches {
        let s = batch.column(1).as_struct();
        assert_eq!(s.column(1).data_type(), &DataType::Null);
        found.extend(s.column(0).as_primitive::<Int64Type>().iter());
    }
    found.sort_unstable();
    found
}

async fn adds(builder: &TableBuilder, version: u64) -> Vec<Value> {
    let lines = String::from_utf8(builder.read_log(&format!("{version:020}.json")).await).unwrap();
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter_map(|line| line.get("add").cloned()).collect()
}

#[tokio::test]
async fn void_field_of_struct_reads_as_nulls() {
    let builder = table(&format!(r#"{{"type":"struct","fields":[{FIELD},{VOID}]}}"#)).await;
    assert_eq!(append(&builder, with_void(vec![Some(1), None])).await.unwrap(), 1);
    assert_eq!(append(&builder, without_void(vec![Some(2)])).await.unwrap(), 2);
    assert_eq!(values(&builder).await, [None, Some(1), Some(2)]);
    let [add] = &adds(&builder, 1).await[..] else { panic!("one file") };
    let stats: Value = serde_json::from_str(add["stats"].as_str().unwrap()).unwrap();
    assert_eq!(stats["nullCount"], json!({"id": 0, "s": {"a": 1, "v": 2}}));
    let file = builder.read(add["path"].as_str().unwrap()).await;
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(file)).unwrap();
    let columns: Vec<String> = reader.parquet_schema().columns().iter().map(|column| column.path().string()).collect();
    assert_eq!(columns, ["id", "s.a"]);
    // The update changes rows and rewrites files.
    builder.table().update().set("id", "id + 10").filter("s.a = 2").run().await.unwrap();
    builder.table().delete().filter("s.a = 1").run().await.unwrap();
    builder.table().optimize().run().await.unwrap();
    assert_eq!(values(&builder).await.len(), 2);
}

#[tokio::test]
async fn what_no_file_can_hold_is_refused() {
    let only_void = StructArray::new(
        Fields::from(vec![Field::new("v", DataType::Null, true)]),
        vec![Arc::new(NullArray::new(1)) as ArrayRef],
        None,
    );
    let cases: [(String, ArrayRef, &str); 2] = [
        (format!(r#"{{"type":"struct","fields":[{VOID}]}}"#), Arc::new(only_void), "all its fields are of type void"),
        (
            r#"{"type":"array","elementType":"void","containsNull":true}"#.to_owned(),
            Arc::new(NullArray::new(1)),
            "are not allowed inside arrays and maps",
        ),
    ];
    for (of_s, s, expected) in cases {
        let error = append(&table(&of_s).await, s).await.unwrap_err();
        assert!(*error.kind() == ErrorKind::InvalidInput && error.message().contains(expected), "{error}");
    }
}
