//! The change data feed, read at once and as a stream.

use std::slice::from_ref;

use lakebed_tests::TableBuilder;
use lakebed_tests::action::{metadata, remove_of, unchanged};
use serde_json::{Value, json};

use super::kit::{FEED, changed, check_error, drain, file, files, follow, fruits, read, rows, show, without};

fn info(timestamp: i64) -> Value {
    json!({"commitInfo": {"operation": "WRITE", "inCommitTimestamp": timestamp}})
}

/// Returns a table: version 1 inserts three rows, version 2 gives jack a banana, version 3 deletes
/// john. If `writes_changes`, updates and deletes write change data files. Otherwise the delete
/// leaves only a deletion vector.
async fn recorded(writes_changes: bool) -> TableBuilder {
    let builder = fruits(&[FEED]).await;
    let one = file(&builder, "one", &["jack/apple", "sarah/orange", "john/pineapple"]).await;
    let two = file(&builder, "two", &["jack/banana"]).await;
    let update = file(&builder, "_change_data/u", &["jack/apple/update_preimage", "jack/banana/update_postimage"]).await;
    let delete = file(&builder, "_change_data/d", &["john/pineapple/delete"]).await;
    builder.commit(&[info(1000), one.clone()]).await;
    builder.commit(&[info(2000), remove_of(&one), without(&one, [0]), two, changed(&update)]).await;
    let mut last = vec![info(3000), remove_of(&without(&one, [0])), without(&one, [0, 2])];
    if writes_changes {
        last.push(changed(&delete));
    }
    builder.commit(&last).await;
    builder
}

const EVENTS: [&str; 6] = [
    "jack/apple/insert/1/1970-01-01T00:00:01Z",
    "sarah/orange/insert/1/1970-01-01T00:00:01Z",
    "john/pineapple/insert/1/1970-01-01T00:00:01Z",
    "jack/apple/update_preimage/2/1970-01-01T00:00:02Z",
    "jack/banana/update_postimage/2/1970-01-01T00:00:02Z",
    "john/pineapple/delete/3/1970-01-01T00:00:03Z",
];

/// Returns the changes of versions as a stream. Tasks of every size return the same rows.
async fn changes(builder: &TableBuilder, start: u64, end: u64) -> lakebed::Result<Vec<String>> {
    let changes = builder.table().changes(start..=end).await?;
    let rows = show(&changes.stream().await?.collect_all().await?);
    for target in [1, 1 << 30] {
        assert_eq!(read(&builder.store(), &changes.tasks(target).await?).await?, rows);
    }
    Ok(rows)
}

#[tokio::test]
async fn every_change_of_every_commit_comes_out() {
    for writes_changes in [true, false] {
        let builder = recorded(writes_changes).await;
        assert_eq!(changes(&builder, 0, 3).await.unwrap(), EVENTS);
        assert_eq!(changes(&builder, 2, 2).await.unwrap(), EVENTS[3..5]);
        assert_eq!(rows(&builder, &[("readChangeFeed", "true"), ("startingVersion", "0")]).await.unwrap(), EVENTS);
    }
}

#[tokio::test]
async fn columns_and_conditions_narrow_a_feed() {
    let builder = recorded(false).await;
    let changes = builder.table().changes(0..=3).await.unwrap().select(["fruit"]).filter("name = 'jack'");
    let fields: Vec<String> = changes.schema().unwrap().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(fields, ["fruit", "_change_type", "_commit_version", "_commit_timestamp"]);
    let rows = show(&changes.stream().await.unwrap().collect_all().await.unwrap());
    let types: Vec<&str> = rows.iter().map(|row| row.split("/1970").next().unwrap()).collect();
    assert_eq!(types, ["apple/insert/1", "apple/update_preimage/2", "banana/update_postimage/2"]);
}

/// A predicate that cannot be decided is refused before a commit is read.
#[tokio::test]
async fn feed_refuses_predicates_it_cannot_decide() {
    let builder = recorded(true).await;
    let cases = [
        ("nobody = 1", "there is no column `nobody`; there are name, fruit"),
        ("_metadata.row_index = 0", "column _metadata.row_index: the change data feed does not have it"),
        ("_metadata.row_id = 0", "the table does not track rows"),
    ];
    for (predicate, message) in cases {
        let changes = builder.table().changes(0..=3).await.unwrap().filter(predicate);
        let refused = [changes.schema().err(), changes.plan().await.err(), changes.stream().await.err()];
        for error in refused {
            let error = error.expect(predicate);
            assert!(error.message().contains(message), "{predicate}: {error}");
        }
    }
}

#[tokio::test]
async fn new_change_stream_begins_with_existing_rows() {
    let builder = recorded(true).await;
    let stream = follow(&builder, &[("readChangeFeed", "true")]).await.unwrap();
    let late = file(&builder, "late", &["eve/fig"]).await;
    builder.commit(&[info(4000), late]).await;
    let (mut batches, _) = drain(&builder, &stream, None, &files(2)).await.unwrap();
    batches[0].sort();
    let jack = "jack/banana/insert/3/1970-01-01T00:00:03Z".to_owned();
    let sarah = "sarah/orange/insert/3/1970-01-01T00:00:03Z".to_owned();
    assert_eq!(batches, [vec![jack, sarah], vec!["eve/fig/insert/4/1970-01-01T00:00:04Z".to_owned()]]);
}

