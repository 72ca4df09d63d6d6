//! The start and the restart of streams.

use lakebed::ErrorKind;
use lakebed::changes::{Offset, Position, ReadLimits};
use lakebed_tests::TableBuilder;
use lakebed_tests::action::{add, metadata, protocol};
use serde_json::json;

use super::kit::{batch, batches, drain, file, files, follow, fruits, numbered, rows};

#[track_caller]
fn check_at(offset: &Offset, version: u64, position: Position, is_initial: bool) {
    assert_eq!((offset.version, offset.position, offset.is_initial), (version, position, is_initial));
}

#[tokio::test]
async fn stream_begins_at_given_version_or_timestamp() {
    let builder = numbered(4).await;
    assert_eq!(rows(&builder, &[("startingVersion", "3")]).await.unwrap(), ["3/x", "4/x"]);
    assert_eq!(rows(&builder, &[("startingTimestamp", "1971-01-01")]).await.unwrap(), ["1/x", "2/x", "3/x", "4/x"]);
    let error = rows(&builder, &[("startingTimestamp", "2999-01-01")]).await.unwrap_err().to_string();
    assert!(error.contains("is after the latest commit, version 4"), "{error}");
    let error = rows(&builder, &[("startingVersion", "5")]).await.unwrap_err().to_string();
    assert!(error.contains("startingVersion=5: the newest version is 4"), "{error}");
    builder.delete_log("00000000000000000000.json").await;
    builder.delete_log("00000000000000000001.json").await;
    builder.checkpoint(2, &[add("f1"), add("f2")]).await;
    let error = rows(&builder, &[("startingVersion", "1")]).await.unwrap_err().to_string();
    assert!(error.contains("startingVersion=1: the log has only the commits 2 to 4"), "{error}");
}

#[tokio::test]
async fn in_commit_timestamps_decide_starting_version() {
    let builder = TableBuilder::with(
        protocol(&[], &["inCommitTimestamp"]),
        metadata(&["name string", "fruit string"], &[], &[("delta.enableInCommitTimestamps", "true")]),
    );
    let at = |time: i64| json!({"commitInfo": {"inCommitTimestamp": time}});
    builder.commit(&[at(1000)]).await;
    for (version, time) in [(1, 2000), (2, 3000)] {
        let file = file(&builder, &format!("f{version}"), &[&format!("{version}/x")]).await;
        builder.commit(&[at(time), file]).await;
    }
    for (time, expected) in [("00:00:00", "1/x 2/x"), ("00:00:02", "1/x 2/x"), ("00:00:02.001", "2/x"), ("00:00:03", "2/x")] {
        let found = rows(&builder, &[("startingTimestamp", &format!("1970-01-01 {time}"))]).await.unwrap();
        assert_eq!(found.join(" "), expected, "{time}");
    }
    let error = rows(&builder, &[("startingTimestamp", "1970-01-01 00:00:03.001")]).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::VersionNotFound);
    assert!(error.message().contains("the latest commit, version 2"), "{error}");
}

#[tokio::test]
async fn start_at_latest_gives_only_new_rows() {
    let builder = numbered(4).await;
    let follow = follow(&builder, &[("startingVersion", "latest")]).await.unwrap();
    let start = follow.initial_offset().await.unwrap();
    check_at(&start, 5, Position::Base, false);
    let more = file(&builder, "f5", &["5/x"]).await;
    builder.commit(&[more]).await;
    // The first batch pins the start offset: a restarted stream begins at the same offset.
    let pinned = follow.latest_offset(Some(&start), &follow.limits()).await.unwrap();
    assert_eq!(pinned.as_ref(), Some(&start));
    assert_eq!(drain(&builder, &follow, pinned, &follow.limits()).await.unwrap().0.concat(), ["5/x"]);
}

