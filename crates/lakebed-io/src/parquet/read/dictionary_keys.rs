//! Reads columns as keys into the dictionary of their row group. This is possible if all pages of a
//! column are stored as keys. A value is then decoded once, independent of the number of its rows.
//!
//! Read [`KeyReader::open`] first.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::{BooleanBufferBuilder, StringViewBuilder};
use arrow_array::types::{Date32Type, Decimal64Type, Int8Type, Int16Type, Int32Type, TimestampMicrosecondType};
use arrow_array::{ArrayRef, DictionaryArray, Int32Array, Int64Array, RecordBatch, RecordBatchOptions};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_schema::{DataType as ArrowType, FieldRef, Schema, TimeUnit};
use bytes::Bytes;
use bytes::buf::{Buf, Reader};
use lakebed_core::{Error, Result};
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use parquet::basic::{Encoding, Type as PhysicalType};
use parquet::column::page::{Page, PageReader};
use parquet::encodings::rle::RleDecoder;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::schema::types::ColumnDescriptor;

use super::options::ReadOptions;
use crate::at::At;
use crate::parquet::LENGTH_BYTES;

/// The columns of a row group that are to be read as keys, among columns that are not.
pub(super) struct KeyColumns {
    group: usize,
    /// For each column of a batch, the leaf of the column if it is to be read as keys.
    columns: Vec<Option<usize>>,
    /// For each column of a batch, its field in the file.
    fields: Vec<FieldRef>,
}

/// The columns of a row group that are read as keys.
pub(super) struct KeyReader {
    /// For each column of a batch, the column chunk if it is read as keys.
    columns: Vec<Option<KeyChunk>>,
    /// For each column of a batch, its field in the file.
    fields: Vec<FieldRef>,
}

/// The unread rest of a column that is read as keys.
struct KeyChunk {
    name: String,
    values: ArrayRef,
    pages: VecDeque<KeyPage>,
}

/// The unread rows of a page.
struct KeyPage {
    rows: usize,
    /// The levels of a column that may be null. A level is 1 for a row that is not null.
    levels: Option<RleDecoder>,
    keys: RleDecoder,
}

impl KeyColumns {
    /// Returns the columns that `options` allow and that are stored as keys according to the file's
    /// metadata. It returns `None` if there are no such columns.
    pub(super) fn of(metadata: &ArrowReaderMetadata, options: &ReadOptions) -> Option<Self> {
        let is_whole = options.selection.is_none() && options.filter.is_none() && options.limit.is_none();
        let group = match options.row_groups.as_deref() {
            Some([group]) if is_whole && !options.dictionary_leaves.is_empty() => *group,
            _ => return None,
        };
        let chunks = metadata.metadata().row_groups().get(group)?.columns();
        let descriptor = metadata.parquet_schema();
        let (mut columns, mut fields, mut last_root) = (Vec::new(), Vec::new(), None);
        for (leaf, chunk) in chunks.iter().enumerate() {
            let root = descriptor.get_column_root_idx(leaf);
            let is_read = options.projection.as_ref().is_none_or(|mask| mask.leaf_included(leaf));
            if !is_read || last_root.replace(root) == Some(root) {
                continue;
            }
            let field = metadata.schema().fields().get(root)?;
            let is_keyed = options.dictionary_leaves.contains(&leaf) && may_be_keyed(chunk, field.data_type());
            columns.push(is_keyed.then_some(leaf));
            fields.push(Arc::clone(field));
        }
        let any = columns.iter().any(Option::is_some);
        any.then_some(Self { group, columns, fields })
    }

    /// Returns the leaves of the columns that are read as keys.
    pub(super) fn leaves(&self) -> impl Iterator<Item = usize> {
        self.columns.iter().copied().flatten()
    }

    /// Returns whether all columns are read as keys.
    pub(super) fn are_all(&self) -> bool {
        self.columns.iter().all(Option::is_some)
    }

    /// Returns the byte ranges of the columns that are read as keys.
    pub(super) fn ranges(&self, metadata: &ParquetMetaData) -> Vec<Range<u64>> {
        let range = |leaf: usize| {
            let (start, length) = metadata.row_group(self.group).column(leaf).byte_range();
            start..start + length
        };
        self.leaves().map(range).collect()
    }
}

