//! A table for changes: the rows 1 to 10 in one file, 11 to 20 in another, `v` is 0 in all of them.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use futures::TryStreamExt;
use lakebed::write::{WriteMode, WriteOptions};
use lakebed::{Env, RecordBatchStream, Table};
use lakebed_core::action::json::parse_commit;
use lakebed_core::action::{Action, DeletionVectorDescriptor, DvStorage};
use lakebed_io::store::Store;
use lakebed_tests::{Counts, ObservedStore};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use url::Url;

/// Rows as `(id, v)`.
pub(crate) type Rows = BTreeSet<(i64, i64)>;

/// The version that the table is made with.
pub(crate) const MADE: u64 = 1;

pub(crate) struct Case {
    memory: Arc<InMemory>,
    pub(crate) observed: Arc<ObservedStore>,
    pub(crate) table: Table,
}

impl Case {
    /// With deletion vectors or without.
    pub(crate) async fn new(vectors: bool) -> Self {
        Self::with(&[("delta.enableDeletionVectors", vectors)], None).await
    }

    pub(crate) async fn with(properties: &[(&str, bool)], partition_by: Option<&str>) -> Self {
        let memory = Arc::new(InMemory::new());
        let observed = ObservedStore::new(Arc::clone(&memory) as Arc<dyn ObjectStore>);
        let table = table(Arc::clone(&observed) as Arc<dyn ObjectStore>, 1);
        let properties: HashMap<String, String> =
            properties.iter().map(|(name, value)| ((*name).to_owned(), value.to_string())).collect();
        for ids in [1..=10, 11..=20] {
            let options = WriteOptions {
                properties: properties.clone(),
                partition_by: partition_by.map(|column| vec![column.to_owned()]),
                ..WriteOptions::default()
            };
            table.write(stream(ids.map(|id| (id, 0)))).options(options).run().await.unwrap();
        }
        observed.take_counts();
        Self { memory, observed, table }
    }

    /// The same store as another process has it: commits of one process would go together.
    pub(crate) fn seen_elsewhere(&self) -> Arc<ObservedStore> {
        ObservedStore::new(Arc::clone(&self.memory) as Arc<dyn ObjectStore>)
    }

    /// The rows, as somebody sees them who knows nothing yet.
    pub(crate) async fn rows(&self) -> Rows {
        let table = table(Arc::clone(&self.memory) as Arc<dyn ObjectStore>, 2);
        let batches: Vec<RecordBatch> =
            table.snapshot().await.unwrap().scan().stream().await.unwrap().try_collect().await.unwrap();
        let column = |batch: &RecordBatch, name: &str| batch.column_by_name(name).unwrap().as_primitive::<Int64Type>().clone();
        let of = |batch: &RecordBatch| {
            let (ids, values) = (column(batch, "id"), column(batch, "v"));
            ids.values().iter().copied().zip(values.values().iter().copied()).collect::<Vec<_>>()
        };
        let rows: Vec<(i64, i64)> = batches.iter().flat_map(of).collect();
        let distinct: Rows = rows.iter().copied().collect();
        assert_eq!(distinct.len(), rows.len(), "rows are doubled: {rows:?}");
        distinct
    }

    /// The newest version in the log, once it is clear that the folder has no file that no commit names.
    pub(crate) async fn check_files(&self) -> u64 {
        let objects: Vec<_> = self.memory.list(None).try_collect().await.unwrap();
        let paths: BTreeSet<String> = objects.iter().map(|object| object.location.to_string()).collect();
        let commits: Vec<&String> = paths.iter().filter(|path| path.contains("_delta_log") && path.ends_with(".json")).collect();
        let (mut named, mut vectors) = (BTreeSet::new(), BTreeSet::new());
        for path in &commits {
            let bytes = self.memory.get(&Path::from(path.as_str())).await.unwrap().bytes().await.unwrap();
            for action in parse_commit(&bytes, path).unwrap() {
                match action {
                    Action::Add(add) => {
                        named.insert(format!("t/{}", add.path));
                        vectors.extend(add.deletion_vector.as_ref().map(file_of));
                    }
                    Action::Cdc(cdc) => {
                        named.insert(format!("t/{}", cdc.path));
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

    /// What was asked of the store since the last call.
    pub(crate) fn counts(&self) -> Counts {
        self.observed.take_counts()
    }
}

/// What names the file of a deletion vector.
fn file_of(vector: &DeletionVectorDescriptor) -> String {
    assert_eq!(vector.storage_type, DvStorage::UuidRelative);
    vector.path_or_inline_dv.clone()
}

/// The table over a store, as a process has it.
pub(crate) fn table(store: Arc<dyn ObjectStore>, process: u64) -> Table {
    let url = Url::parse("memory://kit/t").unwrap();
    let store = Store::from_object_store(store, Path::from("t"), url);
    Table::at("memory://kit").with_store(store).with_env(Env::seeded(process)).build().unwrap()
}

pub(crate) fn stream(rows: impl IntoIterator<Item = (i64, i64)>) -> RecordBatchStream {
    let (ids, values): (Vec<i64>, Vec<i64>) = rows.into_iter().unzip();
    let column = |values: Vec<i64>| Arc::new(Int64Array::from(values)) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("id", column(ids)), ("v", column(values))]).unwrap();
    RecordBatchStream::from_batches(batch.schema(), vec![batch])
}

/// Options of an overwrite of some rows.
pub(crate) fn replace(filter: &str) -> WriteOptions {
    WriteOptions { mode: WriteMode::Overwrite, replace_where: Some(filter.to_owned()), ..WriteOptions::default() }
}
