//! Writes rows of very many partitions through a sink with small windows, into a store in memory.

use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int32Array, Int64Array, StringArray};
use bytes::Bytes;
use lakebed_core::action::Protocol;
use lakebed_io::env::Env;
use lakebed_io::parquet::write::WriteOptions;
use lakebed_io::store::{Store, StoreOptions};
use object_store::ObjectStoreExt;
use object_store::memory::InMemory;
use object_store::path::Path;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use proptest::prelude::*;

use super::*;
use crate::kit::action::metadata;
use crate::kit::to_metadata;
use crate::write::data_file::WrittenFile;
use crate::write::file_options::FileOptions;
use crate::write::files::FileSink;
use crate::write::partition::{Sorter, Window};
use crate::write::rules::{Contents, WriteRules};

const OPTIMIZE: &str = "delta.autoOptimize.optimizeWrite";
/// The size of a row of these tests in a file, without its partition column.
const ROW_BYTES: u64 = 8;

/// Returns the rules of a table with the columns `p` and `id`, partitioned by `p`.
fn rules(properties: &[(&str, &str)]) -> Arc<WriteRules> {
    let metadata = to_metadata(&metadata(&["p integer", "id long"], &["p"], properties));
    let protocol = Protocol { min_reader_version: 1, min_writer_version: 2, reader_features: None, writer_features: None };
    Arc::new(WriteRules::new("t", &protocol, &metadata, &[], 0).unwrap())
}

fn sink(store: Store, rules: &Arc<WriteRules>, contents: Contents, window_bytes: u64) -> FileSink {
    let options = FileOptions { target_file_size_bytes: 1 << 30, parquet: WriteOptions::default(), contents, is_moving: false };
    FileSink::new(store, Env::seeded(1), Arc::clone(rules), options).unwrap().with_windows(window_bytes)
}

/// Returns rows of these partitions. Their ids ascend from the first one.
fn batch(rules: &WriteRules, first: i64, partitions: &[i32], more: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let ids = Int64Array::from_iter_values(first..first + partitions.len() as i64);
    let columns: [(&str, ArrayRef); 2] = [("p", Arc::new(Int32Array::from(partitions.to_vec()))), ("id", Arc::new(ids))];
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().chain(more).map(|(name, array)| (name, array, true)));
    assert!(
        rules.arrow_schema.fields().iter().all(|field| batch.as_ref().unwrap().schema().column_with_name(field.name()).is_some())
    );
    batch.unwrap()
}

/// Returns numbers that look random.
fn scattered(numbers: std::ops::Range<i64>, below: i64) -> Vec<i32> {
    numbers.map(|number| (((number * 2_654_435_761).rem_euclid(1 << 32) * below) >> 32) as i32).collect()
}

struct Written {
    objects: Arc<InMemory>,
    files: Vec<WrittenFile>,
}

impl Written {
    /// Writes batches, which are given by the partitions of their rows.
    async fn of(batches: &[Vec<i32>], properties: &[(&str, &str)], window_bytes: u64) -> Self {
        let (objects, store) = in_memory();
        let rules = rules(properties);
        let mut sink = sink(store, &rules, Contents::Rows, window_bytes);
        let mut first = 0;
        for partitions in batches {
            sink.write(vec![batch(&rules, first, partitions, Vec::new())]).await.unwrap();
            first += partitions.len() as i64;
        }
        Self { objects, files: sink.finish().await.unwrap() }
    }

    /// Returns the columns of each file, with its partition.
    async fn columns(&self) -> Vec<(String, Vec<Vec<i64>>)> {
        let mut found = Vec::new();
        for file in &self.files {
            let bytes: Bytes = self.objects.get(&Path::from(file.add.path.as_str())).await.unwrap().bytes().await.unwrap();
            let reader = ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap();
            let mut columns = vec![Vec::new(); reader.schema().fields().len()];
            for batch in reader.build().unwrap() {
                for (column, array) in columns.iter_mut().zip(batch.unwrap().columns()) {
                    column.extend_from_slice(array.as_primitive::<Int64Type>().values());
                }
            }
            let stats: serde_json::Value = serde_json::from_str(file.add.stats.as_ref().unwrap()).unwrap();
            let ids = &columns[0];
            assert_eq!(stats["numRecords"], ids.len());
            assert_eq!((&stats["minValues"]["id"], &stats["maxValues"]["id"]), (&ids[0].into(), &ids[ids.len() - 1].into()));
            assert_eq!(file.add.size as u64, self.objects.head(&Path::from(file.add.path.as_str())).await.unwrap().size);
            found.push((file.add.partition_values["p"].clone().unwrap(), columns));
        }
        found
    }

