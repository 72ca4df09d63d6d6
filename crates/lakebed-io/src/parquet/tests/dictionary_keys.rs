//! Compares columns that `read/dictionary_keys.rs` reads as keys with the same columns read as
//! values.

use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal64Type, Int8Type, Int16Type, Int32Type, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array, PrimitiveArray, RecordBatch, StringViewArray, StructArray};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, Fields, Schema};
use arrow_select::concat::concat;
use bytes::Bytes;
use futures::TryStreamExt;
use parquet::arrow::arrow_reader::{
    ArrowPredicateFn, ArrowReaderMetadata, ArrowReaderOptions, RowFilter, RowSelection, RowSelector,
};
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::Fixture;
use crate::parquet::{Cores, PageIndex, ParquetFile, ReadOptions};

/// The rows that are null.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Nulls {
    Required,
    None,
    Some,
    Runs,
    All,
}

impl Nulls {
    const ALL: [Self; 5] = [Self::Required, Self::None, Self::Some, Self::Runs, Self::All];

    fn has(self, row: usize) -> bool {
        match self {
            Self::Required | Self::None => false,
            Self::Some => row % 7 == 3,
            Self::Runs => (row / 250) % 3 == 1,
            Self::All => true,
        }
    }
}

/// Returns a batch with a column of each type that may be read as keys, each with 50 different
/// values. It also has columns that may not be read as keys.
fn rows(count: usize, nulls: Nulls) -> RecordBatch {
    let value = |row: usize| (!nulls.has(row)).then_some((row * row % 50) as i64);
    fn numbers<T: ArrowPrimitiveType>(
        values: impl Iterator<Item = Option<i64>>,
        native: fn(i64) -> T::Native,
    ) -> PrimitiveArray<T> {
        values.map(|value| value.map(native)).collect()
    }
    let all = || (0..count).map(value);
    let text = |value: i64| format!("{value}{}", ["", "é", " and a text that is no view"][value as usize % 3]);
    let decimal = |precision, scale| {
        let numbers = numbers::<Decimal64Type>(all(), |value| value * 1001 - 20_000);
        numbers.with_precision_and_scale(precision, scale).unwrap()
    };
    let texts: StringViewArray = all().map(|value| value.map(text)).collect();
    let inner: ArrayRef = Arc::new(Int64Array::from_iter((0..count).map(value)));
    let inner_fields = Fields::from(vec![Field::new("inner", DataType::Int64, true), Field::new("other", DataType::Int64, true)]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("byte", Arc::new(numbers::<Int8Type>(all(), |value| value as i8 - 25))),
        ("short", Arc::new(numbers::<Int16Type>(all(), |value| value as i16 * -600))),
        ("int", Arc::new(numbers::<Int32Type>(all(), |value| value as i32 * 40_000_000))),
        ("nested", Arc::new(StructArray::new(inner_fields, vec![Arc::clone(&inner), Arc::clone(&inner)], None))),
        ("day", Arc::new(numbers::<Date32Type>(all(), |value| value as i32 - 30))),
        ("long", inner),
        ("row", Arc::new(Int64Array::from_iter_values(0..count as i64))),
        ("moment", Arc::new(numbers::<TimestampMicrosecondType>(all(), |value| value << 40).with_timezone("UTC"))),
        ("local", Arc::new(numbers::<TimestampMicrosecondType>(all(), |value| -value << 40))),
        ("small", Arc::new(decimal(9, 2))),
        ("large", Arc::new(decimal(18, 4))),
        ("text", Arc::new(texts)),
        ("truth", Arc::new(BooleanArray::from_iter(all().map(|value| value.map(|value| value % 2 == 0))))),
    ];
    let is_nullable = |name: &str| name != "row" && nulls != Nulls::Required;
    let fields = columns.iter().map(|(name, column)| Field::new(*name, column.data_type().clone(), is_nullable(name)));
    let schema = Schema::new(fields.collect::<Vec<_>>());
    RecordBatch::try_new(Arc::new(schema), columns.into_iter().map(|(_, column)| column).collect()).unwrap()
}

