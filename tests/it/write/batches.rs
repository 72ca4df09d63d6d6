//! Batches of streams. A repeated batch is not written again. A batch that only shares its number
//! with a known batch is refused.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use futures::future::join_all;
use lakebed::dml::write::{PlannedWrite, WriteOptions};
use lakebed::transaction::{Application, Batch};
use lakebed::{ErrorKind, RecordBatchStream};
use lakebed_core::schema::{PrimitiveType, StructField, StructType};
use lakebed_tests::TableBuilder;
use lakebed_tests::action::text;
use lakebed_tests::lake::stream_of;
use serde_json::json;

fn stream(rows: i64) -> RecordBatchStream {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
    let batch = RecordBatch::try_from_iter_with_nullable([("id", ids, true)]).unwrap();
    stream_of(batch)
}

fn options(version: i64, batch: Batch) -> WriteOptions {
    let txn = Some(Application { id: "app".to_owned(), version, batch: Some(batch), others: Vec::new() });
    WriteOptions { txn, ..WriteOptions::default() }
}

/// Returns whether a batch of so many rows is written to the table, or the error.
async fn written(builder: &TableBuilder, version: i64, batch: Batch, rows: i64) -> Result<bool, String> {
    let outcome = builder.table().write(stream(rows)).options(options(version, batch)).run().await;
    outcome.map(|outcome| outcome.committed).map_err(|error| {
        assert_eq!(*error.kind(), ErrorKind::InvalidInput, "{error}");
        error.message().to_owned()
    })
}

fn batch(query: i64, offsets: i64) -> Batch {
    Batch { query: Some(query), offsets: Some(offsets), ..Batch::default() }
}

#[tokio::test]
async fn batch_is_known_by_query_offsets_rows() {
    let nameless = || Batch { query: None, offsets: None, ..batch(0, 0) };
    // Batches given after batch 3 of query 1 at the offsets 30 with 5 rows, and their results.
    let cases = [
        (3, batch(1, 30), 5, Ok(false)),
        (3, batch(1, 30), 6, Ok(false)),
        (3, batch(1, 40), 5, Err("it ends at other offsets of its source")),
        (3, batch(2, 30), 5, Err("belongs to another query: the table has batch 3")),
        (3, nameless(), 5, Ok(false)),
        (3, nameless(), 10, Err("has 10 rows, and the batch with this number in the table had 5")),
        (3, Batch { query: Some(1), ..nameless() }, 10, Err("has 10 rows, and the batch with this number in the table had 5")),
        (3, Batch { is_trusted: true, ..batch(1, 30) }, 10, Ok(false)),
        (3, Batch { is_trusted: true, ..nameless() }, 10, Ok(false)),
        (3, Batch { is_trusted: true, ..batch(2, 30) }, 5, Err("belongs to another query: the table has batch 3")),
        (3, Batch { is_trusted: true, ..batch(1, 40) }, 5, Err("it ends at other offsets of its source")),
        (2, batch(1, 20), 5, Err("is neither the next batch nor a repeated one: the table has batch 3 of the stream")),
        (2, nameless(), 5, Err("is neither the next batch nor a repeated one: the table has batch 3 of the stream")),
        (
            2,
            Batch { is_trusted: true, ..nameless() },
            5,
            Err("is neither the next batch nor a repeated one: the table has batch 3 of the stream"),
        ),
        (4, batch(2, 40), 5, Err("belongs to another query: the table has batch 3")),
        (4, batch(1, 40), 5, Ok(true)),
        (4, nameless(), 5, Ok(true)),
    ];
    for (version, given, rows, expected) in cases {
        let builder = TableBuilder::new();
        assert_eq!(written(&builder, 3, batch(1, 30), 5).await, Ok(true));
        let found = written(&builder, version, given.clone(), rows).await;
        match (&found, expected) {
            (Err(message), Err(said)) => assert!(message.contains(said) && message.contains("batch"), "{given:?}: {message}"),
            (found, expected) => assert_eq!(found.clone().ok(), expected.ok(), "{given:?}: {found:?}"),
        }
        let snapshot = builder.table().snapshot().await.unwrap();
        let all = if expected == Ok(true) { 5 + rows } else { 5 };
        assert_eq!(snapshot.scan().count().await.unwrap(), u64::try_from(all).unwrap());
    }
}

