//! Changes between versions and timestamps.

use std::ops::RangeInclusive;

use lakebed::ErrorKind;
use lakebed::changes::Bound::{self, Timestamp, Version};
use lakebed_tests::TableBuilder;
use lakebed_tests::action::{add, metadata, protocol};
use serde_json::json;

use super::kit::{FEED, check_error, file, fruits, show};

/// Returns a table with versions 0 to 3, made at the seconds 1 to 4.
async fn timed() -> TableBuilder {
    let properties = [FEED, ("delta.enableInCommitTimestamps", "true")];
    let builder = TableBuilder::with(
        protocol(&[], &["inCommitTimestamp", "changeDataFeed"]),
        metadata(&["name string", "fruit string"], &[], &properties),
    );
    for version in 0..4 {
        let mut actions = vec![json!({"commitInfo": {"operation": "WRITE", "inCommitTimestamp": 1000 * (version + 1)}})];
        if version > 0 {
            actions.push(file(&builder, &format!("f{version}"), &[&format!("{version}/x")]).await);
        }
        builder.commit(&actions).await;
    }
    builder
}

async fn versions(builder: &TableBuilder, start: Bound, end: Option<Bound>) -> lakebed::Result<RangeInclusive<u64>> {
    Ok(builder.table().changes_between(start, end).await?.versions().clone())
}

#[tokio::test]
async fn changes_between_timestamps_cover_their_versions() {
    let builder = timed().await;
    let cases = [
        (Timestamp(i64::MIN), None, 0..=3),
        (Timestamp(1000), Some(Timestamp(1000)), 0..=0),
        (Timestamp(1001), Some(Timestamp(3999)), 1..=2),
        (Timestamp(4000), None, 3..=3),
        (Timestamp(3001), Some(Timestamp(i64::MAX)), 3..=3),
        (Version(2), Some(Timestamp(3000)), 2..=2),
        (Timestamp(2000), Some(Version(3)), 1..=3),
        (Version(1), None, 1..=3),
    ];
    for (start, end, expected) in cases {
        assert_eq!(versions(&builder, start, end).await.unwrap(), expected, "{start:?} {end:?}");
    }
}

#[tokio::test]
async fn file_times_stand_in_for_commit_timestamps() {
    let builder = fruits(&[FEED]).await;
    let one = file(&builder, "one", &["a/1"]).await;
    builder.commit(&[one]).await;
    assert_eq!(versions(&builder, Timestamp(0), Some(Timestamp(i64::MAX))).await.unwrap(), 0..=1);
    let error = versions(&builder, Version(0), Some(Timestamp(0))).await;
    check_error(error, &["is before the earliest commit that can be read, version 0"]);
}

#[tokio::test]
async fn changes_at_timestamps_without_versions_fail() {
    let builder = timed().await;
    let cases = [
        (Timestamp(4001), None, "timestamp 1970-01-01T00:00:04.001Z is after the latest commit, version 3"),
        (Version(0), Some(Timestamp(999)), "timestamp 1970-01-01T00:00:00.999Z is before the earliest commit"),
        (Version(4), None, "the newest version is 3"),
    ];
    for (start, end, expected) in cases {
        let error = versions(&builder, start, end).await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::VersionNotFound), "{error:?}");
        assert!(error.message().contains(expected), "{error}");
    }
    for (start, end) in [
        (Timestamp(3000), Timestamp(2000)),
        (Version(2), Version(1)),
        (Timestamp(3000), Version(1)),
        (Version(2), Timestamp(2999)),
    ] {
        let error = versions(&builder, start, Some(end)).await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::InvalidInput), "{error:?}");
        assert!(error.message().contains("the end comes before the start"), "{error}");
    }
}

#[tokio::test]
async fn between_two_moments_nothing_need_have_happened() {
    let builder = timed().await;
    let changes = builder.table().changes_between(Timestamp(2001), Some(Timestamp(2999))).await.unwrap();
    assert_eq!(changes.versions().clone().collect::<Vec<_>>(), [0_u64; 0]);
    assert_eq!(show(&changes.stream().await.unwrap().collect_all().await.unwrap()), Vec::<String>::new());
    assert_eq!(changes.tasks(1).await.unwrap(), []);
    let again = changes.reopened(&builder.table()).await.unwrap();
    assert_eq!((again.versions(), again.schema().unwrap()), (changes.versions(), changes.schema().unwrap()));
}

#[tokio::test]
async fn changes_of_deleted_commits_fail() {
    let builder = timed().await;
    for version in [0, 1] {
        builder.delete_log(&format!("{version:020}.json")).await;
    }
    builder.checkpoint(2, &[add("f1"), add("f2")]).await;
    assert_eq!(versions(&builder, Timestamp(3000), None).await.unwrap(), 2..=3);
    let error = versions(&builder, Timestamp(2999), None).await;
    check_error(error, &["timestamp 1970-01-01T00:00:02.999Z is before the earliest commit that can be read, version 2"]);
}
