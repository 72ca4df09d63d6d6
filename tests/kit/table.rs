//! Tables in an in-memory store, built by tests commit by commit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arrow_array::RecordBatch;
use futures::TryStreamExt;
use lakebed::{Env, Table};
use lakebed_io::store::Store;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use serde_json::{Value, json};
use url::Url;

use crate::action::{metadata, protocol, text};
use crate::checkpoint::{self, Form};
use crate::store::ObservedStore;

/// A table that grows with each call. Version 0 and every checkpoint set protocol and metadata by
/// themselves.
pub struct TableBuilder {
    observed: Arc<ObservedStore>,
    protocol: Value,
    metadata: Value,
    next_version: AtomicU64,
    /// The clock and the identifiers of the table's handles. `None` stands for those of the
    /// machine.
    env: Option<Env>,
    /// The number of processes that have an environment.
    processes: AtomicU64,
}

const ROOT: &str = "lake/t";

const DAY_MS: i64 = 86_400_000;

impl TableBuilder {
    /// Builds an unpartitioned table with the columns `id long` and `name string` that may have
    /// deletion vectors.
    pub fn new() -> Self {
        Self::with(protocol(&["deletionVectors"], &["deletionVectors"]), metadata(&["id long", "name string"], &[], &[]))
    }

    /// Builds a table with this protocol and metadata.
    pub fn with(protocol: Value, metadata: Value) -> Self {
        Self {
            observed: ObservedStore::new(Arc::new(InMemory::new())),
            protocol,
            metadata,
            next_version: AtomicU64::new(0),
            env: None,
            processes: AtomicU64::new(0),
        }
    }

    /// Builds the same table with a clock that is this many days ahead of the machine's clock. The
    /// store uses the machine's clock, so all objects in it look this old.
    #[must_use]
    pub fn days_ahead(mut self, days: u64) -> Self {
        let env = Env::seeded(1);
        let now_ms = Env::system().now_ms() + i64::try_from(days).unwrap() * DAY_MS;
        env.advance(Duration::from_millis((now_ms - env.now_ms()).unsigned_abs()));
        self.env = Some(env);
        self
    }

    /// Returns the time this many days before the table's clock.
    pub fn days_ago(&self, days: i64) -> i64 {
        self.env.as_ref().map_or_else(|| Env::system().now_ms(), Env::now_ms) - days * DAY_MS
    }

