mod bounds;
mod flat_column;
mod dictionary_keys;

use std::collections::HashSet;
use std::fmt;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Field, Fields, Schema};
use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt,
    PutMultipartOptions, PutOptions, PutPayload, PutResult,
};
use parquet::arrow::arrow_reader::{ArrowPredicateFn, RowFilter, RowSelection, RowSelector};
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::file::properties::WriterProperties;

use lakebed_core::{Error, ErrorKind};

use super::order::{Lanes, in_order};
use super::row_slices::slices;
use super::{Cores, PageIndex, ParquetFile, ReadOptions};
use crate::store::Store;

/// A store that counts requests.
#[derive(Debug, Default)]
struct Counting {
    inner: InMemory,
    requests: AtomicUsize,
}

impl fmt::Display for Counting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("counting")
    }
}

#[async_trait]
impl ObjectStore for Counting {
    async fn put_opts(&self, path: &Path, payload: PutPayload, options: PutOptions) -> object_store::Result<PutResult> {
        self.inner.put_opts(path, payload, options).await
    }
    async fn put_multipart_opts(
        &self,
        path: &Path,
        options: PutMultipartOptions,
    ) -> object_store::Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(path, options).await
    }
    async fn get_opts(&self, path: &Path, options: GetOptions) -> object_store::Result<GetResult> {
        self.requests.fetch_add(1, Ordering::SeqCst);
        self.inner.get_opts(path, options).await
    }
    async fn get_ranges(&self, path: &Path, ranges: &[Range<u64>]) -> object_store::Result<Vec<Bytes>> {
        self.requests.fetch_add(1, Ordering::SeqCst);
        self.inner.get_ranges(path, ranges).await
    }
    fn delete_stream(
        &self,
        paths: BoxStream<'static, object_store::Result<Path>>,
    ) -> BoxStream<'static, object_store::Result<Path>> {
        self.inner.delete_stream(paths)
    }
    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
        self.inner.list(prefix)
    }
    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> object_store::Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }
    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> object_store::Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

struct Fixture {
    counting: Arc<Counting>,
    store: Store,
}

impl Fixture {
    async fn with(name: &str, bytes: impl Into<Bytes>) -> Self {
        let counting = Arc::new(Counting::default());
        counting.put(&Path::from(name), PutPayload::from(bytes.into())).await.unwrap();
        let url = url::Url::parse("memory://test/").unwrap();
        let store = Store::from_object_store(counting.clone(), Path::default(), url);
        Self { counting, store }
    }

    /// Returns the number of requests since the last call.
    fn requests(&self) -> usize {
        self.counting.requests.swap(0, Ordering::SeqCst)
    }

    async fn open(&self, size: Option<u64>, page_index: PageIndex) -> lakebed_core::Result<ParquetFile> {
        ParquetFile::open(&self.store, &Path::from("f.parquet"), size, page_index).await
    }
}

/// Returns a file with row groups of `group` rows. Column `a` counts from 0, and column `b` is the
/// same number as a padded string.
fn numbered(rows: i64, group: usize, padding: usize) -> Vec<u8> {
    numbered_from(0..rows, group, padding)
}

fn numbered_from(rows: Range<i64>, group: usize, padding: usize) -> Vec<u8> {
    let a: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.clone()));
    let b: ArrayRef = Arc::new(StringArray::from_iter_values(rows.map(|row| format!("{row:padding$}"))));
    write(&RecordBatch::try_from_iter([("a", a), ("b", b)]).unwrap(), group)
}

fn write(batch: &RecordBatch, group: usize) -> Vec<u8> {
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(group))
        .set_data_page_row_count_limit(100)
        .set_write_batch_size(100)
        .set_dictionary_enabled(false)
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}

async fn read_longs(file: &ParquetFile, options: ReadOptions) -> Vec<i64> {
    try_read_longs(file, options).await.unwrap()
}

async fn try_read_longs(file: &ParquetFile, options: ReadOptions) -> lakebed_core::Result<Vec<i64>> {
    let stream = file.read(options, &Cores::of(2)).unwrap();
    let batches: Vec<RecordBatch> = stream.try_collect().await?;
    Ok(batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec()).collect())
}

