//! A table for races: partitioned by `p`, with the file `a` in the partition 1 and `b` in the partition 2, ten rows each.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use arrow_array::cast::AsArray;
use futures::TryStreamExt;
use lakebed::transaction::{CommitSettings, Committed, Operation, Transaction};
use lakebed::{Env, Error, ErrorKind, Result, Snapshot, Table};
use lakebed_core::ConflictKind;
use lakebed_core::action::json::{AddRef, parse_commit};
use lakebed_core::action::{Action, Add};
use lakebed_core::dv::DeletionVector;
use lakebed_core::log::builder::FileBatchBuilder;
use lakebed_core::log::files::FileBatch;
use lakebed_core::path::commit_name;
use lakebed_io::store::{Store, StoreOptions};
use lakebed_tests::ObservedStore;
use lakebed_tests::table::{metadata, protocol, text};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use serde_json::{Value, json};
use url::Url;

pub(super) const FEATURES: [&str; 4] = ["deletionVectors", "domainMetadata", "inCommitTimestamp", "rowTracking"];

pub(super) struct Case {
    /// Below the store that fails.
    memory: Arc<InMemory>,
    pub(super) observed: Arc<ObservedStore>,
    pub(super) table: Table,
}

impl Case {
    pub(super) async fn new() -> Self {
        Self::with(protocol(&["deletionVectors"], &FEATURES), &[("delta.enableDeletionVectors", "true")]).await
    }

    /// With this protocol and these properties.
    pub(super) async fn with(protocol: Value, properties: &[(&str, &str)]) -> Self {
        let case = Self::empty();
        let metadata = metadata(&["p string", "id long"], &["p"], properties);
        let tracked = |file: Value, base: i64| {
            let mut file = file;
            file["baseRowId"] = json!(base);
            file["defaultRowCommitVersion"] = json!(0);
            json!({"add": file})
        };
        let mark = json!({"domain": "delta.rowTracking", "configuration": "{\"rowIdHighWaterMark\":19}", "removed": false});
        let info = json!({"commitInfo": {"inCommitTimestamp": 1_600_000_000_000_i64}});
        let adds = [tracked(file("a", "1", 0), 0), tracked(file("b", "2", 0), 10)];
        let lines = [vec![info, protocol, metadata], adds.to_vec(), vec![json!({"domainMetadata": mark})]].concat();
        case.put_commit(0, &lines).await;
        case
    }

    /// Without a table.
    pub(super) fn empty() -> Self {
        let memory = Arc::new(InMemory::new());
        let observed = ObservedStore::new(Arc::clone(&memory) as Arc<dyn ObjectStore>);
        let env = Env::seeded(7);
        let options = StoreOptions { env: env.clone(), ..StoreOptions::default() };
        let url = Url::parse("memory://kit/t").unwrap();
        let store = Store::from_object_store_with(Arc::clone(&observed) as Arc<dyn ObjectStore>, Path::from("t"), url, options);
        let table = Table::at("memory://kit").with_store(store).with_env(env).build().unwrap();
        Self { memory, observed, table }
    }

    /// A transaction that makes the table with these features of writers and properties.
    pub(super) fn create(&self, features: &[&str], properties: &[(&str, &str)]) -> Transaction {
        let content = |action: Value, name: &str| action[name].clone();
        let protocol = serde_json::from_value(content(protocol(&[], features), "protocol")).unwrap();
        let metadata = content(metadata(&["p string", "id long"], &["p"], properties), "metaData");
        let (store, env) = (self.table.store().clone(), self.table.env().clone());
        Transaction::create(store, env, protocol, serde_json::from_value(metadata).unwrap(), CommitSettings::default()).unwrap()
    }

    /// A commit of another engine.
    pub(super) async fn put_commit(&self, version: u64, actions: &[Value]) {
        self.memory.put(&path(version), text(actions).into()).await.unwrap();
    }

