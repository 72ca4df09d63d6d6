//! A table in memory that several simulated processes use. Tests can also read and write the
//! objects below the counted store.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use futures::TryStreamExt;
use lakebed::dml::write::WriteOptions;
use lakebed::{Env, RecordBatchStream, Table};
use lakebed_core::action::json::parse_commit;
use lakebed_core::action::{Action, DeletionVectorDescriptor, DvStorage};
use lakebed_core::path::commit_name;
use lakebed_io::store::{Store, StoreOptions};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use serde_json::Value;
use url::Url;

use crate::action::text;
use crate::store::{Counts, ObservedStore};

/// Rows as `(id, v)`.
pub type Rows = BTreeSet<(i64, i64)>;

/// The version of the table that [`Lake::new`] returns.
pub const MADE: u64 = 1;

const ROOT: &str = "t";

/// A store, and a table in it.
pub struct Lake {
    /// The store below the one that counts requests and injects faults.
    memory: Arc<InMemory>,
    pub observed: Arc<ObservedStore>,
    /// The handle of the first process.
    pub table: Table,
}

impl Lake {
    /// Creates a store without a table.
    pub fn empty() -> Self {
        let memory = Arc::new(InMemory::new());
        let observed = ObservedStore::new(Arc::clone(&memory) as Arc<dyn ObjectStore>);
        let table = table_over(Arc::clone(&observed) as Arc<dyn ObjectStore>, 1);
        Self { memory, observed, table }
    }

    /// Creates a table of `id` and `v` with deletion vectors or without. One file has the ids 1 to
    /// 10 and another file 11 to 20. `v` is 0.
    pub async fn new(vectors: bool) -> Self {
        Self::with(&[("delta.enableDeletionVectors", vectors)], None).await
    }

    /// Creates the same table with these properties, partitioned by this column.
    pub async fn with(properties: &[(&str, bool)], partition_by: Option<&str>) -> Self {
        let lake = Self::empty();
        let properties: HashMap<String, String> =
            properties.iter().map(|(name, value)| ((*name).to_owned(), value.to_string())).collect();
        for ids in [1..=10, 11..=20] {
            let options = WriteOptions {
                properties: properties.clone(),
                partition_by: partition_by.map(|column| vec![column.to_owned()]),
                ..WriteOptions::default()
            };
            lake.table.write(stream(ids.map(|id| (id, 0)))).options(options).run().await.unwrap();
        }
        lake.counts();
        lake
    }

    /// Returns the handle of another process over the same counted store.
    pub fn process(&self, process: u64) -> Table {
        table_over(Arc::clone(&self.observed) as Arc<dyn ObjectStore>, process)
    }

    /// Returns the same objects behind a separate store. Commits through one store would share a
    /// version.
    pub fn seen_elsewhere(&self) -> Arc<ObservedStore> {
        ObservedStore::new(Arc::clone(&self.memory) as Arc<dyn ObjectStore>)
    }

    /// Writes a commit as another engine would, without counting requests.
    pub async fn put_commit(&self, version: u64, actions: &[Value]) {
        self.memory.put(&commit_path(version), text(actions).into()).await.unwrap();
    }

    /// Returns the actions of a version without the counted store; none if the version does not
    /// exist.
    pub async fn actions(&self, version: u64) -> Option<Vec<Action>> {
        let found = self.memory.get(&commit_path(version)).await.ok()?;
        Some(parse_commit(&found.bytes().await.unwrap(), "commit").unwrap())
    }

    /// Returns the rows that a process with empty caches reads.
    pub async fn rows(&self) -> Rows {
        let table = table_over(Arc::clone(&self.memory) as Arc<dyn ObjectStore>, 2);
        let batches: Vec<RecordBatch> =
            table.snapshot().await.unwrap().scan().stream().await.unwrap().try_collect().await.unwrap();
        let rows = rows_of(&batches);
        let distinct: Rows = rows.iter().copied().collect();
        assert_eq!(distinct.len(), rows.len(), "rows are doubled: {rows:?}");
        distinct
    }