    /// Returns the ids in the files of each partition, in their order.
    async fn ids(&self) -> BTreeMap<i32, Vec<Vec<i64>>> {
        let mut found: BTreeMap<i32, Vec<Vec<i64>>> = BTreeMap::new();
        for (partition, mut columns) in self.columns().await {
            found.entry(partition.parse().unwrap()).or_default().push(columns.swap_remove(0));
        }
        found
    }
}

fn in_memory() -> (Arc<InMemory>, Store) {
    let objects = Arc::new(InMemory::new());
    let url = url::Url::parse("memory://overflow/").unwrap();
    (Arc::clone(&objects), Store::from_object_store(objects, Path::default(), url))
}

/// Returns the ids of each partition, in the order in which they came.
fn expected(batches: &[Vec<i32>]) -> BTreeMap<i32, Vec<i64>> {
    let mut expected: BTreeMap<i32, Vec<i64>> = BTreeMap::new();
    for (id, partition) in batches.iter().flatten().enumerate() {
        expected.entry(*partition).or_default().push(id as i64);
    }
    expected
}

/// Returns twenty batches of 500 partitions, and a window size for two and a half batches.
fn twenty_batches() -> (Vec<Vec<i32>>, u64) {
    ((0..20).map(|batch| scattered(batch * 3_000..(batch + 1) * 3_000, 500)).collect(), 7_500 * ROW_BYTES)
}

#[tokio::test]
async fn many_partitions_become_one_file_each() {
    let (batches, window_bytes) = twenty_batches();
    let found = Written::of(&batches, &[], window_bytes).await.ids().await;
    let expected: BTreeMap<i32, Vec<Vec<i64>>> = expected(&batches).into_iter().map(|(p, ids)| (p, vec![ids])).collect();
    assert_eq!(expected.len(), 500);
    assert_eq!(found, expected);
}

#[tokio::test]
async fn without_overflow_each_window_makes_files() {
    let (batches, window_bytes) = twenty_batches();
    let written = Written::of(&batches, &[(OPTIMIZE, "false")], window_bytes).await;
    assert!(written.files.len() > 6 * 500, "{}", written.files.len());
    let mut found = written.ids().await;
    found.values_mut().for_each(|files| files.sort());
    let found: BTreeMap<i32, Vec<i64>> = found.into_iter().map(|(p, files)| (p, files.concat())).collect();
    assert_eq!(found, expected(&batches));
}

#[tokio::test]
async fn few_partitions_need_no_detour() {
    let rules = rules(&[]);
    let (_, store) = in_memory();
    let mut sink = sink(store, &rules, Contents::Rows, 1_000);
    for number in 0..20 {
        sink.write(vec![batch(&rules, 0, &scattered(number * 200..(number + 1) * 200, 100), Vec::new())]).await.unwrap();
    }
    assert!(!sink.has_spilled());
    assert_eq!(sink.finish().await.unwrap().len(), 100);
}

