//! Checksums that are computed from commit to commit, and the other work after a commit.

use bytes::Bytes;
use lakebed::upkeep::{NewCommit, UpkeepOptions};
use lakebed::{Env, Snapshot};
use lakebed_core::log::checksum::{FileChanges, VersionChecksum};
use lakebed_core::path::{LogKind, LogPath, checksum_name};
use lakebed_io::log;
use lakebed_tests::action::{VECTOR_FILE, add, metadata, protocol, remove, remove_of, text, vector, with, with_vector};
use lakebed_tests::{Fault, TableBuilder};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use serde_json::{Value, json};

use crate::model::Model;

/// Commits, and returns the snapshot with the input of its upkeep.
async fn commit(builder: &mut TableBuilder, actions: &[Value], changes: FileChanges) -> (Snapshot, NewCommit) {
    builder.commit(actions).await;
    let snapshot = builder.table_with(Env::seeded(7)).snapshot().await.unwrap();
    let head = [builder.protocol().clone(), builder.metadata().clone()];
    let lines = if snapshot.version() == 0 { text(&[&head, actions].concat()) } else { text(actions) };
    (snapshot, NewCommit { lines: Bytes::from(lines), changes, copied: None, previous: None })
}

async fn next(builder: &mut TableBuilder, actions: &[Value]) -> Option<VersionChecksum> {
    let (snapshot, commit) = commit(builder, actions, FileChanges::Exact).await;
    snapshot.put_next_checksum(&commit).await.unwrap()
}

async fn written(builder: &TableBuilder, version: u64) -> Option<VersionChecksum> {
    let path = LogPath { version, kind: LogKind::Checksum, name: checksum_name(version) };
    log::read_checksum(&builder.store(), &path).await.ok()
}

#[tokio::test]
async fn checksums_of_random_logs_match_state() {
    for seed in 0..40 {
        let mut random = SmallRng::seed_from_u64(seed);
        let mut builder = TableBuilder::new();
        let mut model = Model::new(0);
        for version in 0..12 {
            let actions = model.commit(&mut random);
            let carried_on = next(&mut builder, &actions).await.unwrap();
            assert_eq!((carried_on.num_files as u64, carried_on.table_size_bytes as u64), model.files(), "seed {seed}");
            assert_eq!(written(&builder, version).await.as_ref(), Some(&carried_on));
            let from_state =
                builder.table_with(Env::seeded(7)).snapshot().await.unwrap().checkpoint().await.unwrap().checksum.unwrap();
            assert_eq!(carried_on, from_state, "seed {seed}, version {version}");
        }
    }
}

#[tokio::test]
async fn a_checksum_is_never_guessed() {
    let small = |action: Value| with(action, json!({"size": 100}));
    // What its writer does not vouch for.
    let mut builder = TableBuilder::new();
    next(&mut builder, &[add("a")]).await.unwrap();
    let (snapshot, unknown) = commit(&mut builder, &[add("b")], FileChanges::Unknown).await;
    assert_eq!(snapshot.put_next_checksum(&unknown).await.unwrap(), None);
    assert_eq!(written(&builder, 1).await, None);
    // There is no earlier checksum to compute it from.
    assert_eq!(next(&mut builder, &[add("c")]).await, None);
    for broken in [
        vec![remove("a")],
        vec![add("b"), add("b")],
        vec![small(remove("a")), add("a")],
        vec![small(remove("a")), small(remove("never there")), small(remove("nor this"))],
    ] {
        let mut builder = TableBuilder::new();
        next(&mut builder, &[add("a"), add("x")]).await.unwrap();
        assert_eq!(next(&mut builder, &broken).await, None, "{broken:?}");
    }
}

#[tokio::test]
async fn without_file_actions_nobody_has_to_vouch() {
    let mut builder = TableBuilder::new();
    next(&mut builder, &[add("a")]).await.unwrap();
    let txn = json!({"txn": {"appId": "x", "version": 3}});
    let (snapshot, unknown) = commit(&mut builder, &[txn], FileChanges::Unknown).await;
    let checksum = snapshot.put_next_checksum(&unknown).await.unwrap().unwrap();
    assert_eq!((checksum.num_files, checksum.set_transactions.unwrap().len()), (1, 1));
}

#[tokio::test]
async fn existing_checksum_is_not_overwritten() {
    let mut builder = TableBuilder::new();
    builder.put_log(&checksum_name(0), b"somebody else's".to_vec()).await;
    assert!(next(&mut builder, &[add("a")]).await.is_some());
    assert_eq!(written(&builder, 0).await, None);
}

#[tokio::test]
async fn vectors_are_counted_once_allowed() {
    let metadata = metadata(&["id long"], &[], &[]);
    let mut builder = TableBuilder::with(protocol(&[], &[]), metadata);
    let checksum = next(&mut builder, &[add("a")]).await.unwrap();
    assert_eq!((checksum.num_deletion_vectors, checksum.num_deleted_records), (None, None));
    let upgrade = protocol(&["deletionVectors"], &["deletionVectors"]);
    let checksum = next(&mut builder, &[upgrade]).await.unwrap();
    assert_eq!((checksum.num_deletion_vectors, checksum.num_deleted_records), (Some(0), Some(0)));
    let file = with_vector(add("b"), vector("u", VECTOR_FILE, 1));
    let checksum = next(&mut builder, &[file]).await.unwrap();
    assert_eq!((checksum.num_deletion_vectors, checksum.num_deleted_records), (Some(1), Some(6)));
}

