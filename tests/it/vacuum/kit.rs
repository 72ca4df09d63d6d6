//! A table in memory with files in it, and a clock a hundred days ahead of them.

use std::sync::Arc;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::{BooleanArray, Int64Array, RecordBatch, StringArray};
use futures::TryStreamExt;
use lakebed::vacuum::{VacuumMetrics, VacuumOptions};
use lakebed::{Env, Result, Table};
use lakebed_tests::table::{metadata, protocol};
use lakebed_tests::{ObservedStore, TableBuilder};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use serde_json::{Value, json};
use tokio::sync::{Mutex, MutexGuard};

const DAY_MS: i64 = 86_400_000;
const AHEAD_MS: i64 = 100 * DAY_MS;

pub(super) struct Lake {
    pub(super) builder: Mutex<TableBuilder>,
    env: Env,
    now_ms: i64,
}

/// What came of a vacuum, with the paths of its files in order.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) version: u64,
    pub(super) metrics: VacuumMetrics,
    pub(super) paths: Vec<String>,
}

impl Lake {
    pub(super) async fn new() -> Self {
        Self::with(&[]).await
    }

    pub(super) async fn with(properties: &[(&str, &str)]) -> Self {
        let features = ["deletionVectors", "v2Checkpoint"];
        Self::of(TableBuilder::with(protocol(&features, &features), metadata(&["id long"], &[], properties)), &[]).await
    }

    pub(super) async fn partitioned(columns: &[&str]) -> Self {
        let all: Vec<String> = columns.iter().map(|column| format!("{column} string")).chain(["id long".to_owned()]).collect();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        Self::of(TableBuilder::with(protocol(&[], &[]), metadata(&all, columns, &[])), &[]).await
    }

    /// Its commits tell by themselves when they were made; the first one a hundred days ago.
    pub(super) async fn timed() -> Self {
        let properties = [("delta.enableInCommitTimestamps", "true")];
        let features = ["inCommitTimestamp", "deletionVectors"];
        let builder = TableBuilder::with(protocol(&["deletionVectors"], &features), metadata(&["id long"], &[], &properties));
        let now_ms = Env::system().now_ms() + AHEAD_MS;
        Self::of(builder, &[info_at(now_ms - 100 * DAY_MS)]).await
    }

    async fn of(mut builder: TableBuilder, first: &[Value]) -> Self {
        builder.commit(first).await;
        let (env, now_ms) = (Env::seeded(1), Env::system().now_ms() + AHEAD_MS);
        env.advance(Duration::from_millis((now_ms - env.now_ms()).unsigned_abs()));
        Self { builder: Mutex::new(builder), env, now_ms }
    }

    pub(super) fn days_ago(&self, days: i64) -> i64 {
        self.now_ms - days * DAY_MS
    }

    /// Of a commit that was made so many days ago.
    pub(super) fn info(&self, days: i64) -> Value {
        info_at(self.days_ago(days))
    }

    pub(super) async fn table(&self) -> Table {
        self.builder.lock().await.table_with(self.env.clone())
    }

    pub(super) async fn commit(&self, actions: &[Value]) {
        self.builder.lock().await.commit(actions).await;
    }

    /// Files of one byte.
    pub(super) async fn put_all(&self, names: &[impl AsRef<str>]) {
        let builder = self.builder.lock().await;
        for name in names {
            builder.put(name.as_ref(), b"x".to_vec()).await;
        }
    }

    pub(super) async fn put_outside(&self, name: &str) {
        self.builder.lock().await.observed().put(&Path::from(name), "x".into()).await.unwrap();
    }

    pub(super) async fn is_there(&self, name: &str) -> bool {
        self.builder.lock().await.observed().head(&Path::from(name)).await.is_ok()
    }

    pub(super) async fn observed(&self) -> Observed<'_> {
        Observed(self.builder.lock().await)
    }

    /// By somebody who knows nothing of the table yet.
    pub(super) async fn vacuum(&self, options: VacuumOptions) -> Result<Outcome> {
        let outcome = self.table().await.vacuum().options(options).run().await?;
        let paths: StringArray = outcome.files.column(0).as_string::<i32>().clone();
        let paths = paths.iter().map(|path| path.unwrap().to_owned()).collect();
        Ok(Outcome { version: outcome.version, metrics: outcome.metrics, paths })
    }

    /// All objects below the root, the log apart.
    pub(super) async fn objects(&self) -> Vec<String> {
        let all = self.all_objects().await;
        let own = all.iter().filter_map(|name| name.strip_prefix("lake/t/"));
        own.filter(|name| !name.starts_with("_delta_log")).map(str::to_owned).collect()
    }

    pub(super) async fn all_objects(&self) -> Vec<String> {
        let builder = self.builder.lock().await;
        let all: Vec<_> = builder.observed().list(None).try_collect().await.unwrap();
        sorted(all.iter().map(|object| object.location.as_ref()))
    }

    /// The `commitInfo` of a version.
    pub(super) async fn info_of(&self, version: u64) -> Value {
        let builder = self.builder.lock().await;
        let path = Path::from(format!("lake/t/_delta_log/{version:020}.json"));
        let bytes = builder.observed().get(&path).await.unwrap().bytes().await.unwrap();
        let lines: Vec<Value> = serde_json::Deserializer::from_slice(&bytes).into_iter().collect::<Result<_, _>>().unwrap();
        assert_eq!(lines.len(), 1);
        lines[0]["commitInfo"].clone()
    }
}

/// The store under a table.
pub(super) struct Observed<'a>(MutexGuard<'a, TableBuilder>);

impl std::ops::Deref for Observed<'_> {
    type Target = ObservedStore;

    fn deref(&self) -> &ObservedStore {
        self.0.observed()
    }
}

fn info_at(timestamp_ms: i64) -> Value {
    json!({"commitInfo": {"inCommitTimestamp": timestamp_ms}})
}

pub(super) fn added(path: &str) -> Value {
    json!({"add": {"path": path, "partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": true}})
}

pub(super) fn removed(path: &str, at_ms: i64) -> Value {
    json!({"remove": {"path": path, "deletionTimestamp": at_ms, "dataChange": true, "size": 1}})
}

pub(super) fn vector(storage: &str, text: &str, offset: i32) -> Value {
    let mut vector = json!({"storageType": storage, "pathOrInlineDv": text, "sizeInBytes": 40, "cardinality": 6});
    if storage != "i" {
        vector["offset"] = json!(offset);
    }
    vector
}

pub(super) fn with_vector(mut action: Value, vector: Value) -> Value {
    let (_, file) = action.as_object_mut().unwrap().iter_mut().next().unwrap();
    file["deletionVector"] = vector;
    action
}

pub(super) fn sorted(names: impl IntoIterator<Item = impl AsRef<str>>) -> Vec<String> {
    let mut names: Vec<String> = names.into_iter().map(|name| name.as_ref().to_owned()).collect();
    names.sort();
    names
}

pub(super) fn inventory_of(rows: &[(String, i64)]) -> RecordBatch {
    let paths = StringArray::from_iter_values(rows.iter().map(|(path, _)| path));
    let times = Int64Array::from_iter_values(rows.iter().map(|(_, time)| *time));
    let (lengths, folders) = (Int64Array::from(vec![1; rows.len()]), BooleanArray::from(vec![false; rows.len()]));
    let columns: [(&str, arrow_array::ArrayRef); 4] = [
        ("path", Arc::new(paths)),
        ("length", Arc::new(lengths)),
        ("isDir", Arc::new(folders)),
        ("modificationTime", Arc::new(times)),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}
