//! Tests flat columns of `write/flat_column.rs` against the output of parquet's own writer for the
//! same rows.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int32Array, Int64Array, PrimitiveArray, RecordBatch, StringArray, StringViewArray,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use arrow_select::concat::concat;
use bytes::Bytes;
use futures::TryStreamExt;
use object_store::ObjectStoreExt;
use object_store::memory::InMemory;
use object_store::path::Path;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowSelection, RowSelector,
};
use parquet::basic::{BoundaryOrder, Compression, Encoding, ZstdLevel};
use parquet::column::page::Page;
use parquet::file::metadata::{ColumnChunkMetaData, PageIndexPolicy, ParquetMetaData};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::statistics::Statistics;
use parquet::schema::types::ColumnPath;
use proptest::prelude::*;

use super::Fixture;
use crate::parquet::write::{Codec, ParquetWriter, WriteOptions};
use crate::parquet::{Cores, PageIndex, ReadOptions};
use crate::store::Store;

/// A value of any type.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Value {
    Number(i64),
    Text(String),
}

type Cell = Option<Value>;

fn types() -> Vec<DataType> {
    use DataType as T;
    vec![
        T::Int8,
        T::Int16,
        T::Int32,
        T::Date32,
        T::Int64,
        T::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        T::Timestamp(TimeUnit::Microsecond, None),
        T::Decimal64(9, 2),
        T::Decimal64(18, 4),
        T::Utf8View,
        T::Utf8,
    ]
}

/// Returns one of 256 values of the type. Some of the values are equal.
fn value(data_type: &DataType, seed: u8) -> Value {
    let within = |least: i64, most: i64| match seed {
        0 => least,
        1 => most,
        // The values are not in ascending order, and are on both sides of zero.
        _ => (i64::from(seed) - 100) * 7919 % most,
    };
    Value::Number(match data_type {
        DataType::Int8 => i64::from(seed as i8),
        DataType::Int16 => within(i16::MIN.into(), i16::MAX.into()),
        DataType::Int32 | DataType::Date32 => within(i32::MIN.into(), i32::MAX.into()),
        DataType::Decimal64(9, _) => within(-999_999_999, 999_999_999),
        DataType::Decimal64(..) => within(-999_999_999_999_999_999, 999_999_999_999_999_999),
        DataType::Utf8View | DataType::Utf8 => return Value::Text(text(seed)),
        _ => within(i64::MIN, i64::MAX),
    })
}

/// Returns a string that is empty, short, just too long, or much too long. Its characters have one
/// to four bytes, and some of them have no successor.
fn text(seed: u8) -> String {
    let letters = ["a", "é", "語", "𝄞", "\u{7f}", "\u{d7ff}", "\u{10ffff}", "zé"];
    let letter = letters[usize::from(seed) % letters.len()];
    let length = [0, 1, 5, 16, 21, 31, 63, 64, 65, 130][usize::from(seed) / letters.len() % 10];
    match seed % 3 {
        0 => letter.repeat(length),
        _ => format!("{}{seed}", letter.repeat(length)),
    }
}

fn array(data_type: &DataType, cells: &[Cell]) -> ArrayRef {
    fn numbers<T: ArrowPrimitiveType>(data_type: &DataType, cells: &[Cell], native: fn(i64) -> T::Native) -> ArrayRef {
        let number = |cell: &Cell| match cell {
            Some(Value::Number(number)) => Some(native(*number)),
            _ => None,
        };
        Arc::new(cells.iter().map(number).collect::<PrimitiveArray<T>>().with_data_type(data_type.clone()))
    }
    let texts = || {
        cells.iter().map(|cell| match cell {
            Some(Value::Text(text)) => Some(text.as_str()),
            _ => None,
        })
    };
    match data_type {
        DataType::Int8 => numbers::<Int8Type>(data_type, cells, |number| number as i8),
        DataType::Int16 => numbers::<Int16Type>(data_type, cells, |number| number as i16),
        DataType::Int32 => numbers::<Int32Type>(data_type, cells, |number| number as i32),
        DataType::Date32 => numbers::<Date32Type>(data_type, cells, |number| number as i32),
        DataType::Int64 => numbers::<Int64Type>(data_type, cells, |number| number),
        DataType::Decimal64(..) => numbers::<Decimal64Type>(data_type, cells, |number| number),
        DataType::Timestamp(..) => numbers::<TimestampMicrosecondType>(data_type, cells, |number| number),
        DataType::Utf8View => Arc::new(StringViewArray::from_iter(texts())),
        DataType::Utf8 => Arc::new(StringArray::from_iter(texts())),
        other => panic!("{other}"),
    }
}