/// The columns above that may be read as keys. `row`, `nested` and `truth` may not.
const KEYED: [&str; 10] = ["byte", "short", "int", "day", "long", "moment", "local", "small", "large", "text"];
/// All leaves of the file.
const LEAVES: Range<usize> = 0..14;

/// Returns properties with small pages and row groups.
fn small() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_data_page_row_count_limit(300)
        .set_write_batch_size(100)
        .set_max_row_group_row_count(Some(4000))
        .set_column_dictionary_enabled("row".into(), false)
}

fn write(batch: &RecordBatch, properties: WriterPropertiesBuilder) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties.build())).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}

async fn open(bytes: impl Into<Bytes>) -> ParquetFile {
    Fixture::with("f.parquet", bytes).await.open(None, PageIndex::Read).await.unwrap()
}

/// Returns the metadata for reading columns as the types that were written.
fn typed(file: &ParquetFile, batch: &RecordBatch) -> ArrowReaderMetadata {
    file.reader_metadata(Some(batch.schema()), ArrowReaderOptions::new()).unwrap()
}

fn options(file: &ParquetFile, batch: &RecordBatch) -> ReadOptions {
    ReadOptions { metadata: Some(typed(file, batch)), ..Default::default() }
}

/// Returns the batches of one row group, or of the rows that the options choose.
async fn decode(file: &ParquetFile, options: ReadOptions) -> lakebed_core::Result<Vec<RecordBatch>> {
    let batches = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&batches);
    let sink = move |batch| {
        seen.lock().unwrap().push(batch);
        Ok(std::ops::ControlFlow::Continue(()))
    };
    file.decode(options)?.run(&Cores::of(2), sink).await?;
    Ok(std::mem::take(&mut batches.lock().unwrap()))
}

/// Returns the names of the columns that were read as keys.
fn keyed_names(batch: &RecordBatch) -> Vec<String> {
    let columns = batch.schema_ref().fields().iter().zip(batch.columns());
    let keyed = columns.filter(|(field, column)| {
        assert_eq!(field.data_type(), column.data_type());
        column.as_dictionary_opt::<Int32Type>().is_some()
    });
    keyed.map(|(field, _)| field.name().clone()).collect()
}

/// Combines all batches into one batch with values instead of keys.
fn as_values(batches: &[RecordBatch]) -> Vec<ArrayRef> {
    let column = |index: usize| {
        let parts = batches.iter().map(|batch| match batch.column(index).data_type() {
            DataType::Dictionary(_, values) => cast(batch.column(index), values).unwrap(),
            _ => Arc::clone(batch.column(index)),
        });
        let parts: Vec<ArrayRef> = parts.collect();
        concat(&parts.iter().map(AsRef::as_ref).collect::<Vec<_>>()).unwrap()
    };
    (0..batches[0].num_columns()).map(column).collect()
}

/// Reads every row group as values and as keys. The rows must be the same, and these columns must
/// be read as keys.
async fn check(file: &ParquetFile, base: ReadOptions, expected: &[&str]) {
    for group in 0..file.metadata().num_row_groups() {
        let ordinary = ReadOptions { row_groups: Some(vec![group]), ..base.clone() };
        let keyed = ReadOptions { dictionary_leaves: LEAVES.collect(), ..ordinary.clone() };
        let (values, keys) = (decode(file, ordinary).await.unwrap(), decode(file, keyed).await.unwrap());
        let sizes = |batches: &[RecordBatch]| batches.iter().map(RecordBatch::num_rows).collect::<Vec<_>>();
        assert_eq!(sizes(&values), sizes(&keys));
        assert_eq!(as_values(&values), as_values(&keys));
        assert!(values.iter().all(|batch| keyed_names(batch).is_empty()));
        assert!(keys.iter().all(|batch| keyed_names(batch) == expected), "{:?}", keyed_names(&keys[0]));
    }
}

