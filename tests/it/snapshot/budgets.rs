//! The requests of opening and refreshing a table.

use arrow_array::RecordBatch;
use lakebed_tests::TableBuilder;
use lakebed_tests::action::{add, remove};
use serde_json::{Value, json};

fn adds(count: usize) -> Vec<Value> {
    (0..count).map(|number| add(&format!("f{number}.parquet"))).collect()
}

/// Returns a table with a checkpoint at version 3 that the hint names, and with commits after it.
async fn checkpointed(commits_after: usize) -> TableBuilder {
    let builder = TableBuilder::new();
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
    // The commits are not read again for the files, and the footer of the checkpoint is known.
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
    let builder = checkpointed(2).await;
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
