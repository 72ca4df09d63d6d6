//! Missing commits, replaced tables, and offsets of other tables.

use lakebed::ErrorKind;
use lakebed::changes::ReadLimits;
use lakebed_tests::action::{metadata, protocol, remove_of};

use super::kit::{batch, check_error, drain, file, files, follow, numbered, rows};

#[tokio::test]
async fn missing_commit_stops_stream_unless_allowed() {
    let builder = numbered(4).await;
    let start = ("startingVersion", "1");
    let stream = follow(&builder, &[start]).await.unwrap();
    let tolerant = follow(&builder, &[start, ("failOnDataLoss", "false")]).await.unwrap();
    let one = stream.latest_offset(None, &files(1)).await.unwrap().unwrap();
    builder.delete_log("00000000000000000002.json").await;
    check_error(
        stream.latest_offset(Some(&one), &files(9)).await,
        &["version 2 no longer exists", "failOnDataLoss", "checkpoint"],
    );
    let (found, _) = drain(&builder, &tolerant, Some(one), &files(9)).await.unwrap();
    assert_eq!(found.concat(), ["3/x", "4/x"]);
}

#[tokio::test]
async fn unlisted_commit_is_not_lost() {
    for hidden in [2, 3] {
        let builder = numbered(4).await;
        let stream = follow(&builder, &[("startingVersion", "1")]).await.unwrap();
        builder.observed().unlist(&format!("{hidden:020}.json"));
        let (found, _) = drain(&builder, &stream, None, &files(1)).await.unwrap();
        assert_eq!(found.concat(), ["1/x", "2/x", "3/x", "4/x"]);
        let tolerant = follow(&builder, &[("startingVersion", "1"), ("failOnDataLoss", "false")]).await.unwrap();
        let (found, _) = drain(&builder, &tolerant, None, &files(9)).await.unwrap();
        assert_eq!(found.concat(), ["1/x", "2/x", "3/x", "4/x"]);
    }
}

#[tokio::test]
async fn missing_version_below_offset_stops_batch() {
    let builder = numbered(3).await;
    let stream = follow(&builder, &[("startingVersion", "1")]).await.unwrap();
    let end = stream.latest_offset(None, &files(9)).await.unwrap().unwrap();
    assert_eq!(end.version, 4);
    builder.delete_log("00000000000000000003.json").await;
    check_error(batch(&builder.store(), &stream, None, &end).await, &["version 3 no longer exists"]);
}

#[tokio::test]
async fn stream_notices_table_rolled_back() {
    let builder = numbered(3).await;
    let stream = follow(&builder, &[("startingVersion", "1")]).await.unwrap();
    let tolerant = follow(&builder, &[("startingVersion", "1"), ("failOnDataLoss", "false")]).await.unwrap();
    let end = stream.latest_offset(None, &files(9)).await.unwrap();
    for version in [2, 3] {
        builder.delete_log(&format!("{version:020}.json")).await;
    }
    let expected = ["has read version 3, but the newest version in the log is older", "Start again"];
    check_error(stream.latest_offset(end.as_ref(), &files(9)).await, &expected);
    assert_eq!(tolerant.latest_offset(end.as_ref(), &files(9)).await.unwrap(), end);
}

#[tokio::test]
async fn stream_notices_replaced_table() {
    let builder = numbered(2).await;
    let stream = follow(&builder, &[("startingVersion", "0")]).await.unwrap();
    let end = stream.latest_offset(None, &files(1)).await.unwrap().unwrap();
    let mut other = metadata(&["name string", "fruit string"], &[], &[]);
    other["metaData"]["id"] = "another".into();
    builder.commit(&[other]).await;
    check_error(stream.latest_offset(Some(&end), &files(9)).await, &["the table with the id 5fba94ed", "another"]);
    let again = follow(&builder, &[]).await.unwrap();
    check_error(again.latest_offset(Some(&end), &files(9)).await, &["5fba94ed", "the table here has the id another"]);
    check_error(batch(&builder.store(), &again, None, &end).await, &["5fba94ed"]);
}

#[tokio::test]
async fn later_versions_do_not_stop_bounded_run() {
    let builder = numbered(2).await;
    let stream = follow(&builder, &[("startingVersion", "1")]).await.unwrap();
    let run = ReadLimits { until: Some(stream.newest_offset().await.unwrap()), ..files(9) };
    let one = file(&builder, "f1", &["1/x"]).await;
    builder.commit(&[remove_of(&one)]).await;
    let (found, end) = drain(&builder, &stream, None, &run).await.unwrap();
    assert_eq!((found.concat(), end.as_ref()), (vec!["1/x".to_owned(), "2/x".to_owned()], run.until.as_ref()));
    check_error(stream.latest_offset(end.as_ref(), &files(9)).await, &["version 3", "ignoreDeletes"]);
}

#[tokio::test]
async fn a_stream_does_not_go_back() {
    let builder = numbered(3).await;
    let stream = follow(&builder, &[("startingVersion", "1")]).await.unwrap();
    let one = stream.latest_offset(None, &files(1)).await.unwrap().unwrap();
    let two = stream.latest_offset(None, &files(2)).await.unwrap().unwrap();
    check_error(stream.tasks(Some(&two), &one, 1).await, &["go back"]);
    assert_eq!(stream.tasks(Some(&one), &one, 1).await.unwrap(), []);
}

#[tokio::test]
async fn unsupported_feature_stops_stream() {
    let builder = numbered(1).await;
    let stream = follow(&builder, &[("startingVersion", "0")]).await.unwrap();
    builder.commit(&[protocol(&["someNewFeature"], &["someNewFeature"])]).await;
    check_error(stream.latest_offset(None, &files(9)).await, &["someNewFeature"]);
    let features = vec!["someNewFeature".to_owned()];
    assert_eq!(*rows(&builder, &[]).await.unwrap_err().kind(), ErrorKind::UnsupportedFeature { features });
}
