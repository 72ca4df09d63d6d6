//! A table for races. It is partitioned by `p`. The file `a` is in the partition 1 and `b` in the
//! partition 2, with ten rows each.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use arrow_array::cast::AsArray;
use futures::TryStreamExt;
use lakebed::transaction::{CommitSettings, Committed, Operation, Partitions, Transaction};
use lakebed::{Error, ErrorKind, Result, Snapshot, Table};
use lakebed_core::ConflictKind;
use lakebed_core::action::Add;
use lakebed_core::action::json::AddRef;
use lakebed_core::dv::DeletionVector;
use lakebed_core::log::builder::FileBatchBuilder;
use lakebed_core::log::files::FileBatch;
use lakebed_tests::Lake;
use lakebed_tests::action::{add_ids, metadata, protocol, with};
use serde_json::{Value, json};

pub(super) const FEATURES: [&str; 4] = ["deletionVectors", "domainMetadata", "inCommitTimestamp", "rowTracking"];

/// Returns the table with deletion vectors.
pub(super) async fn two_files() -> Lake {
    two_files_with(protocol(&["deletionVectors"], &FEATURES), &[("delta.enableDeletionVectors", "true")]).await
}

/// Returns the table with this protocol and these properties.
pub(super) async fn two_files_with(protocol: Value, properties: &[(&str, &str)]) -> Lake {
    let lake = Lake::empty();
    let metadata = metadata(&["p string", "id long"], &["p"], properties);
    let tracked = |file: Value, base: i64| with(file, json!({"baseRowId": base, "defaultRowCommitVersion": 0}));
    let mark = json!({"domain": "delta.rowTracking", "configuration": "{\"rowIdHighWaterMark\":19}", "removed": false});
    let info = json!({"commitInfo": {"inCommitTimestamp": 1_600_000_000_000_i64}});
    let adds = [tracked(file("a", "1", 0), 0), tracked(file("b", "2", 0), 10)];
    let lines = [vec![info, protocol, metadata], adds.to_vec(), vec![json!({"domainMetadata": mark})]].concat();
    lake.put_commit(0, &lines).await;
    lake
}

/// Returns a transaction that creates the table with these writer features and properties.
pub(super) fn create(lake: &Lake, features: &[&str], properties: &[(&str, &str)]) -> Transaction {
    let content = |action: Value, name: &str| action[name].clone();
    let protocol = serde_json::from_value(content(protocol(&[], features), "protocol")).unwrap();
    let metadata = content(metadata(&["p string", "id long"], &["p"], properties), "metaData");
    let (store, env) = (lake.table.store().clone(), lake.table.env().clone());
    Transaction::create(store, env, protocol, serde_json::from_value(metadata).unwrap(), CommitSettings::default()).unwrap()
}

pub(super) async fn begin(lake: &Lake) -> Transaction {
    begin_on(&lake.table.snapshot().await.unwrap()).await
}

pub(super) async fn begin_on(snapshot: &Snapshot) -> Transaction {
    Transaction::begin(snapshot, CommitSettings::default()).await.unwrap()
}

/// Returns the newest version, its files and their number of rows, as a process with empty caches
/// sees them.
pub(super) async fn seen(lake: &Lake) -> (u64, BTreeSet<String>, u64) {
    let table = Table::at("memory://kit").with_store(lake.table.store().clone()).build().unwrap();
    let snapshot = table.snapshot().await.unwrap();
    (snapshot.version(), paths(&snapshot).await, snapshot.scan().count().await.unwrap())
}

pub(super) async fn paths(snapshot: &Snapshot) -> BTreeSet<String> {
    let batches: Vec<_> = snapshot.scan().files().await.unwrap().try_collect().await.unwrap();
    let of = |batch: &arrow_array::RecordBatch| {
        let paths = batch.column_by_name("path").unwrap().as_string::<i32>().clone();
        paths.iter().flatten().map(str::to_owned).collect::<Vec<_>>()
    };
    batches.iter().flat_map(of).collect()
}

/// The `add` of a file of one partition with ten ids.
pub(super) fn file(path: &str, p: &str, first: i64) -> Value {
    add_ids(path, p, first..=first + 9)
}

/// The file of an `add` as lakebed's type.
pub(super) fn to_add(file: &Value) -> Add {
    serde_json::from_value(file["add"].clone()).unwrap()
}

pub(super) fn a() -> Value {
    file("a", "1", 0)
}

pub(super) fn batch(files: &[Value]) -> FileBatch {
    let mut batch = FileBatchBuilder::default();
    files.iter().for_each(|file| batch.append(&AddRef::from(to_add(file))).unwrap());
    batch.finish().unwrap()
}

pub(super) async fn commit(transaction: Transaction) -> Result<Committed> {
    transaction.commit(Operation::new("TEST")).await
}

/// Reads a partition that has exactly these files.
pub(super) fn read(transaction: &mut Transaction, p: &str, files: &[Value]) {
    let partitions = Partitions::new(transaction.snapshot(), vec!["p".to_owned()], HashSet::from([vec![Some(p.to_owned())]]));
    transaction.read().partitions(partitions);
    transaction.read().files(&batch(files)).unwrap();
}

/// Rewrites one file or two files as one without a change of rows.
pub(super) fn optimize(transaction: &mut Transaction, gone: &[Value], into: &str) {
    transaction.read().files(&batch(gone)).unwrap();
    transaction.remove(batch(gone), false);
    transaction.add([Add { data_change: false, ..to_add(&file(into, "1", 0)) }]);
}

/// Deletes rows of the file `a` in its first state.
pub(super) async fn delete_rows(transaction: &mut Transaction, positions: &[u64]) {
    let mut rows = DeletionVector::new();
    positions.iter().for_each(|position| assert!(rows.insert(*position)));
    transaction.delete_rows(vec![(to_add(&a()), rows)]).await.unwrap();
}

pub(super) fn conflict(error: &Error) -> (ConflictKind, u64) {
    match error.kind() {
        ErrorKind::CommitConflict { kind, winner_version, retryable: true } => (*kind, *winner_version),
        other => panic!("{other:?}: {error}"),
    }
}

pub(super) fn impatient() -> CommitSettings {
    CommitSettings { timeout: Duration::ZERO, ..CommitSettings::default() }
}