    /// What stands in the log, whatever the store says; none if the version is not there.
    pub(super) async fn actions(&self, version: u64) -> Option<Vec<Action>> {
        let found = self.memory.get(&path(version)).await.ok()?;
        Some(parse_commit(&found.bytes().await.unwrap(), "commit").unwrap())
    }

    pub(super) async fn begin(&self) -> Transaction {
        self.begin_on(&self.table.snapshot().await.unwrap()).await
    }

    pub(super) async fn begin_on(&self, snapshot: &Snapshot) -> Transaction {
        Transaction::begin(snapshot, CommitSettings::default()).await.unwrap()
    }

    /// The files of the newest version, as somebody sees them who knows nothing yet, and how many rows they have.
    pub(super) async fn seen(&self) -> (u64, BTreeSet<String>, u64) {
        let table = Table::at("memory://kit").with_store(self.table.store().clone()).build().unwrap();
        let snapshot = table.snapshot().await.unwrap();
        (snapshot.version(), paths(&snapshot).await, snapshot.scan().count().await.unwrap())
    }
}

pub(super) async fn paths(snapshot: &Snapshot) -> BTreeSet<String> {
    let batches: Vec<_> = snapshot.scan().files().await.unwrap().try_collect().await.unwrap();
    let of = |batch: &arrow_array::RecordBatch| {
        let paths = batch.column_by_name("path").unwrap().as_string::<i32>().clone();
        paths.iter().flatten().map(str::to_owned).collect::<Vec<_>>()
    };
    batches.iter().flat_map(of).collect()
}

fn path(version: u64) -> Path {
    Path::from(format!("t/_delta_log/{}", commit_name(version)))
}

/// A file of one partition with ten ids.
pub(super) fn file(path: &str, p: &str, first: i64) -> Value {
    let stats = json!({"numRecords": 10, "minValues": {"id": first}, "maxValues": {"id": first + 9}, "nullCount": {"id": 0}});
    json!({
        "path": path, "partitionValues": {"p": p}, "size": 100, "modificationTime": 1, "dataChange": true, "stats": stats.to_string(),
    })
}

pub(super) fn add(file: &Value) -> Add {
    serde_json::from_value(file.clone()).unwrap()
}

pub(super) fn a() -> Value {
    file("a", "1", 0)
}

pub(super) fn batch(files: &[Value]) -> FileBatch {
    let mut batch = FileBatchBuilder::default();
    files.iter().for_each(|file| batch.append(&AddRef::from(add(file))).unwrap());
    batch.finish().unwrap()
}

pub(super) async fn commit(transaction: Transaction) -> Result<Committed> {
    transaction.commit(Operation::new("TEST")).await
}

/// Reads a partition, of which these files are all.
pub(super) fn read(transaction: &mut Transaction, p: &str, files: &[Value]) {
    transaction.read_partitions(vec!["p".to_owned()], HashSet::from([vec![Some(p.to_owned())]]));
    transaction.read_files(&batch(files)).unwrap();
}

/// Two files, or one, become one without a change of rows.
pub(super) fn optimize(transaction: &mut Transaction, gone: &[Value], into: &str) {
    transaction.read_files(&batch(gone)).unwrap();
    transaction.remove(batch(gone), false);
    transaction.add([Add { data_change: false, ..add(&file(into, "1", 0)) }]);
}

/// Deletes rows of the file `a`, as it was at first.
pub(super) async fn delete_rows(transaction: &mut Transaction, positions: &[u64]) {
    let mut rows = DeletionVector::new();
    positions.iter().for_each(|position| assert!(rows.insert(*position)));
    transaction.delete_rows(vec![(add(&a()), rows)]).await.unwrap();
}

pub(super) fn conflict(error: &Error) -> (ConflictKind, u64) {
    match error.kind() {
        ErrorKind::CommitConflict { kind, winner_version, retryable: true } => (*kind, *winner_version),
        other => panic!("{other:?}: {error}"),
    }
}

pub(super) fn impatient() -> CommitSettings {
    CommitSettings { patience: Duration::ZERO, ..CommitSettings::default() }
}