/// Rows of the column, in the form in which they arrive.
struct Rows {
    cells: Vec<Cell>,
    comes: ArrayRef,
}

impl Rows {
    fn values(data_type: &DataType, cells: Vec<Cell>) -> Self {
        Self { comes: array(data_type, &cells), cells }
    }

    /// Creates rows from the positions of their values in this dictionary.
    fn keys(dictionary: &(Vec<Cell>, ArrayRef), keys: Vec<Option<usize>>) -> Self {
        let (values, stored) = dictionary;
        let cells = keys.iter().map(|key| key.and_then(|key| values[key].clone())).collect();
        let keys: Int32Array = keys.into_iter().map(|key| key.map(|key| key as i32)).collect();
        Self { cells, comes: Arc::new(DictionaryArray::try_new(keys, Arc::clone(stored)).unwrap()) }
    }

    fn slice(&self, start: usize) -> Self {
        Self { cells: self.cells[start..].to_vec(), comes: self.comes.slice(start, self.cells.len() - start) }
    }
}

fn dictionary(data_type: &DataType, values: Vec<Cell>) -> (Vec<Cell>, ArrayRef) {
    let stored = array(data_type, &values);
    (values, stored)
}

/// A file with column `c`, and column `row`, which counts the rows.
struct Table {
    data_type: DataType,
    is_nullable: bool,
    options: WriteOptions,
    /// Whether the file is written without changing threads.
    is_here: bool,
    parts: Vec<Rows>,
}

fn codec(codec: Codec) -> Compression {
    match codec {
        Codec::Uncompressed => Compression::UNCOMPRESSED,
        Codec::Snappy => Compression::SNAPPY,
        Codec::Zstd(level) => Compression::ZSTD(ZstdLevel::try_new(level).unwrap()),
        other => panic!("{other:?}"),
    }
}

fn plain() -> WriteOptions {
    WriteOptions { plain_columns: vec![vec!["c".to_owned()]], ..Default::default() }
}

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

impl Table {
    fn of(data_type: DataType, parts: Vec<Rows>) -> Self {
        Self { data_type, is_nullable: true, options: WriteOptions::default(), is_here: false, parts }
    }

    fn with(self, options: WriteOptions) -> Self {
        Self { options, ..self }
    }

    fn schema(&self) -> SchemaRef {
        let column = Field::new("c", self.data_type.clone(), self.is_nullable);
        Arc::new(Schema::new(vec![column, Field::new("row", DataType::Int64, false)]))
    }

    fn is_plain(&self) -> bool {
        !self.options.plain_columns.is_empty()
    }

    /// Returns whether the column is written without parquet's writer, which makes larger pages
    /// than it should.
    fn is_flat(&self) -> bool {
        self.is_plain() || self.parts.iter().all(|part| part.comes.as_dictionary_opt::<Int32Type>().is_some())
    }

    fn cells(&self) -> Vec<Cell> {
        self.parts.iter().flat_map(|part| part.cells.iter().cloned()).collect()
    }

    /// Returns the batches as they arrive, or as values for parquet's own writer.
    fn batches(&self, are_values: bool) -> Vec<RecordBatch> {
        let mut first = 0;
        let batch = |part: &Rows| {
            let rows: ArrayRef = Arc::new(Int64Array::from_iter_values(first..first + part.cells.len() as i64));
            first += part.cells.len() as i64;
            let column = if are_values { array(&self.data_type, &part.cells) } else { Arc::clone(&part.comes) };
            let field = Field::new("c", column.data_type().clone(), true);
            let schema = Schema::new(vec![field, Field::new("row", DataType::Int64, false)]);
            let schema = if are_values { self.schema() } else { Arc::new(schema) };
            RecordBatch::try_new(schema, vec![column, rows]).unwrap()
        };
        self.parts.iter().map(batch).collect()
    }

    fn write(&self) -> lakebed_core::Result<Bytes> {
        let memory = Arc::new(InMemory::new());
        let store = Store::from_object_store(memory.clone(), Path::default(), url::Url::parse("memory://test/").unwrap());
        run(async {
            let (path, cores) = (Path::from("f.parquet"), Cores::of(2));
            let mut writer = ParquetWriter::create(&store, &path, self.schema(), self.options.clone()).await?;
            if self.is_here {
                self.batches(false).iter().try_for_each(|batch| writer.write_here(batch))?;
            } else {
                writer.write(self.batches(false), &cores).await?;
            }
            assert_eq!(writer.rows(), self.cells().len() as u64);
            let (size, _) = writer.finish(&cores).await?;
            let bytes = memory.get(&path).await.unwrap().bytes().await.unwrap();
            assert_eq!(bytes.len() as u64, size);
            Ok(bytes)
        })
    }