#[tokio::test]
async fn small_file_is_one_request() {
    let bytes = numbered(1000, 250, 4);
    assert!(bytes.len() < 64 * 1024);
    let fixture = Fixture::with("f.parquet", bytes.clone()).await;
    let file = fixture.open(Some(bytes.len() as u64), PageIndex::Read).await.unwrap();
    assert_eq!(file.num_rows(), 1000);
    assert_eq!(read_longs(&file, ReadOptions::default()).await, (0..1000).collect::<Vec<_>>());
    assert_eq!(fixture.requests(), 1);
}

#[tokio::test]
async fn metadata_of_large_file_is_cached() {
    let bytes = numbered(4000, 1000, 200);
    let size = bytes.len() as u64;
    assert!(size > 256 * 1024);
    let fixture = Fixture::with("f.parquet", bytes).await;
    let file = fixture.open(Some(size), PageIndex::Skip).await.unwrap();
    assert_eq!((fixture.requests(), file.metadata().num_row_groups()), (1, 4));
    assert!(file.metadata().offset_index().is_none());

    fixture.open(Some(size), PageIndex::Skip).await.unwrap();
    assert_eq!(fixture.requests(), 0);

    let indexed = fixture.open(Some(size), PageIndex::Read).await.unwrap();
    assert!(indexed.metadata().offset_index().is_some());
    assert_eq!(fixture.requests(), 1);
    fixture.open(Some(size), PageIndex::Skip).await.unwrap();
    fixture.open(Some(size), PageIndex::Read).await.unwrap();
    assert_eq!(fixture.requests(), 0);

    // A different store at the same URL does not share cache entries.
    let other = Fixture::with("f.parquet", numbered(4000, 1000, 200)).await;
    other.open(Some(size), PageIndex::Skip).await.unwrap();
    assert_eq!(other.requests(), 1);
}

#[tokio::test]
async fn unknown_or_wrong_size_is_requested() {
    let bytes = numbered(4000, 1000, 200);
    let size = bytes.len() as u64;
    for claimed in [None, Some(size - 7), Some(size + 5), Some(0)] {
        let fixture = Fixture::with("f.parquet", bytes.clone()).await;
        let file = fixture.open(claimed, PageIndex::Skip).await.unwrap();
        assert_eq!(file.num_rows(), 4000, "{claimed:?}");
    }
}

