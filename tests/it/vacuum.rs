//! The files that a vacuum deletes, and the files that it keeps.

mod kit;
mod lite;
mod local;
mod races;

use std::time::Duration;

use lakebed::vacuum::{VacuumMode, VacuumOptions};
use lakebed::{ErrorKind, RecordBatchStream};
use lakebed_tests::action::{add, metadata, protocol, remove_at, vector, with_vector};
use lakebed_tests::error::check_error;
use lakebed_tests::lake::stream_of;
use lakebed_tests::{Fault, Form, TableBuilder};
use serde_json::{Value, json};

use kit::*;

#[tokio::test]
async fn vacuum_deletes_only_unneeded_files() {
    let builder = partitioned(&["p", "_q"]).await;
    let live =
        ["a.parquet", "p=a%20b/_q=1/b.parquet", "p=%252F/_q=1/c.parquet", "/lake/t/d.parquet", "memory://kit/lake/t/e.parquet"];
    builder.commit(&live.map(add)).await;
    let kept = ["a.parquet", "p=a b/_q=1/b.parquet", "p=%2F/_q=1/c.parquet", "d.parquet", "e.parquet"];
    builder.put_all(&kept).await;
    builder.commit(&[remove_at("young.parquet", builder.days_ago(6)), remove_at("old.parquet", builder.days_ago(8))]).await;
    builder.put_all(&["young.parquet", "old.parquet"]).await;
    let garbage =
        ["nobody.parquet", "p=x/_q=1/f.parquet", "_q=5/g.parquet", "sub/metadata/h", "_change_data/i.parquet", "_delta_index/j"];
    builder.put_all(&garbage).await;
    let hidden = ["_other=1/f", "_tmp/f", "p=x/_tmp/f", ".k", "p=x/.l.crc", "metadata/v1.json", "_SUCCESS", "_qq=1/m"];
    builder.put_all(&hidden).await;
    let outcome = vacuum(&builder, VacuumOptions::default()).await.unwrap();
    assert_eq!(outcome.paths, sorted(garbage.iter().chain(&["old.parquet"])));
    assert_eq!(builder.objects().await, sorted(kept.iter().chain(&hidden).chain(&["young.parquet"])));
    assert_eq!((outcome.metrics.deleted_files, outcome.metrics.deleted_bytes, outcome.metrics.young_files), (7, 7, 0));
    // A second vacuum has nothing to do and writes no commit.
    let version = outcome.version;
    let outcome = vacuum(&builder, VacuumOptions::default()).await.unwrap();
    assert_eq!((outcome.version, outcome.metrics.found_files), (version, 0));
}

/// The deletion vectors of PROTOCOL's examples, and their files.
const PREFIXED: (&str, &str) = ("ab^-aqEH.-t@S}K{vb[*k^", "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin");
const SHARED: (&str, &str) = ("vBn[lx{q8@P<9BNH/isA", "deletion_vector_61d16c75-6994-46b7-a15b-8b538852e50e.bin");

#[tokio::test]
async fn vacuum_keeps_needed_deletion_vectors() {
    for form in [
        None,
        Some(Form::Classic),
        Some(Form::MultiPart(2)),
        Some(Form::ClassicV2(2)),
        Some(Form::UuidJson(0)),
        Some(Form::UuidJson(2)),
    ] {
        let builder = table().await;
        let absolute = vector("p", "memory://kit/lake/t/absolute.bin", 1);
        let actions = [
            with_vector(add("a.parquet"), vector("u", PREFIXED.0, 1)),
            with_vector(remove_at("b.parquet", builder.days_ago(1)), vector("u", SHARED.0, 1)),
            with_vector(remove_at("c.parquet", builder.days_ago(9)), vector("u", SHARED.0, 50)),
            with_vector(add("d.parquet"), vector("i", "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", 1)),
            with_vector(add("e.parquet"), absolute),
        ];
        builder.commit(&actions).await;
        if let Some(form) = form {
            builder.checkpoint_as(1, form, &actions, 2).await;
        }
        let kept = [PREFIXED.1, SHARED.1, "a.parquet", "absolute.bin", "b.parquet", "d.parquet", "e.parquet"];
        builder.put_all(&kept).await;
        builder.put_all(&["c.parquet", "deletion_vector_00000000-0000-0000-0000-000000000000.bin"]).await;
        let outcome = vacuum(&builder, VacuumOptions::default()).await.unwrap();
        let gone = ["c.parquet", "deletion_vector_00000000-0000-0000-0000-000000000000.bin"];
        assert_eq!(outcome.paths, gone, "{form:?}");
        assert_eq!(builder.objects().await, sorted(kept), "{form:?}");
        // A file is deleted as soon as no version within the retention period needs it.
        let retention = Some(Duration::from_secs(3600));
        let options = VacuumOptions { retention, enforce_retention: false, ..VacuumOptions::default() };
        assert_eq!(vacuum(&builder, options).await.unwrap().paths, sorted(["b.parquet", SHARED.1]), "{form:?}");
    }
}