    /// Writes the rows with parquet's own writer.
    fn write_by_parquet(&self) -> Bytes {
        let properties = WriterProperties::builder()
            .set_compression(codec(self.options.codec))
            .set_max_row_group_row_count(Some(self.options.row_group_rows))
            .set_column_dictionary_enabled(ColumnPath::from("c"), !self.is_plain())
            .build();
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut bytes, self.schema(), Some(properties)).unwrap();
        self.batches(true).iter().for_each(|batch| writer.write(batch).unwrap());
        writer.close().unwrap();
        bytes.into()
    }

    fn read(&self, bytes: &Bytes, selection: Option<RowSelection>) -> (ArrayRef, Vec<i64>) {
        let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Required).with_schema(self.schema());
        let mut reader = ParquetRecordBatchReaderBuilder::try_new_with_options(bytes.clone(), options).unwrap();
        if let Some(selection) = selection {
            reader = reader.with_row_selection(selection);
        }
        let batches: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
        let rows = batches.iter().flat_map(|batch| batch.column(1).as_primitive::<Int64Type>().values().to_vec()).collect();
        let columns: Vec<&dyn Array> = batches.iter().map(|batch| batch.column(0).as_ref()).collect();
        let column = if columns.is_empty() { array(&self.data_type, &[]) } else { concat(&columns).unwrap() };
        (column, rows)
    }

    /// Writes the file, and compares all properties with the rows and with the file of parquet's
    /// own writer.
    fn check(&self) -> Written {
        let (bytes, other) = (self.write().unwrap(), self.write_by_parquet());
        let cells = self.cells();
        let (column, rows) = self.read(&bytes, None);
        assert_eq!(rows, (0..cells.len() as i64).collect::<Vec<_>>());
        assert_eq!(&column, &array(&self.data_type, &cells));
        let (written, other) = (Written::of(bytes), Written::of(other));
        assert_eq!(written.metadata.num_row_groups(), other.metadata.num_row_groups());
        let mut selectors = Vec::new();
        let mut first = 0;
        for group in 0..written.metadata.num_row_groups() {
            let count = written.metadata.row_group(group).num_rows() as usize;
            self.compare(&written, &other, group);
            self.check_pages(&written, group, &cells[first..first + count], &mut selectors);
            first += count;
        }
        self.check_selection(&written.bytes, selectors, &cells);
        written
    }

    fn compare(&self, ours: &Written, theirs: &Written, group: usize) {
        let (chunk, other) = (ours.chunk(group), theirs.chunk(group));
        match (chunk.statistics(), other.statistics()) {
            // Bounds of strings with a common prefix are longer.
            (Some(Statistics::ByteArray(known)), Some(Statistics::ByteArray(other)))
                if known.min_opt().map(|least| least.data().first()) == known.max_opt().map(|most| most.data().first()) =>
            {
                assert!(known.min_opt() >= other.min_opt() && known.max_opt() <= other.max_opt(), "{known} {other}");
                assert_eq!((known.null_count_opt(), known.distinct_count()), (other.null_count_opt(), other.distinct_count()));
            }
            (known, other) => assert_eq!(known, other),
        }
        assert_eq!(chunk.num_values(), other.num_values());
        assert_eq!(chunk.definition_level_histogram(), other.definition_level_histogram());
        assert_eq!(chunk.repetition_level_histogram(), other.repetition_level_histogram());
        assert_eq!(chunk.unencoded_byte_array_data_bytes(), other.unencoded_byte_array_data_bytes());
        assert_eq!(chunk.compression(), other.compression());
        let encodings = |chunk: &ColumnChunkMetaData| chunk.encodings().map(|encoding| encoding as i32).collect::<BTreeSet<_>>();
        assert_eq!(encodings(chunk), encodings(other));
        assert_eq!(chunk.dictionary_page_offset().is_some(), other.dictionary_page_offset().is_some());
        assert_eq!(chunk.dictionary_page_offset().is_some(), !self.is_plain());
    }

    /// Compares every page with its rows. `selectors` choose every other page.
    fn check_pages(&self, written: &Written, group: usize, cells: &[Cell], selectors: &mut Vec<RowSelector>) {
        let pages: Vec<Seen> = written.pages(group);
        let (dictionaries, data): (Vec<&Seen>, Vec<&Seen>) = pages.iter().partition(|page| page.is_dictionary);
        let different = cells.iter().flatten().collect::<BTreeSet<_>>().len();
        let chunk = written.chunk(group);
        if data.iter().all(|page| page.encoding != Encoding::PLAIN) {
            assert_eq!(dictionaries.iter().map(|page| page.values).collect::<Vec<_>>(), [different]);
        }
        let index = &written.metadata.column_index().unwrap()[group][0];
        let offsets = &written.metadata.offset_index().unwrap()[group][0];
        let locations = offsets.page_locations();
        assert_eq!((index.num_pages() as usize, locations.len()), (data.len(), data.len()));
        let starts = locations.iter().map(|page| page.first_row_index as usize).chain([cells.len()]).collect::<Vec<_>>();
        let is_text = matches!(self.data_type, DataType::Utf8 | DataType::Utf8View);
        let (mut known, mut next) = (Vec::new(), chunk.data_page_offset());
        for (page, seen) in data.iter().enumerate() {
            let of_page = &cells[starts[page]..starts[page + 1]];
            assert_eq!((seen.values, of_page.is_empty()), (of_page.len(), false));
            assert!(!self.is_flat() || of_page.len() <= 20_000);
            selectors.push(RowSelector { row_count: of_page.len(), skip: (group + page).is_multiple_of(2) });
            let nulls = of_page.iter().filter(|cell| cell.is_none()).count() as i64;
            assert_eq!(index.null_count(page), Some(nulls));
            let histogram = [nulls, of_page.len() as i64 - nulls];
            assert_eq!(index.definition_level_histogram(page), self.is_nullable.then_some(&histogram[..]));
            let bytes = of_page.iter().flatten().map(|value| if let Value::Text(text) = value { text.len() as i64 } else { 0 });
            assert_eq!(offsets.unencoded_byte_array_data_bytes().map(|all| all[page]), is_text.then_some(bytes.sum()));
            let extremes = of_page.iter().flatten().min().zip(of_page.iter().flatten().max());
            assert_eq!(index.is_null_page(page), extremes.is_none());
            let Some((least, most)) = extremes else { continue };
            let (below, above) = bounds(index, page);
            assert!(below <= *least && above >= *most, "{below:?} {least:?} {most:?} {above:?}");
            let kept = match (least, most) {
                (Value::Text(least), Value::Text(most)) => {
                    let alike = (0..least.len().min(most.len())).take_while(|at| least.as_bytes()[*at] == most.as_bytes()[*at]);
                    (alike.count() + 64).min(1024)
                }
                _ => 0,
            };
            let is_exact = |value: &Value| !matches!(value, Value::Text(text) if text.len() > kept);
            assert!(!is_exact(least) || below == *least, "{below:?} {least:?}");
            assert!(!is_exact(most) || above == *most, "{above:?} {most:?}");
            assert_eq!(below == *least, is_exact(least));
            known.push((below, above));
        }
        for page in locations {
            assert_eq!(page.offset, next);
            next += i64::from(page.compressed_page_size);
        }
        let (start, length) = chunk.byte_range();
        assert_eq!(next as u64, start + length);
        let in_order = |holds: fn(&Value, &Value) -> bool| {
            known.windows(2).all(|two| holds(&two[0].0, &two[1].0) && holds(&two[0].1, &two[1].1))
        };
        let expected = match (in_order(|one, next| one <= next), in_order(|one, next| one >= next)) {
            (true, _) => BoundaryOrder::ASCENDING,
            (false, true) => BoundaryOrder::DESCENDING,
            (false, false) => BoundaryOrder::UNORDERED,
        };
        assert_eq!(index.get_boundary_order(), Some(expected));
    }

    fn check_selection(&self, bytes: &Bytes, selectors: Vec<RowSelector>, cells: &[Cell]) {
        let mut first = 0;
        let mut expected = Vec::new();
        for selector in &selectors {
            if !selector.skip {
                expected.extend(first..first + selector.row_count);
            }
            first += selector.row_count;
        }
        let (column, rows) = self.read(bytes, Some(selectors.into()));
        assert_eq!(rows, expected.iter().map(|row| *row as i64).collect::<Vec<_>>());
        let expected: Vec<Cell> = expected.into_iter().map(|row| cells[row].clone()).collect();
        assert_eq!(&column, &array(&self.data_type, &expected));
    }
}