#[tokio::test]
async fn any_writer_gives_columns_as_keys() {
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        let codecs =
            [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::ZSTD(ZstdLevel::default()), Compression::LZ4_RAW];
        for codec in codecs {
            for nulls in Nulls::ALL {
                let batch = rows(8000, nulls);
                let bytes = write(&batch, small().set_writer_version(version).set_compression(codec));
                let file = open(bytes).await;
                for batch_rows in [None, Some(1000), Some(77)] {
                    let base = ReadOptions { batch_rows, ..options(&file, &batch) };
                    // A dictionary without values has no advantage.
                    let expected = if nulls == Nulls::All { keyed_of_nulls(&file, &base).await } else { names(&KEYED) };
                    check(&file, base, &expected.iter().map(String::as_str).collect::<Vec<_>>()).await;
                }
            }
        }
    }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Returns the columns that were read as keys if all values are null. In this case a column may be
/// read in either way.
async fn keyed_of_nulls(file: &ParquetFile, base: &ReadOptions) -> Vec<String> {
    let keyed = ReadOptions { row_groups: Some(vec![0]), dictionary_leaves: LEAVES.collect(), ..base.clone() };
    keyed_names(&decode(file, keyed).await.unwrap()[0])
}

#[tokio::test]
async fn only_requested_columns_come_as_keys() {
    let batch = rows(3000, Nulls::Some);
    let file = open(write(&batch, small())).await;
    let schema = file.metadata().file_metadata().schema_descr_ptr();
    let whole = decode(&file, options(&file, &batch)).await.unwrap();
    // Leaves 3 and 4 are those of `nested`. Leaf 6 is `long`, 7 is `row`, and 12 is `text`.
    for (projected, keyed, expected) in [
        (vec![6, 12], vec![6, 12], vec!["long", "text"]),
        (vec![6], vec![6], vec!["long"]),
        (vec![4, 6, 7], vec![6, 4, 12], vec!["long"]),
        (vec![3, 4, 12], vec![12], vec!["text"]),
        (vec![3], vec![3], vec![]),
        (vec![7], vec![7], vec![]),
        (vec![6], vec![], vec![]),
        (vec![0, 6], vec![99, 6], vec!["long"]),
        (vec![], vec![6], vec![]),
    ] {
        let projection = Some(ProjectionMask::leaves(&schema, projected.clone()));
        let base = ReadOptions { projection, row_groups: Some(vec![0]), ..options(&file, &batch) };
        let read = decode(&file, ReadOptions { dictionary_leaves: keyed, ..base.clone() }).await.unwrap();
        assert_eq!(keyed_names(&read[0]), expected, "{projected:?}");
        let ordinary = decode(&file, base).await.unwrap();
        assert_eq!(ordinary.iter().map(RecordBatch::num_rows).sum::<usize>(), 3000);
        assert_eq!(read.iter().map(RecordBatch::num_rows).sum::<usize>(), 3000);
        assert_eq!(as_values(&read), as_values(&ordinary), "{projected:?}");
    }
    assert_eq!(as_values(&whole)[5].as_ref(), batch.column(5).as_ref());
}

#[tokio::test]
async fn stream_has_keys_of_each_row_group() {
    let batch = rows(9000, Nulls::Runs);
    let file = open(write(&batch, small().set_max_row_group_row_count(Some(2000)))).await;
    let base = ReadOptions { dictionary_leaves: LEAVES.collect(), ..options(&file, &batch) };
    let read: Vec<RecordBatch> = file.read(base, &Cores::of(2)).unwrap().try_collect().await.unwrap();
    assert_eq!(read.len(), 5);
    assert!(read.iter().all(|batch| keyed_names(batch) == KEYED));
    assert_eq!(as_values(&read), batch.columns());
}

#[tokio::test]
async fn abandoned_dictionary_gives_column_as_values() {
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        let batch = rows(5000, Nulls::Some);
        let properties = || small().set_writer_version(version);
        let file = open(write(&batch, properties().set_dictionary_page_size_limit(20))).await;
        check(&file, options(&file, &batch), &[]).await;
        let limited = properties().set_column_dictionary_page_size_limit("long".into(), 20);
        let file = open(write(&batch, limited.set_column_dictionary_enabled("text".into(), false))).await;
        let others = KEYED.into_iter().filter(|name| !["long", "text"].contains(name)).collect::<Vec<_>>();
        check(&file, options(&file, &batch), &others).await;
    }
}