#[tokio::test]
async fn batch_marks_come_from_checkpoint_without_checksum() {
    let builder = TableBuilder::new();
    assert_eq!(written(&builder, 3, batch(1, 30), 5).await, Ok(true));
    builder.table().snapshot().await.unwrap().checkpoint().await.unwrap();
    for name in ["00000000000000000000.crc", "00000000000000000000.json"] {
        builder.delete_log(name).await;
    }
    let error = written(&builder, 3, batch(2, 30), 5).await.unwrap_err();
    assert!(error.contains("batch 3 of stream 'app' belongs to another query"), "{error}");
    assert_eq!(written(&builder, 3, batch(1, 30), 5).await, Ok(false));
}

#[tokio::test]
async fn batch_marks_of_earlier_number_are_ignored() {
    let builder = TableBuilder::new();
    assert_eq!(written(&builder, 3, batch(1, 30), 5).await, Ok(true));
    // An engine that writes no marks committed the next batch.
    let theirs = json!({"txn": {"appId": "app", "version": 4, "lastUpdated": 77}});
    builder.put_log("00000000000000000001.json", text(&[theirs])).await;
    assert_eq!(written(&builder, 4, batch(2, 40), 10).await, Ok(false));
    assert_eq!(written(&builder, 5, batch(2, 50), 5).await, Ok(true));
    let error = written(&builder, 5, batch(1, 50), 5).await.unwrap_err();
    assert!(error.contains("batch 5 of stream 'app' belongs to another query"), "{error}");
}

#[tokio::test]
async fn plan_asks_for_rows_as_last_resort() {
    let builder = TableBuilder::new();
    assert_eq!(written(&builder, 3, batch(1, 30), 5).await, Ok(true));
    let plan = async |batch: Batch| {
        let schema = StructType { fields: vec![StructField::new("id", PrimitiveType::Long, true)] };
        builder.table().plan_write(schema, options(3, batch)).await
    };
    assert!(matches!(plan(batch(1, 30)).await.unwrap(), PlannedWrite::Done(_)));
    assert!(matches!(plan(Batch { is_trusted: true, ..batch(1, 30) }).await.unwrap(), PlannedWrite::Done(_)));
    assert!(matches!(plan(Batch { rows: Some(6), ..batch(1, 30) }).await.unwrap(), PlannedWrite::Done(_)));
    let nameless = Batch { offsets: None, ..batch(1, 0) };
    assert!(matches!(plan(nameless.clone()).await.unwrap(), PlannedWrite::CountRows));
    assert!(matches!(plan(Batch { rows: Some(5), ..nameless.clone() }).await.unwrap(), PlannedWrite::Done(_)));
    assert!(plan(Batch { rows: Some(6), ..nameless }).await.unwrap_err().message().contains("has 6 rows"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn same_batch_by_many_writers_commits_once() {
    let builder = TableBuilder::new();
    for number in 0..4 {
        let writers = (0..6).map(|_| written(&builder, number, batch(1, number), 5));
        let outcomes = join_all(writers).await;
        assert_eq!(outcomes.iter().filter(|outcome| **outcome == Ok(true)).count(), 1, "{outcomes:?}");
        assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    }
    assert_eq!(builder.table().snapshot().await.unwrap().scan().count().await.unwrap(), 20);
    // Two streams use one name. One of them commits, and the other is refused.
    let outcomes = join_all([written(&builder, 4, batch(1, 7), 5), written(&builder, 4, batch(2, 8), 5)]).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{outcomes:?}");
}