fn bounds(index: &ColumnIndexMetaData, page: usize) -> (Value, Value) {
    let text = |bytes: Option<&[u8]>| Value::Text(String::from_utf8(bytes.unwrap().to_vec()).unwrap());
    match index {
        ColumnIndexMetaData::INT32(index) => {
            let number = |number: Option<&i32>| Value::Number(i64::from(*number.unwrap()));
            (number(index.min_value(page)), number(index.max_value(page)))
        }
        ColumnIndexMetaData::INT64(index) => {
            let number = |number: Option<&i64>| Value::Number(*number.unwrap());
            (number(index.min_value(page)), number(index.max_value(page)))
        }
        ColumnIndexMetaData::BYTE_ARRAY(index) => (text(index.min_value(page)), text(index.max_value(page))),
        other => panic!("{other:?}"),
    }
}

/// A file and its metadata.
struct Written {
    bytes: Bytes,
    metadata: Arc<ParquetMetaData>,
}

/// A page of column `c`.
#[derive(Debug)]
struct Seen {
    is_dictionary: bool,
    encoding: Encoding,
    values: usize,
    bytes: usize,
}

impl Written {
    fn of(bytes: Bytes) -> Self {
        let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Required);
        let metadata = ArrowReaderMetadata::load(&bytes, options).unwrap();
        Self { bytes, metadata: Arc::clone(metadata.metadata()) }
    }

    fn chunk(&self, group: usize) -> &ColumnChunkMetaData {
        self.metadata.row_group(group).column(0)
    }

    fn pages(&self, group: usize) -> Vec<Seen> {
        let file = SerializedFileReader::new(self.bytes.clone()).unwrap();
        let group = file.get_row_group(group).unwrap();
        let mut pages = group.get_column_page_reader(0).unwrap();
        let mut seen = Vec::new();
        while let Some(page) = pages.get_next_page().unwrap() {
            let (is_dictionary, encoding) = (matches!(page, Page::DictionaryPage { .. }), page.encoding());
            seen.push(Seen { is_dictionary, encoding, values: page.num_values() as usize, bytes: page.buffer().len() });
        }
        seen
    }

    /// Returns how many data pages have each encoding, in their order.
    fn encodings(&self, group: usize) -> Vec<Encoding> {
        let mut encodings: Vec<Encoding> =
            self.pages(group).iter().filter(|page| !page.is_dictionary).map(|page| page.encoding).collect();
        encodings.dedup();
        encodings
    }
}