#[tokio::test]
async fn any_value_count_gives_keys() {
    let number = |values: usize| move |row: usize| (row * 7 % values) as i64;
    let numbers = |values: usize| Arc::new(Int64Array::from_iter_values((0..5000).map(number(values)))) as ArrayRef;
    let texts = StringViewArray::from_iter_values((0..5000).map(number(4999)).map(|number| format!("the text of {number}")));
    let columns = [("unique", numbers(5000)), ("few", numbers(500)), ("one", numbers(1)), ("texts", Arc::new(texts))];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let file = open(write(&batch, small().set_max_row_group_row_count(None))).await;
    check(&file, options(&file, &batch), &["unique", "few", "one", "texts"]).await;
}

#[tokio::test]
async fn row_selection_gives_columns_as_values() {
    let batch = rows(3000, Nulls::Some);
    let file = open(write(&batch, small())).await;
    let selection: RowSelection = vec![RowSelector::skip(700), RowSelector::select(1000), RowSelector::skip(1300)].into();
    let schema = file.metadata().file_metadata().schema_descr_ptr();
    let filter = move || {
        let later = |batch: RecordBatch| {
            let rows = batch.column(0).as_primitive::<arrow_array::types::Int64Type>();
            Ok(BooleanArray::from_iter(rows.values().iter().map(|row| Some(*row >= 2000))))
        };
        RowFilter::new(vec![Box::new(ArrowPredicateFn::new(ProjectionMask::leaves(&schema, [7]), later))])
    };
    let base = ReadOptions { row_groups: Some(vec![0]), dictionary_leaves: LEAVES.collect(), ..options(&file, &batch) };
    for (chosen, first, count) in [
        (ReadOptions { selection: Some(selection), ..base.clone() }, 700, 1000),
        (ReadOptions { limit: Some(1234), ..base.clone() }, 0, 1234),
        (ReadOptions { filter: Some(Arc::new(filter)), ..base.clone() }, 2000, 1000),
        (ReadOptions { row_groups: None, ..base.clone() }, 0, 3000),
    ] {
        let read = decode(&file, chosen).await.unwrap();
        assert!(read.iter().all(|batch| keyed_names(batch).is_empty()));
        assert_eq!(as_values(&read), batch.slice(first, count).columns());
    }
    let error = file.decode(ReadOptions { row_groups: Some(vec![1]), ..base }).err().unwrap();
    assert!(error.to_string().contains("f.parquet"), "{error}");
}

#[tokio::test]
async fn batches_are_made_on_threads_for_computing() {
    let batch = rows(3000, Nulls::Some);
    let file = open(write(&batch, small())).await;
    let schema = file.metadata().file_metadata().schema_descr_ptr();
    for projection in [None, Some(ProjectionMask::leaves(&schema, [6, 12])), Some(ProjectionMask::leaves(&schema, [7]))] {
        let keyed = LEAVES.collect();
        let base = ReadOptions { row_groups: Some(vec![0]), dictionary_leaves: keyed, projection, ..options(&file, &batch) };
        // The test runs on its own thread, as do all tasks of its runtime.
        let own = std::thread::current().id();
        let sink = move |_| {
            assert_ne!(std::thread::current().id(), own);
            Ok(std::ops::ControlFlow::Continue(()))
        };
        file.decode(base).unwrap().run(&Cores::of(1), sink).await.unwrap();
    }
}

/// Returns columns that are so small that most changes of a byte have an effect.
fn tiny(rows: usize, nulls: Nulls) -> RecordBatch {
    let whole = self::rows(rows, nulls);
    let index = |name: &str| whole.schema_ref().index_of(name).unwrap();
    whole.project(&["long", "text", "row"].map(index)).unwrap()
}

/// Returns the byte range of column `leaf`.
fn range(file: &ParquetFile, leaf: usize) -> Range<usize> {
    let (start, length) = file.metadata().row_group(0).column(leaf).byte_range();
    start as usize..(start + length) as usize
}