#[tokio::test]
async fn non_parquet_file_is_corrupt_by_name() {
    let good = numbered(1000, 250, 4);
    let mut long_metadata = good.clone();
    let length_at = good.len() - 8;
    long_metadata[length_at..length_at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    let mut broken_metadata = good.clone();
    for byte in &mut broken_metadata[length_at - 200..length_at] {
        *byte = 0xFF;
    }
    let cases: [(&str, Vec<u8>); 6] = [
        ("empty", Vec::new()),
        ("tiny", b"PAR1".to_vec()),
        ("text", b"this is certainly not a Parquet file".to_vec()),
        ("truncated", good[..good.len() / 2].to_vec()),
        ("metadata longer than the file", long_metadata),
        ("metadata of nonsense", broken_metadata),
    ];
    for (case, bytes) in cases {
        let size = bytes.len() as u64;
        let fixture = Fixture::with("f.parquet", bytes).await;
        let error = fixture.open(Some(size), PageIndex::Read).await.unwrap_err();
        assert!(error.is_corrupt(), "{case}: {error}");
        assert!(error.to_string().contains("memory://test/f.parquet"), "{case}: {error}");
    }
}

#[tokio::test]
async fn a_missing_file_is_not_found() {
    let fixture = Fixture::with("other", Vec::new()).await;
    let error = fixture.open(Some(1000), PageIndex::Skip).await.unwrap_err();
    assert!(error.is_not_found(), "{error}");
}

/// This holds even if every page of one object could be used in place of a page of the other.
#[tokio::test]
async fn replaced_object_is_never_mixed_with_successor() {
    let before = numbered(4000, 1000, 200);
    for after in [numbered_from(4000..8000, 1000, 200), numbered_from(4000..8000, 4000, 200), numbered_from(4000..4010, 10, 4)] {
        let fixture = Fixture::with("f.parquet", before.clone()).await;
        let (path, size) = (Path::from("f.parquet"), Some(before.len() as u64));
        let open = || ParquetFile::open_replaceable(&fixture.store, &path, size, PageIndex::Read);
        // The second open uses the cached footer of the first.
        let opened = [open().await.unwrap(), open().await.unwrap()];
        fixture.counting.put(&path, after.clone().into()).await.unwrap();
        for file in opened.into_iter().chain([open().await.unwrap()]) {
            let error = try_read_longs(&file, ReadOptions::default()).await.unwrap_err();
            assert!(error.is_replaced() && error.to_string().contains("memory://test/f.parquet"), "{error}");
        }
        let read = read_longs(&open().await.unwrap(), ReadOptions::default()).await;
        assert_eq!((read.first(), read.len() as u64), (Some(&4000), open().await.unwrap().num_rows()), "{} bytes", after.len());
    }
    assert_eq!(before.len(), numbered_from(4000..8000, 1000, 200).len());
}

#[tokio::test]
async fn local_files_are_read_like_objects() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("f.parquet"), numbered(4000, 1000, 200)).unwrap();
    let store = Store::open(directory.path().to_str().unwrap(), Default::default()).unwrap();
    let path = store.path_of("f.parquet").unwrap();
    let file = ParquetFile::open(&store, &path, None, PageIndex::Read).await.unwrap();
    assert!(file.is_local());
    assert_eq!(read_longs(&file, ReadOptions::default()).await, (0..4000).collect::<Vec<_>>());

    // A file with the same name and size but other content is another file.
    std::thread::sleep(Duration::from_millis(20));
    std::fs::write(directory.path().join("f.parquet"), numbered(4000, 500, 200)).unwrap();
    let file = ParquetFile::open(&store, &path, None, PageIndex::Read).await.unwrap();
    assert_eq!(file.metadata().num_row_groups(), 8);

    std::fs::write(directory.path().join("f.parquet"), b"nothing of the kind").unwrap();
    let error = ParquetFile::open(&store, &path, None, PageIndex::Read).await.unwrap_err();
    assert!(error.is_corrupt() && error.to_string().contains("f.parquet"), "{error}");
    std::fs::remove_file(directory.path().join("f.parquet")).unwrap();
    assert!(ParquetFile::open(&store, &path, None, PageIndex::Read).await.unwrap_err().is_not_found());
}

#[tokio::test]
async fn options_choose_columns_row_groups_and_rows() {
    let bytes = numbered(1000, 250, 4);
    let fixture = Fixture::with("f.parquet", bytes).await;
    let file = fixture.open(None, PageIndex::Read).await.unwrap();
    let schema = file.metadata().file_metadata().schema_descr_ptr();
    let only_a = ProjectionMask::leaves(&schema, [0]);
    let base = ReadOptions { projection: Some(only_a.clone()), batch_rows: Some(100), ..Default::default() };

    let groups = ReadOptions { row_groups: Some(vec![1, 3]), ..base.clone() };
    assert_eq!(read_longs(&file, groups).await, (250..500).chain(750..1000).collect::<Vec<_>>());

    let selection: RowSelection = vec![RowSelector::skip(245), RowSelector::select(10), RowSelector::skip(745)].into();
    let selected = ReadOptions { selection: Some(selection), ..base.clone() };
    assert_eq!(read_longs(&file, selected).await, (245..255).collect::<Vec<_>>());

    assert_eq!(read_longs(&file, ReadOptions { limit: Some(260), ..base.clone() }).await, (0..260).collect::<Vec<_>>());

    let odd = move || {
        let predicate = |batch: RecordBatch| {
            let values = batch.column(0).as_primitive::<Int64Type>();
            Ok(BooleanArray::from_iter(values.values().iter().map(|value| Some(value % 2 == 1))))
        };
        RowFilter::new(vec![Box::new(ArrowPredicateFn::new(only_a.clone(), predicate))])
    };
    let filtered = ReadOptions { filter: Some(Arc::new(odd)), ..base.clone() };
    assert_eq!(read_longs(&file, filtered).await, (0..1000).filter(|row| row % 2 == 1).collect::<Vec<_>>());

    let error = file.decode(ReadOptions { row_groups: Some(vec![4]), ..base }).err().unwrap();
    assert!(error.to_string().contains("f.parquet"), "{error}");
}