/// The form in which rows of a case arrive.
#[derive(Debug, Clone, Copy)]
enum Form {
    Values,
    Keys,
    /// Keys into the same dictionary as the previous keys.
    KeysAgain,
}

#[derive(Debug, Clone)]
struct Part {
    form: Form,
    /// The values of the dictionary. Some of them are null if the column may have nulls.
    dictionary: Vec<Option<u8>>,
    /// The positions in the dictionary.
    rows: Vec<Option<u8>>,
    /// The number of times that all rows are repeated.
    times: usize,
    /// The number of first rows that are cut off.
    skipped: usize,
}

#[derive(Debug, Clone)]
struct Case {
    data_type: DataType,
    is_nullable: bool,
    is_plain: bool,
    is_here: bool,
    codec: Codec,
    row_group_rows: usize,
    parts: Vec<Part>,
}

fn parts() -> impl Strategy<Value = Part> {
    let form = prop_oneof![1 => Just(Form::Values), 3 => Just(Form::Keys), 2 => Just(Form::KeysAgain)];
    let values = prop::collection::vec(prop::option::weighted(0.95, any::<u8>()), 1..12);
    let rows = prop_oneof![
        8 => prop::collection::vec(prop::option::weighted(0.8, any::<u8>()), 0..40),
        1 => prop::collection::vec(Just(None), 1..40),
    ];
    let times = prop_oneof![12 => Just(1), 3 => 2..20_usize, 1 => 500..1200_usize];
    (form, values, rows, times, 0..5_usize).prop_map(|(form, dictionary, rows, times, skipped)| Part {
        form,
        dictionary,
        rows,
        times,
        skipped,
    })
}

fn cases() -> impl Strategy<Value = Case> {
    let codec = prop_oneof![Just(Codec::Uncompressed), Just(Codec::Snappy), Just(Codec::Zstd(1))];
    let row_group_rows = prop_oneof![2 => Just(1_usize << 20), 1 => 7..100_usize];
    let parts = prop::collection::vec(parts(), 1..6);
    (prop::sample::select(types()), any::<bool>(), prop::bool::weighted(0.3), any::<bool>(), codec, row_group_rows, parts)
        .prop_map(|(data_type, is_nullable, is_plain, is_here, codec, row_group_rows, parts)| {
            // This limits the number of row groups, which would otherwise be thousands.
            let rows: usize = parts.iter().map(|part| part.rows.len() * part.times).sum();
            let row_group_rows = row_group_rows.max(rows / 10);
            Case { data_type, is_nullable, is_plain, is_here, codec, row_group_rows, parts }
        })
}