#[tokio::test]
async fn checkpointed_tombstone_counts_unless_added_again() {
    let builder = table().await;
    builder.commit(&[add("x.parquet")]).await;
    let tombstones = [remove_at("young.parquet", builder.days_ago(1)), remove_at("back.parquet", builder.days_ago(1))];
    builder.checkpoint(1, &[vec![add("x.parquet")], tombstones.to_vec()].concat()).await;
    // Restored, and long removed by a clock that was behind.
    builder.commit(&[add("back.parquet")]).await;
    builder.commit(&[remove_at("back.parquet", builder.days_ago(30))]).await;
    builder.put_all(&["x.parquet", "young.parquet", "back.parquet"]).await;
    assert_eq!(vacuum(&builder, VacuumOptions::default()).await.unwrap().paths, ["back.parquet"]);
}

#[tokio::test]
async fn files_elsewhere_are_never_touched() {
    let builder = table().await;
    let elsewhere =
        ["memory://kit/lake/other/a.parquet", "s3://bucket/t/b.parquet", "dbfs:/mnt/c.parquet", "file:///x/d.parquet"];
    builder.commit(&elsewhere.map(add)).await;
    builder.commit(&elsewhere.map(|path| remove_at(path, builder.days_ago(20)))).await;
    builder.put_object("lake/other/a.parquet").await;
    // A path that only begins with the same characters as the root is outside of it, too.
    builder.put_object("lake/tt/f.parquet").await;
    for mode in [VacuumMode::Full, VacuumMode::Lite] {
        let outcome = vacuum(&builder, VacuumOptions { mode, ..VacuumOptions::default() }).await.unwrap();
        assert_eq!(outcome.metrics.found_files, 0, "{mode:?}");
    }
    assert!(builder.has_object("lake/other/a.parquet").await && builder.has_object("lake/tt/f.parquet").await);
}

#[tokio::test]
async fn retention_below_table_property_is_refused() {
    let builder = table_with(&[("delta.deletedFileRetentionDuration", "interval 10 days")]).await;
    builder.commit(&[remove_at("f.parquet", builder.days_ago(9))]).await;
    builder.put_all(&["f.parquet"]).await;
    let of_days = |days: u64| VacuumOptions { retention: Some(Duration::from_secs(days * 86_400)), ..VacuumOptions::default() };
    let error = vacuum(&builder, of_days(9)).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("216 hours is shorter than the 240 hours of the table"), "{error}");
    for options in [of_days(10), VacuumOptions::default()] {
        assert_eq!(vacuum(&builder, options).await.unwrap().metrics.found_files, 0);
    }
    let options = VacuumOptions { enforce_retention: false, ..of_days(8) };
    assert_eq!(vacuum(&builder, options).await.unwrap().paths, ["f.parquet"]);
}

#[tokio::test]
async fn retention_beyond_tombstones_needs_commits() {
    let builder = timed().await;
    let days = [60, 40, 20];
    for (version, days) in days.into_iter().enumerate() {
        let gone = format!("{version}.parquet");
        builder.commit(&[info(&builder, days), remove_at(&gone, builder.days_ago(days))]).await;
        builder.put_all(&[&gone]).await;
    }
    // The checkpoint has forgotten all of them.
    builder.commit(&[info(&builder, 1), add("f.parquet")]).await;
    builder.checkpoint(4, &[add("f.parquet")]).await;
    let thirty_days =
        || VacuumOptions { retention: Some(Duration::from_secs(30 * 86_400)), dry_run: true, ..VacuumOptions::default() };
    for mode in [VacuumMode::Full, VacuumMode::Lite] {
        let outcome = vacuum(&builder, VacuumOptions { mode, ..thirty_days() }).await.unwrap();
        assert_eq!(outcome.paths, ["0.parquet", "1.parquet"], "{mode:?}");
    }
    // The commit of forty days ago is the last one before the retention period of thirty days. The
    // commit of twenty days ago names the files that left the table within the period.
    for (version, is_known) in [(0, true), (1, true), (2, false), (3, false)] {
        builder.delete_log(&format!("{version:020}.json")).await;
        let outcome = vacuum(&builder, thirty_days()).await;
        if is_known {
            assert_eq!(outcome.unwrap().paths, ["0.parquet", "1.parquet"]);
        } else {
            let error = outcome.unwrap_err();
            assert_eq!(*error.kind(), ErrorKind::VersionNotFound);
            assert!(error.to_string().contains("720 hours is longer than the 168 hours"), "{error}");
        }
    }
    assert_eq!(
        vacuum(&builder, VacuumOptions { dry_run: true, ..VacuumOptions::default() }).await.unwrap().metrics.found_files,
        3
    );
}