impl KeyReader {
    /// Opens the columns, given the bytes of their leaves. Returns `None` if one of them is
    /// unusual, for example if some of its pages hold no keys.
    pub(super) fn open(wanted: KeyColumns, bytes: Vec<Bytes>, metadata: &ParquetMetaData) -> Result<Option<Self>> {
        let group = metadata.row_group(wanted.group);
        let mut bytes = bytes.into_iter();
        let mut columns = Vec::with_capacity(wanted.columns.len());
        for (leaf, field) in wanted.columns.iter().zip(&wanted.fields) {
            let Some(leaf) = *leaf else {
                columns.push(None);
                continue;
            };
            match KeyChunk::open(bytes.next().unwrap_or_default(), group, leaf, field.data_type())? {
                Some(chunk) => columns.push(Some(chunk)),
                None => return Ok(None),
            }
        }
        Ok(Some(Self { columns, fields: wanted.fields }))
    }

    /// Returns the next rows with all columns. `others` has the columns that are not read as keys.
    pub(super) fn join(&mut self, others: &RecordBatch) -> Result<RecordBatch> {
        let (mut others_left, rows) = (others.columns().iter(), others.num_rows());
        let mut columns = Vec::with_capacity(self.columns.len());
        for column in &mut self.columns {
            let column = match column {
                Some(chunk) => Some(chunk.next(rows)?),
                None => others_left.next().cloned(),
            };
            columns.push(column.ok_or_else(|| Error::internal("a column was not decoded"))?);
        }
        // Columns are keys, or structs of which only some fields were read.
        let fields = self.fields.iter().zip(&columns);
        let fields = fields.map(|(field, column)| field.as_ref().clone().with_data_type(column.data_type().clone()));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(schema, columns, &options)?)
    }
}

/// Returns whether a column of a file can be read as keys into values of this type, according to
/// its metadata.
fn may_be_keyed(chunk: &ColumnChunkMetaData, data_type: &ArrowType) -> bool {
    let column = chunk.column_descr();
    let is_flat = column.path().parts().len() == 1 && column.max_rep_level() == 0 && column.max_def_level() < 2;
    let is_keys = |encoding| chunk.page_encoding_stats_mask().is_some_and(|mask| mask.is_only(encoding));
    is_flat
        && (is_keys(Encoding::RLE_DICTIONARY) || is_keys(Encoding::PLAIN_DICTIONARY))
        && dictionary(column, &Bytes::new(), 0, data_type).is_some()
}

impl KeyChunk {
    /// Opens a column chunk. Returns `None` if it is unusual.
    fn open(bytes: Bytes, group: &RowGroupMetaData, leaf: usize, data_type: &ArrowType) -> Result<Option<Self>> {
        let chunk = group.column(leaf);
        let column = chunk.column_descr();
        let name = column.path().string();
        let rows = usize::try_from(group.num_rows()).unwrap_or(0);
        let stored = Arc::new(ColumnBytes { start: chunk.byte_range().0, bytes });
        let mut reader = SerializedPageReader::new(stored, chunk, rows, None).at(&name)?;
        let (mut values, mut pages, mut left) = (None, VecDeque::new(), rows);
        while let Some(page) = reader.get_next_page().at(&name)? {
            match page {
                Page::DictionaryPage { buf, num_values, encoding: Encoding::PLAIN | Encoding::PLAIN_DICTIONARY, .. } => {
                    values = dictionary(column, &buf, num_values as usize, data_type);
                }
                page => {
                    let Some(page) = KeyPage::open(page, column.max_def_level() > 0) else { return Ok(None) };
                    let Some(rest) = left.checked_sub(page.rows) else { return Ok(None) };
                    left = rest;
                    pages.push_back(page);
                }
            }
        }
        let Some(values) = values.filter(|_| left == 0) else { return Ok(None) };
        Ok(Some(Self { name, values, pages }))
    }

