//! Batches that the table can recognize only by their number of rows.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use futures::stream;
use lakebed::dml::ChangeOptions;
use lakebed::dml::write::WriteOptions;
use lakebed::transaction::{Application, Batch};
use lakebed::{ErrorKind, RecordBatchStream};
use lakebed_core::error::ConflictKind;
use lakebed_tests::TableBuilder;
use lakebed_tests::lake::stream_of;

fn rows() -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable([("id", Arc::new(Int64Array::from(vec![1, 2, 3])) as ArrayRef, true)]).unwrap()
}

fn batch(batch: Batch) -> Option<Application> {
    Some(Application { id: "app".to_owned(), version: 3, batch: Some(batch), others: Vec::new() })
}

fn options() -> WriteOptions {
    WriteOptions { txn: batch(Batch::default()), ..WriteOptions::default() }
}

/// Returns a table with batch 3, which has three rows.
async fn table_with_batch() -> Arc<TableBuilder> {
    let builder = TableBuilder::new();
    let given = stream_of(rows());
    builder.table().write(given).options(options()).run().await.unwrap();
    Arc::new(builder)
}

#[tokio::test]
async fn batch_lost_during_count_is_written_again() {
    let builder = table_with_batch().await;
    let reading = Arc::clone(&builder);
    let lost = stream::once(async move {
        for name in ["00000000000000000000.json", "00000000000000000000.crc"] {
            reading.delete_log(name).await;
        }
        Ok(rows())
    });
    let error = builder.table().write(RecordBatchStream::new(rows().schema(), lost)).options(options()).run().await.unwrap_err();
    let conflict = ErrorKind::CommitConflict { kind: ConflictKind::ConcurrentTransaction, winner_version: 0, retryable: true };
    assert_eq!(*error.kind(), conflict, "{error}");
    assert!(error.message().contains("write the batch again"), "{error}");
    assert_eq!(*builder.table().snapshot().await.unwrap_err().kind(), ErrorKind::TableNotFound);
    let again = stream_of(rows());
    let outcome = builder.table().write(again).options(options()).run().await.unwrap();
    assert_eq!((outcome.committed, outcome.metrics.output_rows), (true, 3));
}

#[tokio::test]
async fn change_needing_row_count_is_refused() {
    let builder = table_with_batch().await;
    let delete = async |given: Batch| {
        let options = ChangeOptions { txn: batch(given), ..ChangeOptions::default() };
        builder.table().delete().filter("id = 1").change(options).run().await
    };
    let error = delete(Batch::default()).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::InvalidInput, "{error}");
    assert!(error.message().contains("the table has batch 3 of stream 'app', and lakebed cannot check"), "{error}");
    assert!(!delete(Batch { is_trusted: true, ..Batch::default() }).await.unwrap().committed);
    assert_eq!(builder.table().snapshot().await.unwrap().scan().count().await.unwrap(), 3);
}