#[tokio::test]
async fn rows_that_wait_keep_who_they_are() {
    let names = ["delta.rowTracking.materializedRowIdColumnName", "delta.rowTracking.materializedRowCommitVersionColumnName"];
    let rules = rules(&[(names[0], "row"), (names[1], "version")]);
    let (objects, store) = in_memory();
    let mut sink = sink(store, &rules, Contents::MovedRows, 50_000);
    for number in 0..10 {
        let first = number * 2_000;
        let of_ids = |of: fn(i64) -> i64| -> ArrayRef { Arc::new(Int64Array::from_iter_values((first..first + 2_000).map(of))) };
        let more = vec![("row", of_ids(|id| 7 * id)), ("version", of_ids(|id| id % 5))];
        sink.write(vec![batch(&rules, first, &scattered(first..first + 2_000, 700), more)]).await.unwrap();
    }
    assert!(sink.has_spilled());
    let written = Written { objects, files: sink.finish().await.unwrap() };
    assert_eq!(written.files.len(), 700);
    for (_, columns) in written.columns().await {
        for (place, id) in columns[0].iter().enumerate() {
            assert_eq!((columns[1][place], columns[2][place]), (7 * id, id % 5));
        }
    }
}

#[tokio::test]
async fn files_of_changes_are_few_too() {
    let rules = rules(&[]);
    let (objects, store) = in_memory();
    let mut sink = sink(store, &rules, Contents::Changes, 50_000);
    for number in 0..10 {
        let first = number * 2_000;
        let kinds: ArrayRef = Arc::new(StringArray::from(vec!["insert"; 2_000]));
        sink.write(vec![batch(&rules, first, &scattered(first..first + 2_000, 300), vec![("_change_type", kinds)])])
            .await
            .unwrap();
    }
    let files = sink.finish().await.unwrap();
    assert_eq!(files.len(), 300);
    let mut rows = 0;
    for file in &files {
        assert!(file.add.path.starts_with("_change_data/p=") && file.add.stats.is_none());
        let bytes = objects.get(&Path::from(file.add.path.as_str())).await.unwrap().bytes().await.unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap();
        assert_eq!(
            reader.schema().fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>(),
            ["id", "_change_type"]
        );
        rows += reader.metadata().file_metadata().num_rows();
    }
    assert_eq!(rows, 20_000);
}

/// The ways in which a write fails.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Failure {
    /// A file has the name of a folder that the write needs.
    InTheWay,
    /// The source of the rows returns an error.
    Source,
}

#[tokio::test]
async fn a_write_that_fails_leaves_nothing() {
    for failure in [Failure::InTheWay, Failure::Source] {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().to_str().unwrap(), StoreOptions::default()).unwrap();
        if failure == Failure::InTheWay {
            std::fs::write(folder.path().join("p=250"), "").unwrap();
        }
        let (batches, window_bytes) = twenty_batches();
        let rules = rules(&[]);
        let mut sink = sink(store, &rules, Contents::Rows, window_bytes);
        // This partition has so many rows that its file exists before the end.
        let many = batch(&rules, 0, &vec![7; 30_000], Vec::new());
        for partitions in &batches {
            sink.write(vec![batch(&rules, 0, partitions, Vec::new()), many.clone()]).await.unwrap();
        }
        assert!(sink.has_spilled());
        let outcome = match failure {
            Failure::InTheWay => Ok(()),
            Failure::Source => Err(crate::Error::internal("broken off")),
        };
        sink.finish_after(outcome).await.unwrap_err();
        let mut left = Vec::new();
        for entry in std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()) {
            left.extend(std::fs::read_dir(entry).unwrap().map(|entry| entry.unwrap().path()));
        }
        assert_eq!(left, Vec::<std::path::PathBuf>::new(), "{failure:?}");
    }
}

/// Returns the partitions of a window that are spilled, after 300 other partitions were met.
fn waiting(overflow: &mut Overflow, rules: &Arc<WriteRules>, batches: &[Vec<i32>]) -> Vec<String> {
    let (sorter, mut window) = (Sorter::new(Arc::clone(rules)).unwrap(), Window::default());
    for partitions in batches {
        let rows = batch(rules, 0, partitions, Vec::new());
        let stored = rows.project(&[1]).unwrap();
        window.push(sorter.sort(&rows, stored).unwrap());
    }
    let parts = window.into_parts();
    let count = parts.len();
    let (waiting, others) = overflow.divide(parts, &HashMap::new());
    assert_eq!(waiting.len() + others.len(), count);
    waiting.into_iter().map(|part| part.partition[0].clone().unwrap()).collect()
}