#[tokio::test]
async fn rows_that_come_back_are_inserted() {
    let builder = fruits(&[FEED]).await;
    let one = file(&builder, "one", &["a/1", "b/2", "c/3", "d/4"]).await;
    builder.commit(&[info(1000), without(&one, [0, 1])]).await;
    // Rows 1 and 2 change places.
    builder.commit(&[info(2000), remove_of(&without(&one, [0, 1])), without(&one, [0, 2])]).await;
    builder.commit(&[info(3000), remove_of(&without(&one, [0, 2])), one.clone()]).await;
    builder.commit(&[info(4000), remove_of(&one)]).await;
    let found = changes(&builder, 1, 4).await.unwrap();
    let found: Vec<&str> = found.iter().map(|row| row.split("/1970").next().unwrap()).collect();
    let expected = "c/3/insert/1 d/4/insert/1 c/3/delete/2 b/2/insert/2 a/1/insert/3 c/3/insert/3 \
                    a/1/delete/4 b/2/delete/4 c/3/delete/4 d/4/delete/4";
    assert_eq!(found.join(" "), expected);
}

#[tokio::test]
async fn commits_that_change_nothing_have_no_changes() {
    let builder = fruits(&[FEED]).await;
    let (one, two) = (file(&builder, "one", &["a/1"]).await, file(&builder, "two", &["a/1"]).await);
    builder.commit(&[info(1000), one.clone()]).await;
    let metrics = json!({"numTargetRowsInserted": "0", "numTargetRowsUpdated": "0", "numTargetRowsDeleted": "0"});
    let merge = json!({"commitInfo": {"operation": "MERGE", "operationMetrics": metrics}});
    builder.commit(&[merge, remove_of(&one), two.clone()]).await;
    let three = file(&builder, "three", &["a/1"]).await;
    builder.commit(&[unchanged(remove_of(&two)), unchanged(three.clone())]).await;
    assert_eq!(changes(&builder, 2, 3).await.unwrap(), Vec::<String>::new());
    assert_eq!(rows(&builder, &[("readChangeFeed", "true"), ("startingVersion", "2")]).await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn versions_that_record_no_changes_are_named() {
    let builder = fruits(&[]).await;
    let plain = metadata(&["name string", "fruit string"], &[], &[]);
    let recording = metadata(&["name string", "fruit string"], &[], &[FEED]);
    builder.commit(from_ref(&recording)).await;
    builder.commit(&[plain]).await;
    builder.commit(&[recording]).await;
    check_error(changes(&builder, 0, 3).await, &["version 0 does not record changes", "delta.enableChangeDataFeed"]);
    check_error(changes(&builder, 1, 3).await, &["version 2 does not record changes"]);
    assert_eq!(changes(&builder, 3, 3).await.unwrap(), Vec::<String>::new());
    let feed = ("readChangeFeed", "true");
    check_error(rows(&builder, &[feed, ("startingVersion", "0")]).await, &["version 0 does not record changes"]);
    check_error(rows(&builder, &[feed, ("startingVersion", "1")]).await, &["version 2 does not record changes"]);
    assert_eq!(rows(&builder, &[feed]).await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn ranges_that_make_no_sense_are_refused() {
    let builder = recorded(true).await;
    check_error(changes(&builder, 2, 1).await, &["versions 2 to 1", "the end comes before the start"]);
    check_error(changes(&builder, 1, 4).await, &["versions 1 to 4", "the newest version is 3"]);
    builder.delete_log("00000000000000000002.json").await;
    builder.checkpoint(2, &[]).await;
    check_error(changes(&builder, 1, 3).await, &["the commit of version 2 no longer exists", "from a later version"]);
}

#[tokio::test]
async fn old_rows_take_columns_of_last_version() {
    let builder = fruits(&[FEED]).await;
    let one = file(&builder, "one", &["a/1"]).await;
    builder.commit(&[info(1000), one]).await;
    builder.commit(&[info(2000), metadata(&["name string", "fruit string", "color string"], &[], &[FEED])]).await;
    assert_eq!(changes(&builder, 1, 2).await.unwrap(), ["a/1/-/insert/1/1970-01-01T00:00:01Z"]);
    assert_eq!(changes(&builder, 1, 1).await.unwrap(), ["a/1/insert/1/1970-01-01T00:00:01Z"]);
    builder.commit(&[info(3000), metadata(&["name string", "color string"], &[], &[FEED])]).await;
    check_error(changes(&builder, 1, 3).await, &["versions 1 to 3", "version 1", "column fruit", "separately"]);
}

#[tokio::test]
async fn changes_across_repartitioning_are_refused() {
    let builder = fruits(&[FEED]).await;
    let columns = ["name string", "fruit string"];
    let one = file(&builder, "one", &["a/1"]).await;
    builder.commit(&[info(1000), one.clone()]).await;
    builder.commit(&[info(2000), metadata(&columns, &["fruit"], &[FEED]), remove_of(&one)]).await;
    let expected = ["versions 1 to 2", "version 1", "the partition columns differ", "separately"];
    check_error(changes(&builder, 1, 2).await, &expected);
    // Version 2 removes a file that was written with other partition columns.
    check_error(changes(&builder, 2, 2).await, &["versions 2 to 2", "version 1", "the partition columns differ"]);
    assert_eq!(changes(&builder, 1, 1).await.unwrap(), ["a/1/insert/1/1970-01-01T00:00:01Z"]);
}