    /// Returns the next rows. There must be this many.
    fn next(&mut self, rows: usize) -> Result<ArrayRef> {
        let mut keys = vec![0_i32; rows];
        let (mut done, mut valid) = (0, BooleanBufferBuilder::new(0));
        while done < rows {
            let few = || Error::corrupt(&self.name, "a column has fewer rows than its row group");
            let page = self.pages.front_mut().ok_or_else(few)?;
            let count = page.rows.min(rows - done);
            page.read(&mut keys[done..done + count], &mut valid, done).at(&self.name)?;
            done += count;
            if page.rows == 0 {
                self.pages.pop_front();
            }
        }
        let nulls = (!valid.is_empty()).then(|| {
            valid.append_n(rows - valid.len(), true);
            NullBuffer::new(valid.finish())
        });
        let keys = Int32Array::new(keys.into(), nulls);
        match DictionaryArray::<Int32Type>::try_new(keys, Arc::clone(&self.values)) {
            Ok(keyed) => Ok(Arc::new(keyed)),
            Err(error) => Err(Error::corrupt(&self.name, "a column has keys that are not in its dictionary").with_source(error)),
        }
    }
}

impl KeyPage {
    /// Opens a page. Returns `None` for pages of other kinds.
    fn open(page: Page, is_nullable: bool) -> Option<Self> {
        let (rows, levels, keys) = match page {
            Page::DataPage {
                buf,
                num_values,
                encoding: Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY,
                def_level_encoding,
                ..
            } => {
                if !is_nullable {
                    (num_values, None, buf)
                } else if def_level_encoding == Encoding::RLE {
                    let length = u32::from_le_bytes(*buf.first_chunk()?) as usize;
                    let end = length.checked_add(size_of::<u32>()).filter(|end| *end <= buf.len())?;
                    (num_values, Some(buf.slice(size_of::<u32>()..end)), buf.slice(end..))
                } else {
                    return None;
                }
            }
            Page::DataPageV2 {
                buf,
                num_values,
                encoding: Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY,
                def_levels_byte_len,
                rep_levels_byte_len: 0,
                ..
            } => {
                let end = Some(def_levels_byte_len as usize).filter(|end| *end <= buf.len())?;
                (num_values, is_nullable.then(|| buf.slice(..end)), buf.slice(end..))
            }
            _ => return None,
        };
        // If all rows are null, there may be no bytes.
        let bits = keys.first().copied().unwrap_or(0);
        if bits > 32 {
            return None;
        }
        let decoder = |bits: u8, data: Bytes| {
            let mut decoder = RleDecoder::new(bits);
            decoder.set_data(data).ok()?;
            Some(decoder)
        };
        let levels = match levels {
            Some(levels) => Some(decoder(1, levels)?),
            None => None,
        };
        Some(Self { rows: rows as usize, levels, keys: decoder(bits, keys.slice(1.min(keys.len())..))? })
    }

    /// Reads the next rows. The number of rows before them is `before`. `valid` is empty until a
    /// row is null.
    fn read(&mut self, into: &mut [i32], valid: &mut BooleanBufferBuilder, before: usize) -> parquet::errors::Result<()> {
        self.rows -= into.len();
        let Some(decoder) = &mut self.levels else {
            if !valid.is_empty() {
                valid.append_n(into.len(), true);
            }
            return fill(&mut self.keys, into);
        };
        let mut levels = vec![0_u8; into.len()];
        fill(decoder, &mut levels)?;
        let mut left = levels.iter().filter(|level| **level == 1).count();
        fill(&mut self.keys, &mut into[..left])?;
        if left == into.len() && valid.is_empty() {
            return Ok(());
        }
        valid.append_n(before - valid.len(), true);
        levels.iter().for_each(|level| valid.append(*level == 1));
        // The keys are at the beginning. Each key moves to its row, beginning with the last one.
        for (row, level) in levels.iter().enumerate().rev() {
            into[row] = if *level == 1 {
                left -= 1;
                into[left]
            } else {
                0
            };
        }
        Ok(())
    }
}

