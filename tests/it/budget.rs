//! What is asked of a store: counts, not seconds.

use std::sync::Arc;

use arrow_array::{Int64Array, RecordBatch, StringArray};
use lakebed_tests::TableBuilder;
use lakebed_tests::table::{add, remove};
use serde_json::{Value, json};

fn adds(count: usize) -> Vec<Value> {
    (0..count).map(|number| add(&format!("f{number}.parquet"))).collect()
}

/// A table with a checkpoint at version 3 that the hint names, and commits after it.
async fn checkpointed(commits_after: usize) -> TableBuilder {
    let mut builder = TableBuilder::new();
    for file in adds(4) {
        builder.commit(&[file]).await;
    }
    builder.checkpoint(3, &adds(4)).await;
    builder.hint(3).await;
    for number in 0..commits_after {
        builder.commit(&[add(&format!("late{number}.parquet"))]).await;
    }
    builder.observed().take_counts();
    builder
}

#[tokio::test]
async fn open_reads_hint_listing_checkpoint_once() {
    let builder = checkpointed(0).await;
    let snapshot = builder.table().snapshot().await.unwrap();
    assert_eq!(snapshot.version(), 3);
    let counts = builder.observed().take_counts();
    assert_eq!((counts.lists, counts.gets), (1, 2), "{counts:?}");
}

#[tokio::test]
async fn open_reads_each_newer_commit_once() {
    let builder = checkpointed(3).await;
    let snapshot = builder.table().snapshot().await.unwrap();
    assert_eq!(snapshot.version(), 6);
    let counts = builder.observed().take_counts();
    assert_eq!((counts.lists, counts.gets), (1, 5), "{counts:?}");
    // The commits are not read again for the files; the checkpoint's footer is known, too.
    let files = snapshot.scan().files().await.unwrap().collect_all().await.unwrap();
    assert_eq!(files.iter().map(RecordBatch::num_rows).sum::<usize>(), 7);
    let counts = builder.observed().take_counts();
    assert!(counts.lists == 0 && counts.gets <= 1, "{counts:?}");
}

#[tokio::test]
async fn opening_with_a_checksum_reads_nothing_else() {
    let builder = checkpointed(5).await;
    let checksum = json!({
        "tableSizeBytes": 900, "numFiles": 9, "numMetadata": 1, "numProtocol": 1,
        "metadata": builder.metadata()["metaData"], "protocol": builder.protocol()["protocol"],
    });
    builder.put_log(&format!("{:020}.crc", 8), checksum.to_string().into_bytes()).await;
    builder.observed().take_counts();
    let snapshot = builder.table().snapshot().await.unwrap();
    assert_eq!(snapshot.version(), 8);
    let counts = builder.observed().take_counts();
    assert_eq!((counts.lists, counts.gets), (1, 2), "{counts:?}");
}

#[tokio::test]
async fn refreshing_costs_a_listing_and_the_news() {
    let mut builder = checkpointed(2).await;
    let table = builder.table();
    let before = table.snapshot().await.unwrap();
    before.scan().files().await.unwrap().collect_all().await.unwrap();
    builder.observed().take_counts();

    let same = table.snapshot().await.unwrap();
    assert_eq!(same.version(), before.version());
    let counts = builder.observed().take_counts();
    assert_eq!((counts.lists, counts.gets), (1, 0), "{counts:?}");

    builder.commit(&[add("new.parquet"), remove("f0.parquet")]).await;
    builder.observed().take_counts();
    let after = table.snapshot().await.unwrap();
    assert_eq!(after.version(), before.version() + 1);
    let counts = builder.observed().take_counts();
    assert_eq!((counts.lists, counts.gets), (1, 1), "{counts:?}");
    let files = after.scan().files().await.unwrap().collect_all().await.unwrap();
    assert_eq!(files.iter().map(RecordBatch::num_rows).sum::<usize>(), 6);
    assert_eq!(before.scan().explain().await.unwrap().files, 6, "the older snapshot stays as it was: 4 and 2 files");
}

#[tokio::test]
async fn selective_scan_opens_only_candidate_files() {
    let mut builder = TableBuilder::new();
    let mut actions = Vec::new();
    for file in 0..8_i64 {
        let ids = Int64Array::from_iter_values(file * 10..file * 10 + 10);
        let names = StringArray::from_iter_values((0..10).map(|row| format!("n{row}")));
        let batch = RecordBatch::try_from_iter([("id", Arc::new(ids) as _), ("name", Arc::new(names) as _)]).unwrap();
        let name = format!("f{file}.parquet");
        let size = builder.put_data(&name, &batch).await;
        let stats =
            json!({"numRecords": 10, "minValues": {"id": file * 10}, "maxValues": {"id": file * 10 + 9}, "nullCount": {"id": 0}});
        let mut action = add(&name);
        action["add"]["size"] = json!(size);
        action["add"]["stats"] = json!(stats.to_string());
        actions.push(action);
    }
    builder.commit(&actions).await;
    let snapshot = builder.table().snapshot().await.unwrap();
    builder.observed().take_counts();

    let rows = snapshot.scan().filter("id BETWEEN 38 AND 41").stream().await.unwrap().collect_all().await.unwrap();
    assert_eq!(rows.iter().map(RecordBatch::num_rows).sum::<usize>(), 4);
    let counts = builder.observed().take_counts();
    assert_eq!(counts.data_files(), 2, "{counts:?}");

    assert_eq!(snapshot.scan().count().await.unwrap(), 80);
    let counts = builder.observed().take_counts();
    assert_eq!(counts.total(), 0, "a count of everything comes from the log: {counts:?}");

    let first = snapshot.scan().limit(3).stream().await.unwrap().collect_all().await.unwrap();
    assert_eq!(first.iter().map(RecordBatch::num_rows).sum::<usize>(), 3);
    let counts = builder.observed().take_counts();
    assert_eq!(counts.data_files(), 1, "a limit that the first file meets opens no other: {counts:?}");
}