    /// Returns the newest version in the log. Asserts first that commits name every file of
    /// the folder.
    pub async fn check_files(&self) -> u64 {
        let objects: Vec<_> = self.memory.list(None).try_collect().await.unwrap();
        let paths: BTreeSet<String> = objects.iter().map(|object| object.location.to_string()).collect();
        let commits: Vec<&String> = paths.iter().filter(|path| path.contains("_delta_log") && path.ends_with(".json")).collect();
        let (mut named, mut vectors) = (BTreeSet::new(), BTreeSet::new());
        for path in &commits {
            let bytes = self.memory.get(&Path::from(path.as_str())).await.unwrap().bytes().await.unwrap();
            for action in parse_commit(&bytes, path).unwrap() {
                match action {
                    Action::Add(add) => {
                        named.insert(format!("{ROOT}/{}", add.path));
                        vectors.extend(add.deletion_vector.as_ref().map(file_of));
                    }
                    Action::Cdc(cdc) => {
                        named.insert(format!("{ROOT}/{}", cdc.path));
                    }
                    _ => {}
                }
            }
        }
        let of_kind = |end| -> BTreeSet<String> {
            paths.iter().filter(|path| path.ends_with(end) && !path.contains("_delta_log")).cloned().collect()
        };
        assert_eq!(of_kind(".parquet"), named);
        assert_eq!(of_kind(".bin").len(), vectors.len(), "files of deletion vectors, and those that commits name");
        commits.len() as u64 - 1
    }

    /// Returns the requests since the last call.
    pub fn counts(&self) -> Counts {
        self.observed.take_counts()
    }
}

fn commit_path(version: u64) -> Path {
    Path::from(format!("{ROOT}/_delta_log/{}", commit_name(version)))
}

/// Returns the name of a deletion vector's file.
fn file_of(vector: &DeletionVectorDescriptor) -> String {
    assert_eq!(vector.storage_type, DvStorage::UuidRelative);
    vector.path_or_inline_dv.clone()
}

/// Returns a handle of the table for one simulated process. The number of the process seeds its
/// clock and its identifiers.
pub fn table_over(store: Arc<dyn ObjectStore>, process: u64) -> Table {
    let env = Env::seeded(process);
    let options = StoreOptions { env: env.clone(), ..StoreOptions::default() };
    let url = Url::parse(&format!("memory://kit/{ROOT}")).unwrap();
    let store = Store::from_object_store_with(store, Path::from(ROOT), url, options);
    Table::at("memory://kit").with_store(store).with_env(env).build().unwrap()
}

/// Returns rows as a batch of `id` and `v`.
pub fn batch(rows: impl IntoIterator<Item = (i64, i64)>) -> RecordBatch {
    let (ids, values): (Vec<i64>, Vec<i64>) = rows.into_iter().unzip();
    let column = |values: Vec<i64>| Arc::new(Int64Array::from(values)) as ArrayRef;
    RecordBatch::try_from_iter([("id", column(ids)), ("v", column(values))]).unwrap()
}

/// Returns rows as a stream of one batch.
pub fn stream(rows: impl IntoIterator<Item = (i64, i64)>) -> RecordBatchStream {
    stream_of(batch(rows))
}

/// Returns one batch as a stream.
pub fn stream_of(batch: RecordBatch) -> RecordBatchStream {
    RecordBatchStream::from_batches(batch.schema(), vec![batch])
}

/// Returns the rows of batches with the columns `id` and `v`, in their order.
pub fn rows_of(batches: &[RecordBatch]) -> Vec<(i64, i64)> {
    let mut rows = Vec::new();
    for batch in batches {
        let column = |name: &str| batch.column_by_name(name).unwrap().as_primitive::<Int64Type>();
        rows.extend(column("id").values().iter().copied().zip(column("v").values().iter().copied()));
    }
    rows
}