#[tokio::test]
async fn damaged_columns_are_errors_or_rows() {
    let seeds = 600;
    let mut outcomes = [0, 0];
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        for (codec, nulls) in [
            (Compression::UNCOMPRESSED, Nulls::Required),
            (Compression::UNCOMPRESSED, Nulls::Runs),
            (Compression::SNAPPY, Nulls::Some),
        ] {
            let batch = tiny(700, nulls);
            let good = write(&batch, small().set_writer_version(version).set_compression(codec));
            let intact = open(good.clone()).await;
            let schema = intact.metadata().file_metadata().schema_descr_ptr();
            let within = [range(&intact, 0), range(&intact, 1), range(&intact, 2)];
            for seed in 0..seeds {
                let (mut random, mut bytes) = (StdRng::seed_from_u64(seed), good.clone());
                let within = within[if seed % 5 == 4 { 2 } else { seed as usize % 2 }].clone();
                damage(&mut bytes[within], &mut random);
                let projection = (seed % 3 == 0).then(|| ProjectionMask::leaves(&schema, [0, 1]));
                let file = open(bytes).await;
                let batch_rows = [None, Some(64)][seed as usize % 2];
                let base = ReadOptions { batch_rows, projection, row_groups: Some(vec![0]), ..options(&file, &batch) };
                let keyed = ReadOptions { dictionary_leaves: vec![0, 1], ..base };
                // A panic that is not caught fails the test.
                let read = tokio::time::timeout(Duration::from_secs(20), decode(&file, keyed)).await.expect("it hangs");
                outcomes[usize::from(read.is_ok())] += 1;
                let Ok(read) = read else { continue };
                assert_eq!(read.iter().map(RecordBatch::num_rows).sum::<usize>(), 700, "{seed}");
                as_values(&read);
            }
        }
    }
    assert!(outcomes.iter().all(|count| *count > 200), "{outcomes:?}");
}

/// Damages bytes. It flips a bit, writes another byte, or replaces the rest by zeros or by earlier
/// bytes.
fn damage(bytes: &mut [u8], random: &mut impl Rng) {
    let at = random.random_range(0..bytes.len());
    match random.random_range(0..5) {
        0 => bytes[at] ^= 1 << random.random_range(0..8),
        1 => bytes[at] = random.random(),
        2 => bytes[at] = [0, 1, 0x7F, 0x80, 0xFF][random.random_range(0..5)],
        3 => bytes[at..].fill(0),
        _ => {
            let from = random.random_range(0..=at);
            bytes.copy_within(from..from + (bytes.len() - at), at);
        }
    }
}

#[tokio::test]
async fn keys_beyond_dictionary_are_corrupt() {
    // Five values have keys of 3 bits, so 7 can be written as a key. A run of one key is stored as
    // its length and the key.
    for nulls in [Nulls::Required, Nulls::None] {
        let numbers = (0..4000).map(|row| if row < 3000 { row % 5 } else { 4 });
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(numbers));
        let schema = Schema::new(vec![Field::new("few", DataType::Int64, nulls != Nulls::Required)]);
        let batch = RecordBatch::try_new(Arc::new(schema), vec![numbers]).unwrap();
        let good = write(&batch, WriterProperties::builder().set_compression(Compression::UNCOMPRESSED));
        let file = open(good.clone()).await;
        check(&file, options(&file, &batch), &["few"]).await;
        let range = range(&file, 0);
        assert_eq!(good[range.end - 1], 4);
        for key in [5, 7, 0xFF] {
            let mut bytes = good.clone();
            bytes[range.end - 1] = key;
            let file = open(bytes).await;
            for batch_rows in [None, Some(10)] {
                let keyed =
                    ReadOptions { dictionary_leaves: vec![0], row_groups: Some(vec![0]), batch_rows, ..options(&file, &batch) };
                let error = decode(&file, keyed).await.unwrap_err();
                assert!(error.is_corrupt() && error.to_string().contains("f.parquet"), "{error}");
            }
        }
    }
}
