//! The cleanup of old files of the log.

use std::time::Duration;

use lakebed::cleanup::CleanupOutcome;
use lakebed::upkeep::{NewCommit, UpkeepOptions};
use lakebed::{Env, ErrorKind, Snapshot};
use lakebed_core::log::checksum::FileChanges;
use lakebed_core::path::commit_name;
use lakebed_io::log;
use lakebed_tests::action::{add, metadata, protocol};
use lakebed_tests::{Form, TableBuilder};
use serde_json::{Value, json};

/// The midnight before a seeded clock begins.
const MIDNIGHT_MS: i64 = 1_699_920_000_000;
const DAY_MS: i64 = 86_400_000;

/// Builds a table of eleven versions, one made at noon of each of the days 0 to 10, with
/// checkpoints at 3, 6 and 9.
async fn eleven_days(more_properties: &[(&str, &str)], more_features: &[&str], form: Form) -> TableBuilder {
    let properties = [&[("delta.enableInCommitTimestamps", "true")], more_properties].concat();
    let features = [&["inCommitTimestamp"], more_features].concat();
    let readers: Vec<&str> = more_features.iter().copied().filter(|feature| *feature == "v2Checkpoint").collect();
    let builder = TableBuilder::with(protocol(&readers, &features), metadata(&["id long"], &[], &properties));
    let mut files: Vec<Value> = Vec::new();
    for day in 0..11 {
        files.push(add(&format!("f{day}")));
        let info = json!({"commitInfo": {"inCommitTimestamp": MIDNIGHT_MS + day * DAY_MS + DAY_MS / 2}});
        builder.commit(&[info, files[files.len() - 1].clone()]).await;
        if day > 0 && day % 3 == 0 {
            builder.checkpoint_as(day as u64, form, &files, 100).await;
        }
    }
    builder
}

/// Returns the table at noon of a day.
async fn at(builder: &TableBuilder, day: i64) -> Snapshot {
    let env = Env::seeded(1);
    let wanted = MIDNIGHT_MS + day * DAY_MS + DAY_MS / 2;
    env.advance(Duration::from_millis((wanted - env.now_ms()).unsigned_abs()));
    builder.table_with(env).snapshot().await.unwrap()
}

async fn names(builder: &TableBuilder) -> Vec<String> {
    let listed = log::list_log(&builder.store(), None).await.unwrap();
    listed.into_iter().map(|file| file.path.name.trim_start_matches('0').to_owned()).collect()
}

async fn oldest_readable(builder: &TableBuilder) -> u64 {
    let table = builder.table_with(Env::seeded(1));
    for version in 0..11 {
        match table.snapshot_at(version).await {
            Ok(snapshot) => {
                assert_eq!(snapshot.detail().await.unwrap().num_files, version + 1);
                // No version is missing after the first one that is left.
                for later in version..11 {
                    assert_eq!(table.snapshot_at(later).await.unwrap().detail().await.unwrap().num_files, later + 1);
                }
                return version;
            }
            Err(error) => assert_eq!(*error.kind(), ErrorKind::VersionNotFound, "{error}"),
        }
    }
    panic!("no version can be read");
}

#[tokio::test]
async fn versions_before_the_last_old_checkpoint_go() {
    let builder = eleven_days(&[], &[], Form::Classic).await;
    builder.put_log("00000000000000000002.crc", b"x".to_vec()).await;
    builder.put_log("00000000000000000004.00000000000000000005.compacted.json", b"x".to_vec()).await;
    builder.put_log("00000000000000000006.00000000000000000008.compacted.json", b"x".to_vec()).await;
    builder.put_log("00000000000000000007.00000000000000000008.compacted.json", b"x".to_vec()).await;
    // The retention period begins thirty days before day 38, at the midnight before day 8. The
    // commit of day 7 is the last one before it.
    let outcome = at(&builder, 38).await.clean_up_log().await.unwrap();
    assert_eq!((outcome.first_version, outcome.log_files), (Some(6), 10));
    let left = ["6.checkpoint.parquet", "6.json", "7.00000000000000000008.compacted.json", "7.json", "8.json"];
    let left = left.into_iter().chain(["9.checkpoint.parquet", "9.json", "10.json"]);
    let mut found = names(&builder).await;
    let mut expected: Vec<String> = left.map(str::to_owned).collect();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    assert_eq!(oldest_readable(&builder).await, 6);
    // A second cleanup has nothing to do.
    assert_eq!(at(&builder, 38).await.clean_up_log().await.unwrap().first_version, None);
}

/// Returns the cleanup that runs with the checkpoint of version 10. That checkpoint is written on a
/// later day than the one of version 9.
async fn cleaned_up_days_later(days: i64) -> Option<CleanupOutcome> {
    let builder = eleven_days(&[("delta.checkpointInterval", "10")], &[], Form::Classic).await;
    let days_since = (Env::system().now_ms() - MIDNIGHT_MS).div_euclid(DAY_MS);
    let snapshot = at(&builder, days_since + days).await;
    let last = builder.store().get(&builder.store().log_path(&commit_name(10)).unwrap()).await.unwrap();
    let done = snapshot
        .after_commit(
            &NewCommit { lines: last, changes: FileChanges::Exact, copied: None, previous: None },
            UpkeepOptions::default(),
        )
        .await;
    assert_eq!(done.checkpoint.map(|checkpoint| checkpoint.version), Some(10), "{:?}", done.problems);
    done.cleanup
}