impl Case {
    fn table(&self) -> Table {
        let mut last = None;
        let parts = self.parts.iter().map(|part| {
            let cell = |seed: &Option<u8>| match seed {
                Some(seed) => Some(value(&self.data_type, *seed)),
                None if self.is_nullable => None,
                None => Some(value(&self.data_type, 0)),
            };
            let known = match last.take().filter(|_| matches!(part.form, Form::KeysAgain)) {
                Some(known) => known,
                None => dictionary(&self.data_type, part.dictionary.iter().map(cell).collect()),
            };
            let key = |row: &Option<u8>| match row {
                Some(key) => Some(usize::from(*key) % known.0.len()),
                None => (!self.is_nullable).then_some(0),
            };
            let count = part.rows.len() * part.times;
            let rows = Rows::keys(&known, part.rows.iter().map(key).cycle().take(count).collect());
            last = Some(known);
            let rows = if matches!(part.form, Form::Values) { Rows::values(&self.data_type, rows.cells) } else { rows };
            rows.slice(part.skipped.min(count))
        });
        let parts = parts.collect();
        let plain_columns = if self.is_plain { plain().plain_columns } else { Vec::new() };
        let options =
            WriteOptions { codec: self.codec, row_group_rows: self.row_group_rows, plain_columns, ..Default::default() };
        let Self { data_type, is_nullable, is_here, .. } = self.clone();
        Table { data_type, is_nullable, options, is_here, parts }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]

    #[test]
    fn file_equals_that_of_parquet_writer(case in cases()) {
        case.table().check();
    }
}

fn texts(texts: impl IntoIterator<Item = String>) -> Vec<Cell> {
    texts.into_iter().map(|text| Some(Value::Text(text))).collect()
}

fn numbers(numbers: impl IntoIterator<Item = i64>) -> Vec<Cell> {
    numbers.into_iter().map(|number| Some(Value::Number(number))).collect()
}

#[test]
fn types_are_written_as_keys_and_plain() {
    for data_type in types() {
        for is_nullable in [false, true] {
            for options in [WriteOptions::default(), plain()] {
                let all = dictionary(&data_type, (0..=255).map(|seed| Some(value(&data_type, seed))).collect());
                let keys = (0..50_000).map(|row| (!is_nullable || row % 11 != 0).then_some(row * row % 256)).collect();
                let table = Table { is_nullable, ..Table::of(data_type.clone(), vec![Rows::keys(&all, keys)]).with(options) };
                assert!(table.check().encodings(0).len() == 1, "{data_type}");
            }
        }
    }
}

#[test]
fn values_without_rows_are_not_written() {
    let known = dictionary(&DataType::Utf8View, texts((0..1000).map(|value| format!("value {}", value / 2))));
    let rows = |keys: &[usize]| Rows::keys(&known, keys.iter().map(|key| Some(*key)).collect());
    // Values 4 and 5 are the same string. Row groups do not share keys.
    let parts = vec![rows(&[4, 5, 900, 4]), rows(&[5, 7, 900]), rows(&[1, 1, 3])];
    let options = WriteOptions { row_group_rows: 7, ..Default::default() };
    let written = Table::of(DataType::Utf8View, parts).with(options).check();
    let counts =
        [0, 1].map(|group| written.pages(group).iter().map(|page| (page.is_dictionary, page.values)).collect::<Vec<_>>());
    assert_eq!(counts, [[(true, 3), (false, 7)], [(true, 2), (false, 3)]]);
}

#[test]
fn sliced_keys_write_only_own_values() {
    let known = dictionary(&DataType::Int64, numbers(0..100));
    let rows = Rows::keys(&known, (0..100).map(Some).collect());
    let part = Rows { cells: rows.cells[40..50].to_vec(), comes: rows.comes.slice(40, 10) };
    let written = Table::of(DataType::Int64, vec![part]).check();
    assert_eq!(written.pages(0)[0].values, 10);
}