/// Decodes exactly as many values as fit into `into`.
fn fill<T: parquet::util::bit_util::FromBitpacked + Clone>(
    decoder: &mut RleDecoder,
    into: &mut [T],
) -> parquet::errors::Result<()> {
    match decoder.get_batch(into)? == into.len() {
        true => Ok(()),
        false => Err(ParquetError::EOF("a page has fewer values than its header says".to_owned())),
    }
}

/// Returns the values of a dictionary, or `None` if they are not of this type, or if there are
/// fewer.
fn dictionary(column: &ColumnDescriptor, bytes: &Bytes, count: usize, data_type: &ArrowType) -> Option<ArrayRef> {
    match (column.physical_type(), data_type) {
        (PhysicalType::INT32, data_type) => {
            let (numbers, _) = bytes.as_chunks::<4>();
            let numbers = numbers.get(..count)?.iter().map(|number| i32::from_le_bytes(*number));
            let numbers = Int32Array::from_iter_values(numbers);
            Some(match data_type {
                ArrowType::Int32 => Arc::new(numbers),
                ArrowType::Int16 => Arc::new(numbers.unary::<_, Int16Type>(|number| number as i16)),
                ArrowType::Int8 => Arc::new(numbers.unary::<_, Int8Type>(|number| number as i8)),
                ArrowType::Date32 => Arc::new(numbers.reinterpret_cast::<Date32Type>()),
                ArrowType::Decimal64(precision, scale) => {
                    let decimals = numbers.unary::<_, Decimal64Type>(i64::from);
                    Arc::new(decimals.with_precision_and_scale(*precision, *scale).ok()?)
                }
                _ => return None,
            })
        }
        (PhysicalType::INT64, data_type) => {
            let (numbers, _) = bytes.as_chunks::<8>();
            let numbers = numbers.get(..count)?.iter().map(|number| i64::from_le_bytes(*number));
            let numbers = Int64Array::from_iter_values(numbers);
            Some(match data_type {
                ArrowType::Int64 => Arc::new(numbers),
                ArrowType::Timestamp(TimeUnit::Microsecond, zone) => {
                    Arc::new(numbers.reinterpret_cast::<TimestampMicrosecondType>().with_timezone_opt(zone.clone()))
                }
                ArrowType::Decimal64(precision, scale) => {
                    let decimals = numbers.reinterpret_cast::<Decimal64Type>();
                    Arc::new(decimals.with_precision_and_scale(*precision, *scale).ok()?)
                }
                _ => return None,
            })
        }
        (PhysicalType::BYTE_ARRAY, ArrowType::Utf8View) => {
            let mut texts = StringViewBuilder::with_capacity(count.min(bytes.len() / LENGTH_BYTES));
            // The strings are not copied. In the page, each has its length before it.
            let size = u32::try_from(bytes.len()).ok().filter(|size| *size < u32::MAX)?;
            let (page, mut start) = (texts.append_block(Buffer::from(bytes.clone())), 0);
            for _ in 0..count {
                let length = u32::from_le_bytes(*bytes.get(start as usize..)?.first_chunk()?);
                start += LENGTH_BYTES as u32;
                let end = start.checked_add(length).filter(|end| *end <= size)?;
                texts.try_append_view(page, start, length).ok()?;
                start = end;
            }
            Some(Arc::new(texts.finish()))
        }
        _ => None,
    }
}

/// The bytes of a column chunk.
struct ColumnBytes {
    /// The position of the bytes in the file.
    start: u64,
    bytes: Bytes,
}

impl ColumnBytes {
    fn from(&self, start: u64) -> parquet::errors::Result<Bytes> {
        let start = start.checked_sub(self.start).and_then(|start| usize::try_from(start).ok());
        let bytes = start.filter(|start| *start <= self.bytes.len()).map(|start| self.bytes.slice(start..));
        bytes.ok_or_else(|| ParquetError::EOF("a page lies outside its column chunk".to_owned()))
    }
}

impl Length for ColumnBytes {
    fn len(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

impl ChunkReader for ColumnBytes {
    type T = Reader<Bytes>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        Ok(self.from(start)?.reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        let bytes = self.from(start)?;
        if length > bytes.len() {
            return Err(ParquetError::EOF("a page lies outside its column chunk".to_owned()));
        }
        Ok(bytes.slice(..length))
    }
}