#[tokio::test]
async fn a_dry_run_touches_nothing() {
    let builder = table().await;
    builder.commit(&[remove_at("gone.parquet", builder.days_ago(8))]).await;
    builder.put_all(&["gone.parquet", "nobody.parquet"]).await;
    let before = builder.all_objects().await;
    for (mode, found) in [(VacuumMode::Full, 2), (VacuumMode::Lite, 1)] {
        builder.observed().take_counts();
        let outcome = vacuum(&builder, VacuumOptions { dry_run: true, mode, ..VacuumOptions::default() }).await.unwrap();
        assert_eq!((outcome.metrics.found_files, outcome.paths.len(), outcome.metrics.deleted_files), (found, found as usize, 0));
        let counts = builder.observed().take_counts();
        assert_eq!((counts.puts, counts.deletes), (0, 0));
        assert_eq!(builder.all_objects().await, before);
    }
}

#[tokio::test]
async fn vacuum_writes_history_like_delta_spark() {
    let builder = table().await;
    builder.commit(&[remove_at("f.parquet", builder.days_ago(9))]).await;
    builder.put_all(&["f.parquet", "g.parquet"]).await;
    let retention = Some(Duration::from_secs(8 * 86_400));
    let user_metadata = Some("nightly".to_owned());
    vacuum(&builder, VacuumOptions { retention, user_metadata, ..VacuumOptions::default() }).await.unwrap();
    let (start, end) = (builder.commit_info(2).await, builder.commit_info(3).await);
    let told = |info: &Value, key: &str| info[key].clone();
    assert_eq!(told(&start, "operation"), "VACUUM START");
    let parameters =
        json!({"retentionCheckEnabled": true, "defaultRetentionMillis": 604_800_000, "specifiedRetentionMillis": 691_200_000});
    assert_eq!(told(&start, "operationParameters"), parameters);
    assert_eq!(told(&start, "operationMetrics"), json!({"numFilesToDelete": "2", "sizeOfDataToDelete": "2"}));
    assert_eq!((told(&start, "isolationLevel"), told(&start, "isBlindAppend")), (json!("SnapshotIsolation"), json!(true)));
    assert_eq!(told(&end, "operation"), "VACUUM END");
    assert_eq!(told(&end, "operationParameters"), json!({"status": "COMPLETED"}));
    assert_eq!(told(&end, "operationMetrics"), json!({"numDeletedFiles": "2", "numVacuumedDirectories": "1"}));
    assert_eq!((told(&start, "userMetadata"), told(&end, "userMetadata")), (json!("nightly"), json!("nightly")));
    // The option leaves the commits out.
    builder.put_all(&["h.parquet"]).await;
    let outcome = vacuum(&builder, VacuumOptions { log_commits: false, ..VacuumOptions::default() }).await.unwrap();
    assert_eq!((outcome.version, outcome.metrics.deleted_files), (3, 1));
}

#[tokio::test]
async fn failed_deletion_is_error_others_proceed() {
    let builder = table().await;
    builder.put_all(&["a.parquet", "b.parquet", "c.parquet"]).await;
    builder.observed().fail_with("b.parquet", Fault::Denied, 1);
    let error = vacuum(&builder, VacuumOptions::default()).await.unwrap_err();
    let object = "memory://kit/lake/t".to_owned();
    check_error(&error, &ErrorKind::Store { object, retryable: false, not_found: false }, &["2 files", "but 1 "]);
    assert_eq!(builder.objects().await, ["b.parquet"]);
    let end = builder.commit_info(2).await;
    assert_eq!(
        (&end["operationParameters"], &end["operationMetrics"]["numDeletedFiles"]),
        (&json!({"status": "FAILED"}), &json!("2"))
    );
    assert!(!builder.has_object("lake/t/_delta_log/_last_vacuum_info").await);
    assert_eq!(vacuum(&builder, VacuumOptions::default()).await.unwrap().paths, ["b.parquet"]);
    assert!(builder.has_object("lake/t/_delta_log/_last_vacuum_info").await);
}