#[test]
fn only_few_unsorted_partition_rows_wait() {
    let rules = rules(&[]);
    let (few, many) = (vec![1; FEW_ROWS - 1], vec![2; FEW_ROWS]);
    let small_bytes = (FEW_ROWS as u64 + 1) * ROW_BYTES;
    let met: HashSet<PartitionTexts> = (1_000..1_000 + MOST_OPEN).map(|p| vec![Some(p.to_string())]).collect();
    let fresh = || Overflow {
        schema: rules.arrow_schema.clone(),
        small_bytes,
        piece_bytes: 1,
        spill: None,
        spilled: BTreeMap::new(),
        met: met.clone(),
    };
    let cases: [(&[Vec<i32>], &[&str]); 6] = [
        (&[few.clone(), many.clone()], &["1"]),
        // In the first case the rows are consecutive across the end of a batch. In the next two
        // they are not.
        (&[[few.clone(), vec![2; 10]].concat(), many.clone()], &["1"]),
        (&[[vec![2; 10], few.clone()].concat(), many[10..].to_vec()], &["1", "2"]),
        (&[[vec![2; 10], few.clone(), vec![2; FEW_ROWS - 10]].concat()], &["1", "2"]),
        // Many rows are not spilled, in whatever order they come.
        (&[[vec![2; 10], few.clone(), many.clone()].concat()], &["1"]),
        (&[], &[]),
    ];
    for (batches, expected) in cases {
        assert_eq!(waiting(&mut fresh(), &rules, batches), expected, "{:?}", batches.iter().map(Vec::len).collect::<Vec<_>>());
    }
    // The second time, the rows are spilled.
    let mut overflow = fresh();
    assert!(waiting(&mut overflow, &rules, std::slice::from_ref(&many)).is_empty());
    assert_eq!(waiting(&mut overflow, &rules, std::slice::from_ref(&many)), ["2"]);
    // If there is room for all partitions, none is spilled.
    let mut overflow = Overflow { met: HashSet::new(), ..fresh() };
    assert!(waiting(&mut overflow, &rules, &[scattered(0..5_000, MOST_OPEN as i64)]).is_empty());
    assert_eq!(waiting(&mut overflow, &rules, &[vec![5_000]]), ["5000"]);
}

/// Returns batches of partitions below `below`: in any order, in runs, or sorted.
fn batches() -> impl Strategy<Value = Vec<Vec<i32>>> {
    let sizes = prop::collection::vec(1_usize..2_500, 1..10);
    (sizes, 1_i64..600, 0_usize..3, 1_i64..400).prop_map(|(sizes, below, order, run)| {
        let mut first = 0_i64;
        let all: i64 = sizes.iter().map(|size| *size as i64).sum();
        let next = |size: usize| {
            let rows = first..first + size as i64;
            first = rows.end;
            match order {
                0 => scattered(rows, below),
                1 => rows.map(|row| scattered(row / run..row / run + 1, below)[0]).collect(),
                _ => rows.map(|row| (row * below / all) as i32).collect(),
            }
        };
        sizes.into_iter().map(next).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn each_partition_has_rows_in_few_files(
        batches in batches(),
        window_bytes in prop_oneof![1_u64..200, 1_000_u64..100_000, Just(u64::MAX)],
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
        runtime.block_on(async {
            let found = Written::of(&batches, &[], window_bytes).await.ids().await;
            let expected = expected(&batches);
            assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
            for (partition, mut files) in found {
                let ids = &expected[&partition];
                assert!(files.iter().all(|file| file.is_sorted()));
                // A partition has its first file, its last file, and files of windows in which it
                // had many rows.
                let most = 2 + u128::from(SMALL_SHARE) * ids.len() as u128 * u128::from(ROW_BYTES) / u128::from(window_bytes);
                assert!(files.len() as u128 <= if expected.len() <= MOST_OPEN { 1 } else { most }, "{} files of {most}", files.len());
                files.sort();
                assert_eq!(&files.concat(), ids, "each file has rows that came together");
            }
        });
    }
}