#[tokio::test]
async fn initial_snapshot_comes_ordered_before_commits() {
    let builder = fruits(&[]).await;
    let (ccc, b, aa) =
        (file(&builder, "ccc", &["ccc/1"]).await, file(&builder, "b", &["b/1"]).await, file(&builder, "aa", &["aa/1"]).await);
    let a = file(&builder, "a", &["a/1"]).await;
    builder.commit(&[ccc, b]).await;
    builder.commit(&[aa, a]).await;
    let stream = follow(&builder, &[]).await.unwrap();
    let late = file(&builder, "late", &["late/1"]).await;
    builder.commit(&[late]).await;
    let (found, end) = drain(&builder, &stream, None, &files(1)).await.unwrap();
    assert_eq!(found, [["a/1"], ["b/1"], ["aa/1"], ["ccc/1"], ["late/1"]]);
    check_at(&end.unwrap(), 4, Position::Base, false);
    let offset = stream.latest_offset(None, &files(2)).await.unwrap().unwrap();
    check_at(&offset, 2, Position::File(1), true);
    assert_eq!(
        offset.to_string(),
        r#"{"sourceVersion":1,"reservoirId":"5fba94ed-9794-4965-ba6e-6ee3c0d22af9","reservoirVersion":2,"index":1,"isStartingVersion":true}"#
    );
    // A stream that restarts in the middle continues with the same files.
    let again = follow(&builder, &[]).await.unwrap();
    let (rest, _) = drain(&builder, &again, Some(offset), &files(9)).await.unwrap();
    assert_eq!(rest.concat(), ["aa/1", "ccc/1", "late/1"]);
}

#[tokio::test]
async fn first_batch_read_again_gives_same_rows() {
    let builder = numbered(4).await;
    let stream = follow(&builder, &[]).await.unwrap();
    let start = stream.initial_offset().await.unwrap();
    let within = stream.latest_offset(Some(&start), &files(2)).await.unwrap().unwrap();
    let behind = stream.latest_offset(Some(&start), &files(9)).await.unwrap().unwrap();
    let more = file(&builder, "f5", &["5/x"]).await;
    builder.commit(&[more]).await;
    // The first batch was never committed, and the table has changed. The stream computes its
    // beginning again.
    let again = follow(&builder, &[]).await.unwrap();
    let fresh = again.initial_offset().await.unwrap();
    check_at(&fresh, 5, Position::Base, true);
    for start in [None, Some(&start), Some(&fresh)] {
        assert_eq!(batch(&builder.store(), &again, start, &within).await.unwrap(), ["1/x", "2/x"]);
        assert_eq!(batch(&builder.store(), &again, start, &behind).await.unwrap(), ["1/x", "2/x", "3/x", "4/x"]);
    }
}

#[tokio::test]
async fn available_now_run_ends_at_newest() {
    let builder = numbered(4).await;
    let stream = follow(&builder, &[("startingVersion", "1")]).await.unwrap();
    let newest = stream.newest_offset().await.unwrap();
    check_at(&newest, 5, Position::Base, false);
    let more = file(&builder, "f5", &["5/x"]).await;
    builder.commit(&[more]).await;
    let limits = ReadLimits { until: Some(newest.clone()), ..files(3) };
    let (found, end) = drain(&builder, &stream, None, &limits).await.unwrap();
    assert_eq!(found, [vec!["1/x", "2/x", "3/x"], vec!["4/x"]]);
    assert_eq!(end, Some(newest.clone()));
    // A later run continues from there.
    let limits = ReadLimits { until: Some(stream.newest_offset().await.unwrap()), ..files(3) };
    assert_eq!(drain(&builder, &stream, Some(newest), &limits).await.unwrap().0.concat(), ["5/x"]);
}

#[tokio::test]
async fn empty_table_gives_no_row() {
    let builder = fruits(&[]).await;
    assert_eq!(batches(&builder, &[]).await.unwrap(), [Vec::<String>::new()]);
    let stream = follow(&builder, &[("startingVersion", "latest")]).await.unwrap();
    assert_eq!(drain(&builder, &stream, None, &files(1)).await.unwrap().0, [Vec::<String>::new()]);
}

#[tokio::test]
async fn read_limits_hold_for_each_batch() {
    let builder = numbered(4).await;
    let sizes = |found: Vec<Vec<String>>| found.iter().map(Vec::len).collect::<Vec<_>>();
    for start in [vec![], vec![("startingVersion", "0")]] {
        let with = |limit| [start.clone(), vec![limit]].concat();
        assert_eq!(sizes(batches(&builder, &with(("maxFilesPerTrigger", "3"))).await.unwrap()), [3, 1]);
        assert_eq!(sizes(batches(&builder, &with(("maxBytesPerTrigger", "1"))).await.unwrap()), [1, 1, 1, 1]);
        assert_eq!(sizes(batches(&builder, &start).await.unwrap()), [4]);
    }
}
