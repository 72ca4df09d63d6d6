//! Examples of streams over an insert, an update and a delete, with rewritten files and with
//! deletion vectors.

use std::slice::from_ref;

use lakebed_tests::TableBuilder;
use serde_json::json;

use super::kit::{check_error, file, fruits, rows, without};
use lakebed_tests::action::{remove_of, unchanged};

const INSERTED: [&str; 3] = ["jack/apple", "sarah/orange", "john/pineapple"];

/// Returns a table in which whole files are rewritten: version 1 inserts, version 2 gives jack a
/// banana, version 3 deletes john.
async fn rewritten() -> TableBuilder {
    let builder = fruits(&[]).await;
    let one = file(&builder, "one", &INSERTED).await;
    let two = file(&builder, "two", &["jack/banana", "sarah/orange", "john/pineapple"]).await;
    let three = file(&builder, "three", &["jack/banana", "sarah/orange"]).await;
    builder.commit(from_ref(&one)).await;
    builder.commit(&[json!({"commitInfo": {"operation": "UPDATE"}}), remove_of(&one), two.clone()]).await;
    builder.commit(&[json!({"commitInfo": {"operation": "DELETE"}}), remove_of(&two), three]).await;
    builder
}

/// Returns the same table with deletion vectors.
async fn marked() -> TableBuilder {
    let builder = fruits(&[]).await;
    let one = file(&builder, "one", &INSERTED).await;
    let two = file(&builder, "two", &["jack/banana"]).await;
    builder.commit(from_ref(&one)).await;
    builder.commit(&[json!({"commitInfo": {"operation": "UPDATE"}}), remove_of(&one), without(&one, [0]), two]).await;
    builder
        .commit(&[json!({"commitInfo": {"operation": "DELETE"}}), remove_of(&without(&one, [0])), without(&one, [0, 2])])
        .await;
    builder
}

#[tokio::test]
async fn new_stream_gives_existing_rows() {
    assert_eq!(rows(&rewritten().await, &[]).await.unwrap(), ["jack/banana", "sarah/orange"]);
    let mut found = rows(&marked().await, &[]).await.unwrap();
    found.sort();
    assert_eq!(found, ["jack/banana", "sarah/orange"]);
}

#[tokio::test]
async fn change_of_rows_stops_stream_with_advice() {
    for builder in [rewritten().await, marked().await] {
        check_error(
            rows(&builder, &[("startingVersion", "0")]).await,
            &["version 2", "(UPDATE)", "skipChangeCommits", "ignoreChanges", "readChangeFeed"],
        );
        check_error(rows(&builder, &[("startingVersion", "0"), ("ignoreDeletes", "true")]).await, &["version 2"]);
    }
}

#[tokio::test]
async fn ignored_changes_give_whole_rewritten_files() {
    let options = [("startingVersion", "0"), ("ignoreChanges", "true")];
    let expected = [
        "jack/apple",
        "sarah/orange",
        "john/pineapple",
        "jack/banana",
        "sarah/orange",
        "john/pineapple",
        "jack/banana",
        "sarah/orange",
    ];
    assert_eq!(rows(&rewritten().await, &options).await.unwrap(), expected);
    let old_name = [("startingVersion", "0"), ("ignoreFileDeletion", "true")];
    assert_eq!(rows(&rewritten().await, &old_name).await.unwrap(), expected);
}

#[tokio::test]
async fn ignored_changes_give_remaining_rows_of_files() {
    let options = [("startingVersion", "0"), ("ignoreChanges", "true")];
    let expected =
        ["jack/apple", "sarah/orange", "john/pineapple", "sarah/orange", "john/pineapple", "jack/banana", "sarah/orange"];
    assert_eq!(rows(&marked().await, &options).await.unwrap(), expected);
}

#[tokio::test]
async fn skipped_change_commits_skip_their_inserts() {
    let options = [("startingVersion", "0"), ("skipChangeCommits", "true")];
    for builder in [rewritten().await, marked().await] {
        assert_eq!(rows(&builder, &options).await.unwrap(), INSERTED);
    }
}

#[tokio::test]
async fn ignored_deletes_of_whole_files_pass() {
    let builder = fruits(&[]).await;
    let (one, two) = (file(&builder, "one", &["a/1"]).await, file(&builder, "two", &["b/2"]).await);
    builder.commit(from_ref(&one)).await;
    builder.commit(&[remove_of(&one)]).await;
    builder.commit(&[two]).await;
    let start = ("startingVersion", "0");
    assert_eq!(rows(&builder, &[start, ("ignoreDeletes", "true")]).await.unwrap(), ["a/1", "b/2"]);
    assert_eq!(rows(&builder, &[start, ("ignoreChanges", "true")]).await.unwrap(), ["a/1", "b/2"]);
    assert_eq!(rows(&builder, &[start, ("skipChangeCommits", "true")]).await.unwrap(), ["a/1", "b/2"]);
    check_error(rows(&builder, &[start]).await, &["version 2", "of the file one", "ignoreDeletes"]);
}

#[tokio::test]
async fn rearranged_files_are_not_new() {
    let builder = fruits(&[]).await;
    let (one, two) = (file(&builder, "one", &["a/1"]).await, file(&builder, "two", &["b/2"]).await);
    builder.commit(from_ref(&one)).await;
    builder.commit(from_ref(&two)).await;
    let both = file(&builder, "both", &["a/1", "b/2"]).await;
    builder.commit(&[unchanged(remove_of(&one)), unchanged(remove_of(&two)), unchanged(both.clone())]).await;
    assert_eq!(rows(&builder, &[("startingVersion", "0")]).await.unwrap(), ["a/1", "b/2"]);
}

#[tokio::test]
async fn excluded_files_are_left_out_everywhere() {
    let builder = fruits(&[]).await;
    let (one, two) = (file(&builder, "one_tmp", &["a/1"]).await, file(&builder, "two", &["b/2"]).await);
    builder.commit(&[one, two]).await;
    for start in ["0", "1", "latest"] {
        let expected: &[&str] = if start == "latest" { &[] } else { &["b/2"] };
        assert_eq!(rows(&builder, &[("startingVersion", start), ("excludeRegex", "_tmp$")]).await.unwrap(), expected);
    }
    assert_eq!(rows(&builder, &[("excludeRegex", "_tmp")]).await.unwrap(), ["b/2"]);
}
