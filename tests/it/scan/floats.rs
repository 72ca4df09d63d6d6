//! Predicates on floating-point numbers: the files that they skip, and the number of footers that
//! lakebed reads to find out whether bounds cover NaN.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::{Float64Array, RecordBatch};
use lakebed_tests::TableBuilder;
use lakebed_tests::action::{VECTOR_FILE, add, metadata, protocol, vector, with, with_vector};
use lakebed_tests::table::parquet_bytes_with;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use serde_json::{Value, json};

const PARQUET_MR: &str = "parquet-mr version 1.17.0 (build 1)";
const DELTA_SPARK: &str = "Apache-Spark/4.2.0 Delta-Lake/4.4.0";

/// Returns a table with four files of `d` in 0..1000, 1000..2000 and so on, and the `add` actions
/// of the files. The footers name this writer.
async fn files(created_by: &str) -> (TableBuilder, Vec<Value>) {
    files_marked(created_by, None).await
}

/// Returns the same table with these keys in the footers.
async fn files_marked(created_by: &str, keys: Option<Vec<KeyValue>>) -> (TableBuilder, Vec<Value>) {
    // Footers in memory are found by path. Tests that run beside each other use different ones.
    static TABLES: AtomicUsize = AtomicUsize::new(0);
    let table = TABLES.fetch_add(1, Ordering::Relaxed);
    let builder = TableBuilder::with(protocol(&[], &[]), metadata(&["d double"], &[], &[]));
    let mut adds = Vec::new();
    for number in 0..4 {
        let values = Float64Array::from_iter_values((0..1000).map(|row| f64::from(number * 1000 + row)));
        let rows = RecordBatch::try_from_iter([("d", Arc::new(values) as _)]).unwrap();
        let properties =
            WriterProperties::builder().set_created_by(created_by.to_owned()).set_key_value_metadata(keys.clone()).build();
        let bytes = parquet_bytes_with(&rows, properties);
        let bounds = |row: i32| json!({"d": f64::from(number * 1000 + row)});
        let stats = json!({"numRecords": 1000, "minValues": bounds(0), "maxValues": bounds(999), "nullCount": {"d": 0}});
        let path = format!("{table}-{number}");
        adds.push(with(add(&path), json!({"size": bytes.len(), "stats": stats.to_string()})));
        builder.put(&path, bytes).await;
    }
    (builder, adds)
}

/// Checks the number of remaining files and the number of requests for data files, first once and
/// then a second time.
async fn check(builder: &TableBuilder, expected: [(usize, usize); 2]) {
    let table = builder.table();
    let snapshot = table.snapshot().await.unwrap();
    for (files, requests) in expected {
        builder.observed().take_counts();
        let found = snapshot.scan().filter("d > 2500").files().await.unwrap().collect_all().await.unwrap();
        let taken: usize = found.iter().map(RecordBatch::num_rows).sum();
        assert_eq!((taken, builder.observed().take_counts().data_files()), (files, requests));
    }
    let count = snapshot.scan().filter("d > 2500").count().await.unwrap();
    assert_eq!(count, 1499);
}

fn info(engine: &str, operation: &str) -> Value {
    json!({"commitInfo": {"engineInfo": engine, "operation": operation}})
}

#[tokio::test]
async fn commit_info_proves_statistics_of_delta_spark() {
    let (builder, mut adds) = files(PARQUET_MR).await;
    adds.insert(0, info(DELTA_SPARK, "WRITE"));
    builder.commit(&adds).await;
    check(&builder, [(2, 0), (2, 0)]).await;
}

#[tokio::test]
async fn footers_are_read_once_when_log_silent() {
    for is_checkpoint in [false, true] {
        let (builder, adds) = files(PARQUET_MR).await;
        builder.commit(&[[info(DELTA_SPARK, "CONVERT")].as_slice(), &adds].concat()).await;
        if is_checkpoint {
            builder.checkpoint(0, &adds).await;
            builder.hint(0).await;
        }
        // The two files that the bounds keep need no footers.
        check(&builder, [(2, 2), (2, 0)]).await;
    }
}

#[tokio::test]
async fn files_of_writers_ignoring_nan_are_kept() {
    for (writer, is_marked) in [
        ("parquet-rs version 59.3.2", false),
        ("parquet-mr version 1.8.2 (build 1)", false),
        ("parquet-cpp-arrow version 26.0.1", true),
    ] {
        // pyarrow copies lakebed's mark into a file that it writes from the rows.
        let mark = is_marked.then(|| vec![KeyValue::new("lakebed.completeStats".to_owned(), "true".to_owned())]);
        let (builder, adds) = files_marked(writer, mark).await;
        builder.commit(&adds).await;
        check(&builder, [(4, 2), (4, 0)]).await;
    }
}

#[tokio::test]
async fn tag_marks_lakebed_files_in_checkpoint() {
    for is_checkpoint in [false, true] {
        let (builder, mut adds) = files("any").await;
        for add in &mut adds {
            *add = with(add.take(), json!({"tags": {"lakebed.completeStats": "true"}}));
        }
        builder.commit(&adds).await;
        if is_checkpoint {
            builder.checkpoint(0, &adds).await;
            builder.hint(0).await;
        }
        check(&builder, [(2, 0), (2, 0)]).await;
    }
}

/// A DELETE of Delta Spark adds a file of another writer again, with its old statistics.
#[tokio::test]
async fn vector_makes_statistics_of_file_uncertain() {
    let (builder, mut adds) = files("any").await;
    for (number, add) in (1..).zip(&mut adds) {
        *add = with_vector(add.take(), vector("u", VECTOR_FILE, number));
    }
    adds.insert(0, info(DELTA_SPARK, "DELETE"));
    builder.commit(&adds).await;
    let snapshot = builder.table().snapshot().await.unwrap();
    let found = snapshot.scan().filter("d > 2500").files().await.unwrap().collect_all().await.unwrap();
    assert_eq!(found.iter().map(RecordBatch::num_rows).sum::<usize>(), 4);
}