#[tokio::test]
async fn large_row_groups_are_cut_at_pages() {
    // The file has two row groups of 75 MB, with pages of 100 rows.
    let bytes = numbered(50_000, 25_000, 3000);
    let fixture = Fixture::with("f.parquet", bytes).await;
    let unindexed = fixture.open(None, PageIndex::Skip).await.unwrap();
    assert!(slices(unindexed.metadata(), &[0, 1], None).iter().all(|slice| slice.selection.is_none()));

    let file = fixture.open(None, PageIndex::Read).await.unwrap();
    let cut = slices(file.metadata(), &[0, 1], None);
    let of_group = |group: usize| {
        let own = cut.iter().filter(move |slice| slice.row_group == group);
        own.map(|slice| slice.selection.as_ref().unwrap().iter().map(|run| (run.skip, run.row_count)).collect::<Vec<_>>())
    };
    for group in 0..2 {
        assert_eq!(of_group(group).collect::<Vec<_>>(), [vec![(false, 12_500)], vec![(true, 12_500), (false, 12_500)]]);
    }

    let schema = file.metadata().file_metadata().schema_descr_ptr();
    let only_a = ProjectionMask::leaves(&schema, [0]);
    assert_eq!(read_longs(&file, ReadOptions::default()).await, (0..50_000).collect::<Vec<_>>());
    let every_99th = move || {
        let predicate = |batch: RecordBatch| {
            let values = batch.column(0).as_primitive::<Int64Type>();
            Ok(BooleanArray::from_iter(values.values().iter().map(|value| Some(value % 99 == 0))))
        };
        RowFilter::new(vec![Box::new(ArrowPredicateFn::new(only_a.clone(), predicate))])
    };
    let filtered = ReadOptions { row_groups: Some(vec![1]), filter: Some(Arc::new(every_99th)), ..Default::default() };
    assert_eq!(read_longs(&file, filtered).await, (25_000..50_000).filter(|row| row % 99 == 0).collect::<Vec<_>>());
}

#[tokio::test]
async fn damaged_pages_are_corrupt_by_name() {
    let mut bytes = numbered(4000, 1000, 200);
    for byte in &mut bytes[1000..60_000] {
        *byte = 0xA5;
    }
    let fixture = Fixture::with("f.parquet", bytes).await;
    let file = fixture.open(None, PageIndex::Skip).await.unwrap();
    let error = file.read(ReadOptions::default(), &Cores::of(2)).unwrap().try_collect::<Vec<_>>().await.unwrap_err();
    assert!(error.is_corrupt() && error.to_string().contains("f.parquet"), "{error}");
}

#[tokio::test]
async fn statistics_show_row_groups_without_column() {
    // Rows 0..100 have `add`, and the others have only `txn`.
    let inner = Fields::from(vec![Field::new("path", DataType::Utf8, false)]);
    let paths: ArrayRef = Arc::new(StringArray::from_iter_values((0..300).map(|row| format!("f{row}"))));
    let present = |range: Range<usize>| Some((0..300).map(|row| range.contains(&row)).collect::<Vec<_>>().into());
    let add: ArrayRef = Arc::new(StructArray::new(inner.clone(), vec![paths.clone()], present(0..100)));
    let txn: ArrayRef = Arc::new(StructArray::new(inner.clone(), vec![paths], present(100..300)));
    let schema = Schema::new(vec![
        Field::new("add", DataType::Struct(inner.clone()), true),
        Field::new("txn", DataType::Struct(inner), true),
    ]);
    let bytes = write(&RecordBatch::try_new(Arc::new(schema), vec![add, txn]).unwrap(), 100);
    let fixture = Fixture::with("f.parquet", bytes).await;
    let file = fixture.open(None, PageIndex::Skip).await.unwrap();
    assert_eq!(file.row_groups_with("add"), [0]);
    assert_eq!(file.row_groups_with("txn"), [1, 2]);
    // Nothing is known about a missing column.
    assert_eq!(file.row_groups_with("metaData"), [0, 1, 2]);
}