#[test]
fn rows_after_oversized_dictionary_are_plain() {
    for is_nullable in [false, true] {
        // Each dictionary has 600 KB.
        let part = |first: usize| {
            let known = dictionary(&DataType::Utf8View, texts((first..first + 6000).map(|text| format!("{text:0>100}"))));
            Rows::keys(&known, (0..9000).map(|row| (!is_nullable || row % 7 > 0).then_some(row % 6000)).collect())
        };
        let table = Table::of(DataType::Utf8View, vec![part(0), part(6000), part(50_000), part(6000), part(0)]);
        let table = Table { is_nullable, ..table };
        let written = table.check();
        assert_eq!(written.encodings(0), [Encoding::RLE_DICTIONARY, Encoding::PLAIN]);
        let all: Vec<Encoding> = written.chunk(0).encodings().collect();
        assert!(
            [Encoding::RLE_DICTIONARY, Encoding::PLAIN, Encoding::RLE].iter().all(|encoding| all.contains(encoding)),
            "{all:?}"
        );
        assert!(written.pages(0).iter().all(|page| page.bytes < 3 << 20));
    }
}

#[test]
fn text_bounds_equal_those_of_parquet_writer() {
    let long = |letter: &str, before: usize| format!("{}{}", "m".repeat(before), letter.repeat(80));
    for letter in ["a", "z", "é", "語", "𝄞", "\u{7f}", "\u{7ff}", "\u{d7ff}", "\u{ffff}", "\u{10ffff}"] {
        for before in [0, 1, 60, 61, 62, 63, 64, 65] {
            let known = dictionary(&DataType::Utf8View, texts([String::new(), long(letter, before)]));
            for options in [WriteOptions::default(), plain()] {
                Table::of(DataType::Utf8View, vec![Rows::keys(&known, vec![Some(0), Some(1), None])]).with(options).check();
            }
        }
    }
}

/// If the characters of a long string have fewer bytes than those of a greater string, its upper
/// bound may still be greater than that string's upper bound.
#[test]
fn page_order_is_order_of_bounds() {
    let least = format!("ab{}", "\u{7f}".repeat(100));
    for (first, second) in [(least.clone(), "abé".to_owned()), ("abé".to_owned(), least)] {
        let page = |text: String| texts(std::iter::repeat_n(text, 19_999).chain([String::new()]));
        let parts = vec![Rows::values(&DataType::Utf8View, page(first)), Rows::values(&DataType::Utf8View, page(second))];
        Table::of(DataType::Utf8View, parts).with(plain()).check();
    }
}

#[test]
fn the_order_of_pages_is_known() {
    let pages = |values: &[Option<i64>]| {
        let cells = values.iter().flat_map(|value| vec![value.map(Value::Number); 20_000]).collect::<Vec<_>>();
        let known = dictionary(&DataType::Int32, numbers(0..10));
        let key = |cell: &Cell| cell.as_ref().map(|value| if let Value::Number(number) = value { *number as usize } else { 0 });
        let table = Table::of(DataType::Int32, vec![Rows::keys(&known, cells.iter().map(key).collect())]);
        table.check().metadata.column_index().unwrap()[0][0].get_boundary_order().unwrap()
    };
    assert_eq!(pages(&[Some(1), None, Some(1), Some(3)]), BoundaryOrder::ASCENDING);
    assert_eq!(pages(&[Some(5), None, Some(1), Some(1)]), BoundaryOrder::DESCENDING);
    assert_eq!(pages(&[Some(5), Some(1), None, Some(3)]), BoundaryOrder::UNORDERED);
    assert_eq!(pages(&[None, None]), BoundaryOrder::ASCENDING);
}

#[test]
fn columns_without_any_value_are_written() {
    for data_type in types() {
        let (empty, known) = (dictionary(&data_type, vec![]), dictionary(&data_type, vec![Some(value(&data_type, 9))]));
        for known in [empty, known] {
            for options in [WriteOptions::default(), plain()] {
                Table::of(data_type.clone(), vec![Rows::keys(&known, vec![None; 30_000])]).with(options).check();
            }
        }
        // This dictionary has only nulls.
        let nulls = dictionary(&data_type, vec![None, None]);
        Table::of(data_type, vec![Rows::keys(&nulls, vec![Some(1), None, Some(0)])]).check();
    }
}

#[test]
fn batches_without_rows_change_nothing() {
    let known = dictionary(&DataType::Int64, numbers(0..3));
    let none = || Rows::keys(&known, vec![]);
    for is_here in [false, true] {
        for options in [WriteOptions::default(), plain()] {
            let parts = vec![none(), Rows::keys(&known, vec![Some(1), Some(2)]), none(), Rows::values(&DataType::Int64, vec![])];
            Table { is_here, ..Table::of(DataType::Int64, parts) }.with(options.clone()).check();
            let empty = Table { is_here, ..Table::of(DataType::Int64, vec![none(), none()]) }.with(options);
            assert_eq!(empty.check().metadata.num_row_groups(), 0);
        }
    }
}

