//! The files of a scan, as the public API returns them.

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use futures::TryStreamExt;
use lakebed::{Error, Snapshot};
use lakebed_core::ErrorKind;
use lakebed_tests::action::{add, metadata, protocol, remove, stats_of_ids, with};
use lakebed_tests::{Form, TableBuilder};
use serde_json::{Value, json};

/// Returns a file of partition `p`.
fn part(name: &str, p: i32) -> Value {
    with(add(name), json!({"partitionValues": {"p": p.to_string()}}))
}

/// Returns the paths of the files of a scan.
async fn taken(builder: &TableBuilder, filter: &str) -> Result<Vec<String>, Error> {
    taken_of(&builder.table().snapshot().await?, filter).await
}

async fn taken_of(snapshot: &Snapshot, filter: &str) -> Result<Vec<String>, Error> {
    let batches: Vec<RecordBatch> = snapshot.scan().filter(filter).files().await?.try_collect().await?;
    let paths = batches.iter().flat_map(|batch| {
        let paths = batch.column_by_name("path").unwrap().as_string::<i32>();
        paths.iter().map(|path| path.unwrap().to_owned()).collect::<Vec<_>>()
    });
    Ok(paths.collect())
}

#[tokio::test]
async fn filter_fails_on_live_files_only() {
    for form in [Form::Classic, Form::UuidParquet(2), Form::UuidJson(0)] {
        let head = (protocol(&[], &[]), metadata(&["id long", "p integer"], &["p"], &[]));
        let builder = TableBuilder::with(head.0, head.1);
        let files = [part("one", 1), part("two", 2)];
        builder.commit(&files).await;
        builder.checkpoint_as(0, form, &files, 1).await;
        let error = taken(&builder, "10 / (p - 1) > 0").await.unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Predicate, "{form:?}: {error}");
        builder.commit(&[remove("one")]).await;
        assert_eq!(taken(&builder, "10 / (p - 1) > 0").await.unwrap(), ["two"], "{form:?}");
        assert_eq!(taken(&builder, "10 / (p - 1) > 10").await.unwrap(), [] as [&str; 0], "{form:?}");
    }
}

/// The commits have 70 MB in lines of 7 kB and are too large to be kept in memory. The snapshot
/// keeps only the positions of the files of the older commit.
#[tokio::test]
async fn large_commits_are_planned_like_small_ones() {
    let file = |number: i64| {
        let mut stats = stats_of_ids(number * 10..=number * 10 + 9);
        stats["padding"] = json!("x".repeat(7000));
        with(add(&format!("f{number}")), json!({"stats": stats.to_string()}))
    };
    let builder = TableBuilder::new();
    builder.commit(&(0..5000).map(file).collect::<Vec<_>>()).await;
    let mut second: Vec<Value> = (5000..10_000).map(file).collect();
    second.push(remove("f7"));
    builder.commit(&second).await;
    let between = |from: i64, to: i64| format!("id BETWEEN {from} AND {to}");
    assert_eq!(taken(&builder, &between(52_345, 52_361)).await.unwrap(), ["f5234", "f5235", "f5236"]);
    assert_eq!(taken(&builder, &between(60, 85)).await.unwrap(), ["f6", "f8"]);
    let snapshot = builder.table().snapshot().await.unwrap();
    assert_eq!(snapshot.scan().count().await.unwrap(), 9_999 * 10);

    // A later commit removes one file of each commit.
    builder.commit(&[remove("f6"), remove("f9999")]).await;
    let refreshed = snapshot.refresh().await.unwrap();
    assert_eq!(refreshed.scan().count().await.unwrap(), 9_997 * 10);
    assert_eq!(taken(&builder, &between(60, 85)).await.unwrap(), ["f8"]);
    assert_eq!(taken(&builder, &between(99_980, 99_999)).await.unwrap(), ["f9998"]);

    // A cleanup deletes the commits of a snapshot that knows only the positions of its files.
    builder.delete_log(&format!("{:020}.json", 0)).await;
    let error = taken_of(&refreshed, &between(60, 85)).await.unwrap_err();
    assert_eq!(error.to_string(), "memory://kit/lake/t: version 2 can no longer be rebuilt: the commit of version 0 is missing");
    let alive = (0..9_999).filter(|number| ![6, 7].contains(number)).map(file).collect::<Vec<_>>();
    builder.checkpoint(refreshed.version(), &alive).await;
    builder.delete_log(&format!("{:020}.json", 1)).await;
    assert_eq!(taken_of(&refreshed, &between(60, 85)).await.unwrap(), ["f8"]);
    assert_eq!(taken_of(&refreshed, &between(99_980, 99_999)).await.unwrap(), ["f9998"]);
}