#[tokio::test]
async fn vacuum_of_unwritable_table_is_refused() {
    for feature in ["somethingNew", "catalogManaged"] {
        let mut builder = TableBuilder::with(protocol(&[], &[feature]), metadata(&["id long"], &[], &[]));
        if feature == "catalogManaged" {
            builder = TableBuilder::with(protocol(&[feature], &[feature, "inCommitTimestamp"]), metadata(&["id long"], &[], &[]));
        }
        builder.commit(&[]).await;
        builder.put("nobody.parquet", b"x".to_vec()).await;
        let error = builder.table().vacuum().run().await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::UnsupportedFeature { .. }), "{error}");
        assert_eq!(builder.observed().take_counts().deletes, 0);
    }
}

#[tokio::test]
async fn vacuum_lists_folders_once_deletes_together() {
    let builder = partitioned(&["p"]).await;
    for folder in 0..20 {
        for file in 0..150 {
            builder.put_all(&[&format!("p={folder}/{file}.parquet")]).await;
        }
    }
    builder.put_all(&["_hidden/f", "_delta_log/_sidecars/f"]).await;
    let table = builder.table();
    table.snapshot().await.unwrap();
    let observed = builder.observed();
    observed.take_counts();
    observed.take_deletions();
    let outcome = table.vacuum().options(VacuumOptions { log_commits: false, ..VacuumOptions::default() }).run().await.unwrap();
    assert_eq!(outcome.metrics.deleted_files, 3000);
    let counts = observed.take_counts();
    assert_eq!((counts.deletes, observed.take_deletions()), (3000, 3));
    // The vacuum lists the root and its twenty folders. It lists the log for new commits once at
    // first and twice before the deletions, and the whole log once at the end.
    assert_eq!((counts.lists, outcome.metrics.listed_folders), (21 + 4, 21));
    // One get reads the note of the last vacuum, and one put writes a new note.
    assert_eq!((counts.gets, counts.puts), (1, 1));
}

fn inventory(batch: arrow_array::RecordBatch) -> RecordBatchStream {
    stream_of(batch)
}

#[tokio::test]
async fn an_inventory_takes_the_place_of_listing() {
    let builder = table().await;
    builder.commit(&[add("live.parquet"), remove_at("old.parquet", builder.days_ago(9))]).await;
    builder.put_all(&["live.parquet", "old.parquet", "nobody.parquet", "unlisted.parquet", "young.parquet", "a%20b"]).await;
    builder.put_object("lake/other/f.parquet").await;
    let rows = [
        ("live.parquet", 9),
        ("memory://kit/lake/t/old.parquet", 9),
        ("/lake/t/nobody.parquet", 9),
        ("young.parquet", 6),
        ("a%20b", 9),
        ("memory://kit/lake/other/f.parquet", 9),
        ("s3://kit/lake/t/f.parquet", 9),
        ("_delta_log/00000000000000000000.json", 9),
        ("gone.parquet", 9),
    ];
    let rows: Vec<(String, i64)> = rows.iter().map(|(path, days)| ((*path).to_owned(), builder.days_ago(*days))).collect();
    let table = builder.table();
    let outcome = table.vacuum().inventory(inventory(inventory_of(&rows))).run().await.unwrap();
    assert_eq!((outcome.metrics.deleted_files, outcome.metrics.young_files), (4, 1));
    assert_eq!(builder.objects().await, ["live.parquet", "unlisted.parquet", "young.parquet"]);
    // An inventory may be incomplete, so it is unknown whether all files were covered.
    assert!(!builder.has_object("lake/t/_delta_log/_last_vacuum_info").await);
    let lacking = inventory_of(&rows).project(&[0, 1, 2]).unwrap();
    let error = table.vacuum().inventory(inventory(lacking)).run().await.unwrap_err();
    check_error(&error, &ErrorKind::InvalidInput, &["modificationTime"]);
    let lite = VacuumOptions { mode: VacuumMode::Lite, ..VacuumOptions::default() };
    let error = table.vacuum().options(lite).inventory(inventory(inventory_of(&rows))).run().await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::InvalidInput);
}