#[test]
fn keys_and_values_may_follow_each_other() {
    for data_type in types() {
        let all = || (0..200).map(|seed| Some(value(&data_type, seed))).chain([None]).collect::<Vec<_>>();
        let keys = || Rows::keys(&dictionary(&data_type, all()), (0..400).map(|row| Some(row % 201)).chain([None]).collect());
        let values = || Rows::values(&data_type, all());
        for parts in [vec![keys(), values(), keys()], vec![values(), keys(), values()]] {
            let mut table = Table::of(data_type.clone(), parts);
            for row_group_rows in [1 << 20, 150, 401] {
                table.options.row_group_rows = row_group_rows;
                assert_eq!(table.check().encodings(0), [Encoding::RLE_DICTIONARY]);
            }
        }
    }
}

#[test]
fn large_texts_have_pages_of_their_own() {
    let letters = |letter: char| texts([letter.to_string().repeat(2 << 20), "short".to_owned()]);
    let parts = ('a'..='f').map(|letter| Rows::values(&DataType::Utf8View, letters(letter))).collect();
    let written = Table::of(DataType::Utf8View, parts).with(plain()).check();
    assert!(written.pages(0).len() >= 6);
    assert!(written.pages(0).iter().all(|page| page.bytes < 3 << 20));
    // Values that arrive as keys are not repeated.
    let known = dictionary(&DataType::Utf8View, letters('x'));
    let rows = Rows::keys(&known, (0..20).map(|row| Some(row % 2)).collect());
    assert!(Table::of(DataType::Utf8View, vec![rows]).check().bytes.len() < 4 << 20);
}

#[test]
fn values_after_keys_keep_dictionary_small() {
    let letters = |letters: &str| texts(letters.chars().map(|letter| letter.to_string().repeat(600 << 10)));
    let known = dictionary(&DataType::Utf8View, letters("a"));
    let values = Rows::values(&DataType::Utf8View, letters("bcdefghij").into_iter().chain([None]).collect());
    let written = Table::of(DataType::Utf8View, vec![Rows::keys(&known, vec![Some(0), Some(0)]), values]).check();
    assert_eq!(written.encodings(0), [Encoding::RLE_DICTIONARY, Encoding::PLAIN]);
    assert!(written.pages(0).iter().all(|page| page.bytes < 3 << 20));
}

#[test]
fn nulls_in_required_column_are_refused() {
    for data_type in types() {
        let (known, holed) = (dictionary(&data_type, vec![Some(value(&data_type, 1))]), vec![Some(value(&data_type, 1)), None]);
        let of_keys = || Rows::keys(&known, vec![Some(0), None]);
        let of_dictionary = || Rows::keys(&dictionary(&data_type, holed.clone()), vec![Some(0), Some(1)]);
        let of_values = || Rows::values(&data_type, holed.clone());
        for options in [WriteOptions::default(), plain()] {
            for part in [of_keys(), of_dictionary(), of_values()] {
                // The first rows decide how the column is written.
                let first = Rows::keys(&known, vec![Some(0)]);
                let table = Table { is_nullable: false, ..Table::of(data_type.clone(), vec![first, part]) };
                assert!(table.with(options.clone()).write().is_err(), "{data_type}");
            }
        }
    }
}

#[test]
fn own_files_give_columns_as_keys() {
    let known = dictionary(&DataType::Int64, numbers(0..9));
    let table = Table::of(DataType::Int64, vec![Rows::keys(&known, (0..50_000).map(|row| Some(row % 9)).collect())]);
    let bytes = table.check().bytes;
    run(async {
        let fixture = Fixture::with("f.parquet", bytes).await;
        let file = fixture.open(None, PageIndex::Skip).await.unwrap();
        let options = ReadOptions { dictionary_leaves: vec![0], ..Default::default() };
        let batches: Vec<RecordBatch> = file.read(options, &Cores::of(2)).unwrap().try_collect().await.unwrap();
        assert!(batches.iter().all(|batch| batch.column(0).as_dictionary_opt::<Int32Type>().is_some()));
        let columns: Vec<ArrayRef> =
            batches.iter().map(|batch| arrow_cast::cast(batch.column(0), &DataType::Int64).unwrap()).collect();
        let columns: Vec<&dyn Array> = columns.iter().map(AsRef::as_ref).collect();
        assert_eq!(&concat(&columns).unwrap(), &array(&DataType::Int64, &table.cells()));
    });
}