#[tokio::test]
async fn results_keep_order_of_start() {
    let produce = |mut lanes: Lanes<(u64, u64)>| async move {
        for piece in 0..20 {
            let slot = lanes.slot().await?;
            lanes.start(slot, move |lane| async move {
                for step in 0..3 {
                    // Later tasks are faster.
                    tokio::time::sleep(Duration::from_millis((20 - piece) % 7)).await;
                    let _ = lane.send((piece, step));
                }
                Ok(())
            });
        }
        lanes.finish().await
    };
    let results: Vec<_> = in_order(4, produce).try_collect().await.unwrap();
    let expected: Vec<_> = (0..20).flat_map(|piece| (0..3).map(move |step| (piece, step))).collect();
    assert_eq!(results, expected);
}

#[tokio::test]
async fn work_is_limited_by_slots() {
    let running = Arc::new(Mutex::new((HashSet::new(), 0)));
    let seen = Arc::clone(&running);
    let produce = move |mut lanes: Lanes<usize>| async move {
        for piece in 0..12 {
            let slot = lanes.slot().await?;
            let running = Arc::clone(&running);
            lanes.start(slot, move |lane| async move {
                {
                    let mut state = running.lock().unwrap();
                    state.0.insert(piece);
                    state.1 = state.1.max(state.0.len());
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
                running.lock().unwrap().0.remove(&piece);
                let _ = lane.send(piece);
                Ok(())
            });
        }
        lanes.finish().await
    };
    let results: Vec<_> = in_order(3, produce).try_collect().await.unwrap();
    assert_eq!(results, (0..12).collect::<Vec<_>>());
    assert_eq!(seen.lock().unwrap().1, 3);
}

#[tokio::test]
async fn error_in_order_ends_stream() {
    let produce = |mut lanes: Lanes<usize>| async move {
        for piece in 0..5 {
            let slot = lanes.slot().await?;
            lanes.start(slot, move |lane| async move {
                let _ = lane.send(piece);
                if piece == 2 { Err(Error::corrupt("f", "torn")) } else { Ok(()) }
            });
        }
        lanes.finish().await
    };
    let mut stream = in_order(5, produce);
    for piece in 0..3 {
        assert_eq!(stream.next().await.unwrap().unwrap(), piece);
    }
    assert!(stream.next().await.unwrap().unwrap_err().is_corrupt());
    assert!(stream.next().await.is_none());
}

#[tokio::test]
async fn vanished_work_is_an_error() {
    let dies = |mut lanes: Lanes<usize>| async move {
        let slot = lanes.slot().await?;
        lanes.start(slot, |lane| async move {
            let _ = lane.send(1);
            panic!("on purpose");
        });
        lanes.finish().await
    };
    let results: Vec<_> = in_order(2, dies).collect().await;
    assert!(matches!(results.as_slice(), [Ok(1), Err(error)] if *error.kind() == ErrorKind::Internal), "{results:?}");

    let dies_itself = |_lanes: Lanes<usize>| async move { panic!("on purpose") };
    let results: Vec<_> = in_order(2, dies_itself).collect().await;
    assert!(matches!(results.as_slice(), [Err(_)]), "{results:?}");
}

#[tokio::test]
async fn a_dropped_stream_stops_its_work() {
    let sent = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&sent);
    let produce = move |mut lanes: Lanes<usize>| async move {
        let slot = lanes.slot().await?;
        lanes.start(slot, move |lane| async move {
            while let ControlFlow::Continue(()) = lane.send(0) {
                counter.fetch_add(1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            Ok(())
        });
        lanes.finish().await
    };
    let mut stream = in_order(1, produce);
    stream.next().await.unwrap().unwrap();
    drop(stream);
    tokio::time::sleep(Duration::from_millis(20)).await;
    let after = sent.load(Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(30)).await;
    assert_eq!(sent.load(Ordering::SeqCst), after);
}

#[tokio::test]
async fn idle_waits_until_everything_has_been_taken() {
    let produce = |mut lanes: Lanes<&'static str>| async move {
        let slot = lanes.slot().await?;
        lanes.start(slot, |lane| async move {
            let _ = lane.send("first");
            Ok(())
        });
        let slot = lanes.slot().await?;
        lanes.idle(&slot).await;
        lanes.start(slot, |lane| async move {
            let _ = lane.send("second");
            Ok(())
        });
        lanes.finish().await
    };
    let mut stream = in_order(3, produce);
    assert_eq!(stream.next().await.unwrap().unwrap(), "first");
    assert_eq!(stream.next().await.unwrap().unwrap(), "second");
    assert!(stream.next().await.is_none());
}