#[tokio::test]
async fn cleanup_runs_with_first_daily_checkpoint() {
    // Files that are too old now were too old when the last checkpoint was written. Its writer
    // cleaned them up.
    assert_eq!(cleaned_up_days_later(-1).await, None);
    assert_eq!(cleaned_up_days_later(2).await.and_then(|outcome| outcome.first_version), Some(10));
}

#[tokio::test]
async fn what_is_within_the_retention_stays() {
    let builder = eleven_days(&[], &[], Form::Classic).await;
    let before = names(&builder).await;
    for day in [10, 33] {
        assert_eq!(at(&builder, day).await.clean_up_log().await.unwrap().first_version, None, "day {day}");
    }
    assert_eq!(names(&builder).await, before);
    assert_eq!(at(&builder, 34).await.clean_up_log().await.unwrap().first_version, Some(3));
    assert_eq!(oldest_readable(&builder).await, 3);
}

#[tokio::test]
async fn the_property_sets_the_retention() {
    let builder = eleven_days(&[("delta.logRetentionDuration", "interval 2 days")], &[], Form::Classic).await;
    assert_eq!(at(&builder, 10).await.clean_up_log().await.unwrap().first_version, Some(6));
}

#[tokio::test]
async fn cleanup_does_not_rely_on_broken_checkpoint() {
    let builder = eleven_days(&[], &[], Form::Classic).await;
    builder.put_log("00000000000000000006.checkpoint.parquet", b"PAR1 no more".to_vec()).await;
    assert_eq!(at(&builder, 38).await.clean_up_log().await.unwrap().first_version, Some(3));
    assert_eq!(oldest_readable(&builder).await, 3);
    // A cleanup does not rely on a checkpoint that lacks a sidecar, either.
    let builder = eleven_days(&[("delta.checkpointPolicy", "v2")], &["v2Checkpoint"], Form::UuidJson(2)).await;
    let sidecar = "_sidecars/00000000000000000006.checkpoint.0000000002.0000000002.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.parquet";
    builder.delete_log(sidecar).await;
    assert_eq!(at(&builder, 38).await.clean_up_log().await.unwrap().first_version, Some(3));
}

#[tokio::test]
async fn cleanup_without_checkpoint_deletes_nothing() {
    let builder = eleven_days(&[], &[], Form::Classic).await;
    for version in [3, 6, 9] {
        builder.delete_log(&format!("{version:020}.checkpoint.parquet")).await;
    }
    let before = names(&builder).await;
    assert_eq!(at(&builder, 60).await.clean_up_log().await.unwrap().first_version, None);
    assert_eq!(names(&builder).await, before);
}

#[tokio::test]
async fn cleanup_keeps_protected_checkpoints_together() {
    let property = [("delta.requireCheckpointProtectionBeforeVersion", "8")];
    let builder = eleven_days(&property, &["checkpointProtection"], Form::Classic).await;
    assert_eq!(at(&builder, 38).await.clean_up_log().await.unwrap().first_version, None);
    assert_eq!(at(&builder, 41).await.clean_up_log().await.unwrap().first_version, Some(9));
}

#[tokio::test]
async fn v2_table_keeps_checkpoint_of_classic_name() {
    let builder = eleven_days(&[("delta.checkpointPolicy", "v2")], &["v2Checkpoint"], Form::UuidJson(2)).await;
    at(&builder, 38).await.clean_up_log().await.unwrap();
    let found = names(&builder).await;
    assert!(found.contains(&"9.checkpoint.parquet".to_owned()), "{found:?}");
    // The checkpoint with the classic name has the same content.
    for name in found.iter().filter(|name| name.starts_with("9.checkpoint.") && name.ends_with("json")) {
        builder.delete_log(&format!("0000000000000000000{name}")).await;
    }
    assert_eq!(oldest_readable(&builder).await, 6);
}

#[tokio::test]
async fn old_unnamed_sidecars_are_deleted() {
    let builder = eleven_days(&[("delta.checkpointPolicy", "v2")], &["v2Checkpoint"], Form::UuidJson(2)).await;
    builder.put_log("_sidecars/nobody.parquet", b"x".to_vec()).await;
    builder.put_log(".00000000000000000004.json.5c1e.tmp", b"x".to_vec()).await;
    builder.put_log(".00000000000000000004.json.tmp.17", b"x".to_vec()).await;
    builder.put_log(".00000000000000000004.json.crc", b"x".to_vec()).await;
    // The files have times of the store's own clock, which are long after the seeded clock begins.
    let young = at(&builder, 38).await.clean_up_log().await.unwrap();
    assert_eq!((young.first_version, young.sidecars, young.leftovers), (Some(6), 0, 0));
    let old = at(&builder, 365 * 100).await.clean_up_log().await.unwrap();
    // The sidecars are two of version 3, two of version 6, whose checkpoint is deleted, and one
    // that no checkpoint ever named.
    assert_eq!((old.first_version, old.sidecars, old.leftovers), (Some(9), 5, 2));
    assert_eq!(oldest_readable(&builder).await, 9);
}