    /// Returns the environment of another simulated process.
    pub fn new_env(&self) -> Env {
        Env::seeded(self.processes.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns the `protocol` action of version 0.
    pub fn protocol(&self) -> &Value {
        &self.protocol
    }

    /// Returns the `metaData` action of version 0.
    pub fn metadata(&self) -> &Value {
        &self.metadata
    }

    /// Returns the store that counts requests and injects faults.
    pub fn observed(&self) -> &ObservedStore {
        &self.observed
    }

    /// Returns the root of the table in the store.
    pub fn store(&self) -> Store {
        let url = Url::parse(&format!("memory://kit/{ROOT}")).unwrap();
        Store::from_object_store(Arc::clone(&self.observed) as Arc<dyn ObjectStore>, Path::from(ROOT), url)
    }

    /// Returns the table with empty caches.
    pub fn table(&self) -> Table {
        let table = Table::at("memory://kit").with_store(self.store());
        self.env.iter().fold(table, |table, env| table.with_env(env.clone())).build().unwrap()
    }

    /// Returns the table with the clock and the identifiers of `env`.
    pub fn table_with(&self, env: Env) -> Table {
        Table::at("memory://kit").with_store(self.store()).with_env(env).build().unwrap()
    }

    /// Writes the next version.
    pub async fn commit(&self, actions: &[Value]) {
        let version = self.next_version.fetch_add(1, Ordering::Relaxed);
        let head = [self.protocol.clone(), self.metadata.clone()];
        // A commit has at least one action.
        let info = [json!({"commitInfo": {}})];
        let lines = match actions {
            _ if version == 0 => text(&[&head, actions].concat()),
            [] => text(&info),
            actions => text(actions),
        };
        self.put_log(&format!("{version:020}.json"), lines).await;
    }

    /// Writes a classic checkpoint with these actions.
    pub async fn checkpoint(&self, version: u64, actions: &[Value]) {
        self.checkpoint_as(version, Form::Classic, actions, usize::MAX).await;
    }

    /// Writes a checkpoint in this form; its row groups have `group_rows` rows each.
    pub async fn checkpoint_as(&self, version: u64, form: Form, actions: &[Value], group_rows: usize) {
        let head = [self.protocol.clone(), self.metadata.clone()];
        for (name, bytes) in checkpoint::files(version, form, &[&head, actions].concat(), group_rows) {
            self.put_log(&name, bytes).await;
        }
    }

    /// Writes a `_last_checkpoint` that names this version.
    pub async fn hint(&self, version: u64) {
        self.put_log("_last_checkpoint", format!(r#"{{"version":{version},"size":1}}"#).into_bytes()).await;
    }

    /// Writes any file of the log.
    pub async fn put_log(&self, name: &str, bytes: Vec<u8>) {
        self.put(&format!("_delta_log/{name}"), bytes).await;
    }

    /// Reads any file of the log.
    pub async fn read_log(&self, name: &str) -> Vec<u8> {
        self.read(&format!("_delta_log/{name}")).await
    }

    /// Reads any file.
    pub async fn read(&self, name: &str) -> Vec<u8> {
        self.observed.get(&path(name)).await.unwrap().bytes().await.unwrap().to_vec()
    }

    /// Deletes a file of the log if it exists.
    pub async fn try_delete_log(&self, name: &str) {
        let _ = self.observed.delete(&path(&format!("_delta_log/{name}"))).await;
    }

    /// Deletes a file of the log.
    pub async fn delete_log(&self, name: &str) {
        self.observed.delete(&path(&format!("_delta_log/{name}"))).await.unwrap();
    }

    /// Writes a data file and returns its size.
    pub async fn put_data(&self, name: &str, batch: &RecordBatch) -> usize {
        let bytes = parquet_bytes(batch, usize::MAX);
        let size = bytes.len();
        self.put(name, bytes).await;
        size
    }

    /// Writes any file.
    pub async fn put(&self, name: &str, bytes: Vec<u8>) {
        self.observed.put(&path(name), bytes.into()).await.unwrap();
    }

    /// Writes files of one byte.
    pub async fn put_all(&self, names: &[impl AsRef<str>]) {
        for name in names {
            self.put(name.as_ref(), b"x".to_vec()).await;
        }
    }

    /// Returns the names of all objects of the store, in order.
    pub async fn all_objects(&self) -> Vec<String> {
        let all: Vec<_> = self.observed.list(None).try_collect().await.unwrap();
        sorted(all.iter().map(|object| object.location.as_ref()))
    }

    /// Returns the names of the table's objects below its root, without those of its log, in order.
    pub async fn objects(&self) -> Vec<String> {
        let all = self.all_objects().await;
        let root = format!("{ROOT}/");
        let own = all.iter().filter_map(|name| name.strip_prefix(&root));
        own.filter(|name| !name.starts_with("_delta_log")).map(str::to_owned).collect()
    }

    /// Returns whether the store has an object at this path, inside or outside the table.
    pub async fn has_object(&self, name: &str) -> bool {
        self.observed.head(&Path::from(name)).await.is_ok()
    }

    /// Writes an object of one byte, inside or outside the table.
    pub async fn put_object(&self, name: &str) {
        self.observed.put(&Path::from(name), "x".into()).await.unwrap();
    }

    /// Returns the `commitInfo` of a version that has no other action.
    pub async fn commit_info(&self, version: u64) -> Value {
        let bytes = self.read_log(&format!("{version:020}.json")).await;
        let lines: Vec<Value> = serde_json::Deserializer::from_slice(&bytes).into_iter().collect::<Result<_, _>>().unwrap();
        assert_eq!(lines.len(), 1);
        lines[0]["commitInfo"].clone()
    }
}

impl Default for TableBuilder {
    fn default() -> Self {
        Self::new()
    }
}

fn path(name: &str) -> Path {
    Path::parse(format!("{ROOT}/{name}")).unwrap()
}

/// Returns names in order.
pub fn sorted(names: impl IntoIterator<Item = impl AsRef<str>>) -> Vec<String> {
    let mut names: Vec<String> = names.into_iter().map(|name| name.as_ref().to_owned()).collect();
    names.sort();
    names
}

/// Returns a Parquet file with these columns.
pub fn parquet_bytes(batch: &RecordBatch, group_rows: usize) -> Vec<u8> {
    parquet_bytes_with(batch, WriterProperties::builder().set_max_row_group_row_count(Some(group_rows)).build())
}

/// Returns a Parquet file with these writer properties.
pub fn parquet_bytes_with(batch: &RecordBatch, properties: WriterProperties) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}