#[tokio::test]
async fn checksum_takes_in_commit_timestamp() {
    let info = |time: i64| json!({"commitInfo": {"inCommitTimestamp": time, "txnId": format!("t{time}")}});
    let properties = [("delta.enableInCommitTimestamps", "true")];
    let mut builder = TableBuilder::with(protocol(&[], &["inCommitTimestamp"]), metadata(&["id long"], &[], &properties));
    let checksum = next(&mut builder, &[info(5)]).await.unwrap();
    assert_eq!((checksum.in_commit_timestamp, checksum.txn_id.as_deref()), (Some(5), Some("t5")));
    let checksum = next(&mut builder, &[info(6), add("a")]).await.unwrap();
    assert_eq!(checksum.in_commit_timestamp, Some(6));
    assert_eq!(next(&mut builder, &[add("b")]).await, None, "a commit without the timestamp that it must have");
}

/// Commits versions with all their upkeep. Returns the versions that have a checkpoint. The first
/// version adds `first_files` files, and the others add one.
async fn checkpoints(properties: &[(&str, &str)], first_files: u64, versions: u64) -> Vec<u64> {
    let mut builder = TableBuilder::with(protocol(&[], &[]), metadata(&["id long"], &[], properties));
    let mut found = Vec::new();
    for version in 0..versions {
        let files = if version == 0 { first_files } else { 1 };
        let adds: Vec<_> = (0..files).map(|file| add(&format!("f{version}-{file}"))).collect();
        let (snapshot, new) = commit(&mut builder, &adds, FileChanges::Exact).await;
        let outcome = snapshot.after_commit(&new, UpkeepOptions::default()).await;
        assert!(outcome.problems.is_empty(), "{:?}", outcome.problems);
        assert_eq!(outcome.checksum.unwrap().num_files as u64, first_files + version);
        found.extend(outcome.checkpoint.map(|checkpoint| checkpoint.version));
    }
    found
}

#[tokio::test]
async fn checkpoint_is_written_at_interval() {
    assert_eq!(checkpoints(&[], 1, 22).await, [10, 20]);
    assert_eq!(checkpoints(&[("delta.checkpointInterval", "3")], 1, 8).await, [3, 6]);
    // Without an explicit interval, checkpoints that take long are written less often.
    assert_eq!(checkpoints(&[], 8_000, 62).await, [30, 60]);
    assert_eq!(checkpoints(&[("delta.checkpointInterval", "10")], 8_000, 22).await, [10, 20]);
}

#[tokio::test]
async fn missed_checkpoint_is_written_later() {
    let mut builder = TableBuilder::new();
    for version in 0..19 {
        builder.commit(&[add(&format!("f{version}"))]).await;
    }
    let (snapshot, _) = commit(&mut builder, &[], FileChanges::Exact).await;
    assert!(snapshot.is_checkpoint_due(0).await.unwrap());
    // The checkpoint is not due if another process has written it since.
    builder.hint(15).await;
    assert!(!snapshot.is_checkpoint_due(0).await.unwrap());
}

#[tokio::test]
async fn large_commit_triggers_checkpoint() {
    let mut builder = TableBuilder::new();
    builder.commit(&[]).await;
    let (snapshot, _) = commit(&mut builder, &[add("a")], FileChanges::Exact).await;
    assert!(!snapshot.is_checkpoint_due(49_999).await.unwrap());
    assert!(snapshot.is_checkpoint_due(50_000).await.unwrap());
}

#[tokio::test]
async fn failed_upkeep_is_reported_commit_stands() {
    let mut builder = TableBuilder::with(protocol(&[], &[]), metadata(&["id long"], &[], &[("delta.checkpointInterval", "1")]));
    builder.commit(&[]).await;
    let (snapshot, new) = commit(&mut builder, &[add("a")], FileChanges::Exact).await;
    builder.observed().fail_with(&checksum_name(1), Fault::Denied, 9);
    builder.observed().fail_with("checkpoint.parquet", Fault::Denied, 9);
    let outcome = snapshot.after_commit(&new, UpkeepOptions::default()).await;
    assert_eq!((outcome.checkpoint, outcome.problems.len()), (None, 1), "{:?}", outcome.problems);
    let detail = builder.table_with(Env::seeded(7)).snapshot().await.unwrap().detail().await.unwrap();
    assert_eq!((detail.version, detail.num_files), (1, 1));
}

#[tokio::test]
async fn removed_files_leave_the_sums() {
    let mut builder = TableBuilder::new();
    next(&mut builder, &[add("a"), add("b")]).await.unwrap();
    let checksum = next(&mut builder, &[remove_of(&add("a"))]).await.unwrap();
    assert_eq!((checksum.num_files, checksum.table_size_bytes), (1, 100));
}