/// Builds a table with an application and a domain in version 1. Returns it with these actions, for
/// checkpoints.
async fn with_application() -> (TableBuilder, Vec<Value>) {
    let features = ["domainMetadata"];
    let builder = TableBuilder::with(protocol(&[], &features), metadata(&["id long"], &[], &[]));
    let state = vec![
        json!({"txn": {"appId": "app", "version": 7}}),
        json!({"domainMetadata": {"domain": "d", "configuration": "{}", "removed": false}}),
    ];
    builder.commit(&[]).await;
    builder.commit(&state).await;
    (builder, state)
}

/// Checks the application and the domain of a version.
async fn check_application(snapshot: &Snapshot) {
    assert_eq!(snapshot.transaction_version("app").await.unwrap(), Some(7));
    assert_eq!(snapshot.domain_metadata("d").await.unwrap().unwrap().configuration, "{}");
    assert_eq!(snapshot.transaction_version("another").await.unwrap(), None);
    assert_eq!(snapshot.domain_metadata("another").await.unwrap(), None);
}

#[tokio::test]
async fn application_is_known_after_commits_go() {
    let (builder, state) = with_application().await;
    let table = builder.table();
    table.snapshot().await.unwrap();
    builder.commit(&[add("f2")]).await;
    // The snapshot comes from the new commit only, and its log has not been read as a whole yet.
    let snapshot = table.snapshot().await.unwrap();
    builder.checkpoint(2, &[vec![add("f2")], state].concat()).await;
    for version in 0..2 {
        builder.delete_log(&format!("{version:020}.json")).await;
    }
    check_application(&snapshot).await;
    check_application(&table.snapshot().await.unwrap()).await;
}

#[tokio::test]
async fn application_is_known_after_checkpoint_goes() {
    let (builder, state) = with_application().await;
    builder.checkpoint(1, &state).await;
    builder.commit(&[add("f2")]).await;
    let snapshot = builder.table().snapshot().await.unwrap();
    assert_eq!(snapshot.segment().checkpoint.as_ref().unwrap().version, 1);
    builder.checkpoint(2, &[vec![add("f2")], state].concat()).await;
    for name in ["00000000000000000000.json", "00000000000000000001.checkpoint.parquet", "00000000000000000001.json"] {
        builder.delete_log(name).await;
    }
    check_application(&snapshot).await;
}

/// A file that cannot be deleted stays, and files that it needs may be deleted. No version before
/// the retention period is damaged: such a version is not found.
#[tokio::test]
async fn interrupted_cleanup_leaves_no_broken_version() {
    for form in [Form::Classic, Form::MultiPart(2), Form::UuidJson(2)] {
        let features: &[&str] = if form == Form::UuidJson(2) { &["v2Checkpoint"] } else { &[] };
        let builder = eleven_days(&[], features, form).await;
        let before = log::list_log(&builder.store(), None).await.unwrap();
        let mut contents = Vec::new();
        for name in before.into_iter().map(|file| file.path.name) {
            let path = builder.store().path_of(&format!("_delta_log/{name}")).unwrap();
            contents.push((builder.store().get(&path).await.unwrap().to_vec(), name));
        }
        at(&builder, 38).await.clean_up_log().await.unwrap();
        let after = log::list_log(&builder.store(), None).await.unwrap();
        for (bytes, stays) in contents.into_iter().filter(|(_, name)| after.iter().all(|file| file.path.name != *name)) {
            builder.put_log(&stays, bytes).await;
            for version in 0..11 {
                match builder.table().snapshot_at(version).await {
                    Ok(snapshot) => assert_eq!(snapshot.detail().await.unwrap().num_files, version + 1, "{stays}"),
                    Err(error) => {
                        assert_eq!(*error.kind(), ErrorKind::VersionNotFound, "{form:?}, {stays} stays: {error}");
                        assert!(version < 6, "{stays} stays: {error}");
                    }
                }
            }
            builder.delete_log(&stays).await;
        }
    }
}

#[tokio::test]
async fn commits_without_timestamps_age_by_files() {
    let builder = TableBuilder::new();
    for version in 0..4 {
        builder.commit(&[add(&format!("f{version}"))]).await;
    }
    let files: Vec<Value> = (0..3).map(|version| add(&format!("f{version}"))).collect();
    builder.checkpoint(2, &files).await;
    assert_eq!(at(&builder, 1).await.clean_up_log().await.unwrap().first_version, None);
    assert_eq!(at(&builder, 365 * 100).await.clean_up_log().await.unwrap().first_version, Some(2));
    assert_eq!(at(&builder, 1).await.detail().await.unwrap().num_files, 4);
}
