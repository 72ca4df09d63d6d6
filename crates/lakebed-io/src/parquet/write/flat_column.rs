//! Writes flat columns of numbers and strings in a fast way. The rows of such a column are keys
//! into dictionaries, or gain nothing from a dictionary. Most columns of a table are of this kind.
//!
//! Keys of dictionaries become keys of the row group, so that a value is looked up once for each
//! dictionary that contains it, and not once for each row. Other values become a page as they are.
//! The output is the same as that of the encoder of all other columns. Read
//! [`FlatColumnWriter::write`] first. `values` has the values of rows and dictionaries, and
//! `packed_keys` packs keys into a page.

mod packed_keys;
mod values;

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, DictionaryArray, PrimitiveArray, make_array};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType as ArrowType;
use bytes::Bytes;
use lakebed_core::{Error, Result};
use parquet::basic::{Encoding, EncodingMask, PageType};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::compression::{Codec, CodecOptions, create_codec};
use parquet::encodings::levels::LevelEncoder;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ColumnIndexBuilder, LevelHistogram, OffsetIndexBuilder, PageEncodingStats};
use parquet::file::properties::{WriterPropertiesPtr, WriterVersion};
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use parquet::util::bit_util::num_required_bits;

use self::packed_keys::put_keys;
use self::values::{Dictionary, Extreme, FlatRows, Kind, Values, page_bounds, statistics, union};
use super::bounds::PageOrder;
use crate::at::At;

pub(super) use self::values::as_values;

/// The number of rows that are written before the size of the page is checked.
const ROWS_AT_ONCE: usize = 4096;
/// The approximate largest size of a page header.
const MOST_HEADER_BYTES: usize = 64;
/// A key that has not been looked up.
const UNKNOWN: u32 = u32::MAX;

/// A column that can be written as a flat column.
#[derive(Clone)]
pub(super) struct FlatColumn {
    kind: Kind,
    descriptor: ColumnDescPtr,
    properties: WriterPropertiesPtr,
}

/// A column of a row group that is being encoded.
pub(super) struct FlatColumnWriter {
    flat: FlatColumn,
    codec: Option<Box<dyn Codec>>,
    /// The keys, as long as rows are written as keys.
    keys: Option<Keys>,
    /// The dictionary page, once rows are no longer written as keys.
    dictionary: Option<Bytes>,
    page: OpenPage,
    pages: Vec<Bytes>,
    totals: Totals,
    page_index: PageIndexBuilder,
    /// The buffer in which pages are compressed.
    compressed: Vec<u8>,
}

/// The dictionary of the row group, and the part of it that the page uses.
struct Keys {
    dictionary: Dictionary,
    known: Option<KnownKeys>,
    of_page: Vec<u32>,
    /// For each key, whether the page contains it.
    has: Vec<bool>,
}

/// Keys of an input dictionary, mapped to keys of the row group as far as they are known.
struct KnownKeys {
    dictionary: ArrayRef,
    values: Values,
    keys: Vec<u32>,
    /// The number of known keys.
    count: usize,
}

/// Rows that are not encoded yet.
struct OpenPage {
    rows: usize,
    nulls: usize,
    levels: LevelEncoder,
    /// The values, if they are not keys.
    bytes: Vec<u8>,
    extremes: Option<(Extreme, Extreme)>,
}

/// The page index of the column, as far as its pages are written.
struct PageIndexBuilder {
    column_index: ColumnIndexBuilder,
    offset_index: OffsetIndexBuilder,
    order: PageOrder<Extreme>,
}

/// The facts that are known about the pages so far.
#[derive(Default)]
struct Totals {
    rows: u64,
    nulls: u64,
    extremes: Option<(Extreme, Extreme)>,
    text_bytes: usize,
    compressed_bytes: usize,
    uncompressed_bytes: usize,
    /// The number of data pages of each encoding.
    pages: BTreeMap<Encoding, i32>,
}

/// An encoded column of a row group.
pub(crate) struct FlatChunk {
    pages: Vec<Bytes>,
    close: ColumnCloseResult,
}

impl FlatColumn {
    /// Returns a column with values of this type, or `None` if it cannot be written as a flat
    /// column.
    pub(super) fn of(data_type: &ArrowType, descriptor: &ColumnDescPtr, properties: &WriterPropertiesPtr) -> Option<Self> {
        let path = descriptor.path();
        let is_flat = path.parts().len() == 1 && descriptor.max_rep_level() == 0 && descriptor.max_def_level() < 2;
        let is_usual =
            properties.writer_version() == WriterVersion::PARQUET_1_0 && properties.bloom_filter_properties(path).is_none();
        let kind = Kind::of(data_type, descriptor.physical_type()).filter(|_| is_flat && is_usual)?;
        Some(Self { kind, descriptor: Arc::clone(descriptor), properties: Arc::clone(properties) })
    }

    /// Begins the column, if rows that come like these are written as a flat column.
    pub(super) fn begin(&self, rows: &ArrayRef) -> Result<Option<FlatColumnWriter>> {
        let has_dictionary = self.properties.dictionary_enabled(self.descriptor.path());
        if has_dictionary && rows.as_dictionary_opt::<Int32Type>().is_none() {
            return Ok(None);
        }
        let codec = self.properties.compression(self.descriptor.path());
        let codec = create_codec(codec, &CodecOptions::default()).at("a codec")?;
        let levels = LevelEncoder::v1_streaming(self.descriptor.max_def_level());
        let dictionary = Dictionary::new(self.kind);
        let keys = Keys { dictionary, known: None, of_page: Vec::new(), has: Vec::new() };
        Ok(Some(FlatColumnWriter {
            flat: self.clone(),
            codec,
            keys: has_dictionary.then_some(keys),
            dictionary: None,
            page: OpenPage { rows: 0, nulls: 0, levels, bytes: Vec::new(), extremes: None },
            pages: Vec::new(),
            totals: Totals::default(),
            page_index: PageIndexBuilder {
                column_index: ColumnIndexBuilder::new(self.descriptor.physical_type()),
                offset_index: OffsetIndexBuilder::new(),
                order: PageOrder::new(),
            },
            compressed: Vec::new(),
        }))
    }

    fn is_nullable(&self) -> bool {
        self.descriptor.max_def_level() > 0
    }

    fn most_page_bytes(&self) -> usize {
        self.properties.column_data_page_size_limit(self.descriptor.path())
    }

    fn most_dictionary_bytes(&self) -> usize {
        self.properties.column_dictionary_page_size_limit(self.descriptor.path())
    }
}

impl FlatColumnWriter {
    /// Writes rows, which are values or keys into a dictionary of values.
    pub(super) fn write(&mut self, rows: &ArrayRef) -> Result<()> {
        if self.keys.is_none() {
            return self.write_values(rows);
        }
        if let Some(keys) = rows.as_dictionary_opt::<Int32Type>().filter(|keys| keys.values().null_count() == 0) {
            return self.write_keys(keys);
        }
        // All values may differ, so the dictionary takes a few at a time, as long as it takes any.
        let rows = as_values(rows)?;
        let (values, mut start) = (Values::of(&rows)?, 0);
        while start < rows.len() && self.keys.is_some() {
            let count = values.fitting(start..rows.len().min(start + ROWS_AT_ONCE), self.flat.most_dictionary_bytes());
            self.write_keys(&keys_of(&rows.slice(start, count))?)?;
            start += count;
        }
        self.write_values(&rows.slice(start, rows.len() - start))
    }

    /// Returns about how large the column would be if it ended now.
    pub(super) fn estimated_bytes(&self) -> usize {
        let keys = self
            .keys
            .as_ref()
            .map_or(0, |keys| keys.of_page.len() * usize::from(keys.bits()) / 8 + keys.dictionary.bytes().len());
        self.totals.compressed_bytes + self.page.bytes.len() + keys
    }

    /// Returns how much memory the column takes.
    pub(super) fn memory_bytes(&self) -> usize {
        let keys = self
            .keys
            .as_ref()
            .map_or(0, |keys| keys.dictionary.memory_bytes() + size_of::<u32>() * keys.of_page.capacity() + keys.has.capacity());
        self.totals.compressed_bytes + self.page.bytes.capacity() + self.compressed.capacity() + keys
    }

    pub(super) fn close(mut self) -> Result<FlatChunk> {
        self.end_page()?;
        self.end_keys()?;
        let Self { flat, dictionary, totals, page_index, .. } = self;
        let PageIndexBuilder { mut column_index, offset_index, order } = page_index;
        let FlatColumn { kind, descriptor, properties } = flat;
        let of_dictionary = dictionary.is_some().then(|| (PageType::DICTIONARY_PAGE, properties.dictionary_page_encoding(), 1));
        let of_data = totals.pages.iter().map(|(encoding, count)| (PageType::DATA_PAGE, *encoding, *count));
        let pages = of_dictionary.into_iter().chain(of_data);
        let pages = pages.map(|(page_type, encoding, count)| PageEncodingStats { page_type, encoding, count });
        let pages: Vec<PageEncodingStats> = pages.collect();
        let encodings: Vec<Encoding> = pages.iter().map(|pages| pages.encoding).chain([Encoding::RLE]).collect();
        let nulls = totals.nulls as i64;
        let histogram = (descriptor.max_def_level() > 0).then(|| vec![nulls, totals.rows as i64 - nulls]);
        let metadata = ColumnChunkMetaData::builder(Arc::clone(&descriptor))
            .set_compression(properties.compression(descriptor.path()))
            .set_encodings_mask(EncodingMask::new_from_encodings(encodings.iter()))
            .set_page_encoding_stats(pages)
            .set_total_compressed_size(totals.compressed_bytes as i64)
            .set_total_uncompressed_size(totals.uncompressed_bytes as i64)
            .set_num_values(totals.rows as i64)
            .set_data_page_offset(0)
            .set_statistics(statistics(kind, totals.extremes, totals.nulls, descriptor.sort_order().is_signed()))
            .set_unencoded_byte_array_data_bytes((kind == Kind::Text).then_some(totals.text_bytes as i64))
            .set_definition_level_histogram(histogram.map(LevelHistogram::from))
            .build()
            .at("a column")?;
        column_index.set_boundary_order(order.boundary_order());
        let close = ColumnCloseResult {
            bytes_written: totals.compressed_bytes as u64,
            rows_written: totals.rows,
            metadata,
            bloom_filter: None,
            column_index: Some(column_index.build().at("an index of pages")?),
            offset_index: Some(offset_index.build()),
        };
        // The positions of pages were counted as if there were no dictionary page before them.
        let close = close.update_dictionary_location(dictionary.as_ref().map_or(0, Bytes::len)).at("a column")?;
        Ok(FlatChunk { pages: dictionary.into_iter().chain(self.pages).collect(), close })
    }

    fn write_keys(&mut self, rows: &DictionaryArray<Int32Type>) -> Result<()> {
        let Some(keys) = &mut self.keys else { return Err(Error::internal("keys without a dictionary")) };
        keys.know(rows)?;
        let from: &[i32] = rows.keys().values();
        let mut start = 0;
        while start < from.len() {
            let count = self.room().min(from.len() - start);
            let nulls = self.put_levels(rows.nulls(), start, count)?;
            if let Some(keys) = &mut self.keys {
                keys.put(&from[start..start + count], nulls.as_ref())?;
            }
            start += count;
            if self.room() == 0 {
                self.end_page()?;
            }
        }
        // A dictionary that became too large takes no more values.
        let limit = self.flat.most_dictionary_bytes();
        if self.keys.as_ref().is_some_and(|keys| keys.dictionary.bytes().len() >= limit) {
            self.end_page()?;
            self.end_keys()?;
        }
        Ok(())
    }

    fn write_values(&mut self, rows: &ArrayRef) -> Result<()> {
        let (rows, mut start) = (FlatRows::of(rows)?, 0);
        while start < rows.len() {
            let most = self.room().min(ROWS_AT_ONCE).min(rows.len() - start);
            let count = rows.fitting(start..start + most, self.flat.most_page_bytes().saturating_sub(self.page.bytes.len()));
            let nulls = self.put_levels(rows.nulls(), start, count)?;
            let (kind, page) = (self.flat.kind, &mut self.page);
            let extremes = match nulls {
                Some(nulls) => rows.write(kind, nulls.valid_indices().map(|row| start + row), &mut page.bytes),
                None => rows.write(kind, start..start + count, &mut page.bytes),
            };
            page.extremes = union(page.extremes.take(), extremes);
            start += count;
            if self.room() == 0 || self.page.bytes.len() >= self.flat.most_page_bytes() {
                self.end_page()?;
            }
        }
        Ok(())
    }

    /// Returns how many rows the page may still take.
    fn room(&self) -> usize {
        self.flat.properties.data_page_row_count_limit().max(1).saturating_sub(self.page.rows)
    }

    /// Records which of the next rows are null. Returns their nulls if there are any.
    fn put_levels(&mut self, nulls: Option<&NullBuffer>, start: usize, count: usize) -> Result<Option<NullBuffer>> {
        let page = &mut self.page;
        page.rows += count;
        let nulls = nulls.map(|nulls| nulls.slice(start, count)).filter(|nulls| nulls.null_count() > 0);
        match &nulls {
            Some(_) if !self.flat.is_nullable() => {
                return Err(Error::internal(format!(
                    "column {} cannot be null, but the batch has nulls in it",
                    self.flat.descriptor.path()
                )));
            }
            Some(nulls) => {
                let levels: Vec<i16> = nulls.iter().map(i16::from).collect();
                page.levels.put_with_observer(&levels, |_, _| ());
                page.nulls += nulls.null_count();
            }
            None if self.flat.is_nullable() => page.levels.put_n_with_observer(1, count, |_, _| ()),
            None => {}
        }
        Ok(nulls)
    }

    fn end_page(&mut self) -> Result<()> {
        if self.page.rows == 0 {
            return Ok(());
        }
        let (bytes, encoding, text_bytes) = self.encode_page();
        self.index_page(text_bytes);
        let num_values = self.page.rows as u32;
        let page = |buf| Page::DataPage {
            buf,
            num_values,
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let (offset, written) = (self.totals.compressed_bytes, self.seal(&bytes, page)?);
        self.page_index.offset_index.append_offset_and_size(offset as i64, written.len() as i32);
        self.pages.push(written);
        *self.totals.pages.entry(encoding).or_default() += 1;
        (self.page.rows, self.page.nulls) = (0, 0);
        self.page.bytes = bytes;
        self.page.bytes.clear();
        Ok(())
    }

    /// Encodes the levels of the page and its keys or values. Also returns how many bytes its
    /// strings have.
    fn encode_page(&mut self) -> (Vec<u8>, Encoding, usize) {
        let Self { flat, keys, page, .. } = self;
        let mut bytes = std::mem::take(&mut page.bytes);
        let Some(keys) = keys else {
            let lengths = size_of::<u32>() * (page.rows - page.nulls);
            let text_bytes = bytes.len().saturating_sub(lengths);
            if flat.is_nullable() {
                page.levels.flush_to(|levels| drop(bytes.splice(..0, levels.iter().copied())));
            }
            return (bytes, Encoding::PLAIN, text_bytes);
        };
        if flat.is_nullable() {
            page.levels.flush_to(|levels| bytes.extend_from_slice(levels));
        }
        bytes.push(keys.bits());
        put_keys(&keys.of_page, keys.bits(), &mut bytes);
        let text_bytes = keys.dictionary.text_bytes(&keys.of_page);
        page.extremes = keys.dictionary.extremes(&keys.has);
        keys.of_page.clear();
        keys.has.fill(false);
        (bytes, flat.properties.dictionary_data_page_encoding(), text_bytes)
    }

    /// Records the content of the page.
    fn index_page(&mut self, text_bytes: usize) {
        let (page, totals, kind) = (&mut self.page, &mut self.totals, self.flat.kind);
        let nulls = page.nulls as i64;
        match page.extremes.take() {
            None => self.page_index.column_index.append(true, Vec::new(), Vec::new(), nulls),
            Some(extremes) => {
                let (below, above) = page_bounds(kind, &extremes);
                // Bounds of strings may be shortened, and may then be ordered in another way than
                // the strings.
                let known = match kind {
                    Kind::Text => (Extreme::Text(below.clone()), Extreme::Text(above.clone())),
                    _ => extremes.clone(),
                };
                self.page_index.order.push(known.0, known.1);
                self.page_index.column_index.append(false, below, above, nulls);
                totals.extremes = union(totals.extremes.take(), Some(extremes));
            }
        }
        let histogram = self.flat.is_nullable().then(|| vec![nulls, page.rows as i64 - nulls]);
        self.page_index.column_index.append_histograms(&None, &histogram.map(LevelHistogram::from));
        self.page_index.offset_index.append_row_count(page.rows as i64);
        self.page_index.offset_index.append_unencoded_byte_array_data_bytes((kind == Kind::Text).then_some(text_bytes as i64));
        totals.text_bytes += text_bytes;
        totals.rows += page.rows as u64;
        totals.nulls += page.nulls as u64;
    }

    /// Ends the dictionary. Later rows are written as values.
    fn end_keys(&mut self) -> Result<()> {
        let Some(Keys { dictionary, .. }) = self.keys.take() else { return Ok(()) };
        let (num_values, encoding) = (dictionary.len() as u32, self.flat.properties.dictionary_page_encoding());
        let page = |buf| Page::DictionaryPage { buf, num_values, encoding, is_sorted: false };
        self.dictionary = Some(self.seal(dictionary.bytes(), page)?);
        Ok(())
    }

    /// Compresses these bytes and returns them as a page with its header.
    fn seal(&mut self, bytes: &[u8], page: impl FnOnce(Bytes) -> Page) -> Result<Bytes> {
        let mut compressed = std::mem::take(&mut self.compressed);
        match &mut self.codec {
            None => compressed.extend_from_slice(bytes),
            Some(codec) => codec.compress(bytes, &mut compressed).at("a page")?,
        }
        let mut compressed = Bytes::from(compressed);
        let mut written = TrackedWrite::new(Vec::with_capacity(compressed.len() + MOST_HEADER_BYTES));
        let page = CompressedPage::new(page(compressed.clone()), bytes.len());
        let sizes = SerializedPageWriter::new(&mut written).write_page(page).at("a page")?;
        // No other owner of this memory is left, so it is used again.
        compressed.clear();
        self.compressed = compressed.into();
        self.totals.compressed_bytes += sizes.compressed_size;
        self.totals.uncompressed_bytes += sizes.uncompressed_size;
        Ok(written.into_inner().at("a page")?.into())
    }
}

impl Keys {
    /// Returns how many bits a key takes.
    fn bits(&self) -> u8 {
        num_required_bits(self.dictionary.len().saturating_sub(1) as u64)
    }

    /// Looks up the keys that rows have. Values of a dictionary that no row has are not written to
    /// the file.
    fn know(&mut self, rows: &DictionaryArray<Int32Type>) -> Result<()> {
        let from = rows.values();
        let known = match self.known.take().filter(|known| Arc::ptr_eq(&known.dictionary, from)) {
            Some(known) => self.known.insert(known),
            None => {
                let (values, keys) = (Values::of(from)?, vec![UNKNOWN; from.len()]);
                self.known.insert(KnownKeys { dictionary: Arc::clone(from), values, keys, count: 0 })
            }
        };
        if known.count == known.keys.len() {
            return Ok(());
        }
        let (mut is_used, keys) = (vec![false; from.len()], rows.keys().values());
        match rows.nulls().filter(|nulls| nulls.null_count() > 0) {
            None => keys.iter().for_each(|key| is_used[*key as usize] = true),
            Some(nulls) => nulls.valid_indices().for_each(|row| is_used[keys[row] as usize] = true),
        }
        let wanted = known.keys.iter_mut().zip(is_used).enumerate();
        for (index, (key, _)) in wanted.filter(|(_, (key, is_used))| *is_used && **key == UNKNOWN) {
            let found = self.dictionary.key(&known.values, index);
            *key = found.ok_or_else(|| Error::internal("the values have another type than the column"))?;
            known.count += 1;
        }
        self.has.resize(self.dictionary.len(), false);
        Ok(())
    }

    /// Adds rows to the page. Their keys are known.
    fn put(&mut self, keys: &[i32], nulls: Option<&NullBuffer>) -> Result<()> {
        let known = self.known.as_ref().ok_or_else(|| Error::internal("the keys do not belong to the dictionary"))?;
        let mut take = |key: i32| {
            let key = known.keys[key as usize];
            self.has[key as usize] = true;
            key
        };
        match nulls {
            None => self.of_page.extend(keys.iter().map(|key| take(*key))),
            Some(nulls) => self.of_page.extend(nulls.valid_indices().map(|row| take(keys[row]))),
        }
        Ok(())
    }
}

impl FlatChunk {
    /// Returns the metadata of the column.
    pub(crate) fn result(&self) -> &ColumnCloseResult {
        &self.close
    }

    /// Appends the column after the columns before it.
    pub(crate) fn append_to_row_group<W: io::Write + Send>(
        self,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> parquet::errors::Result<()> {
        group.append_column(&Pages(self.pages), self.close)
    }
}

/// The bytes of a column.
struct Pages(Vec<Bytes>);

impl Length for Pages {
    fn len(&self) -> u64 {
        self.0.iter().map(|page| page.len() as u64).sum()
    }
}

impl ChunkReader for Pages {
    type T = Unread;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Unread> {
        if start > 0 {
            return Err(ParquetError::General("a column is read from its beginning only".to_owned()));
        }
        Ok(Unread(self.0.iter().cloned().collect()))
    }

    fn get_bytes(&self, _: u64, _: usize) -> parquet::errors::Result<Bytes> {
        Err(ParquetError::General("a column is read from its beginning only".to_owned()))
    }
}

/// The bytes that have not been read yet.
struct Unread(VecDeque<Bytes>);

impl Read for Unread {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.0.front().is_some_and(Bytes::is_empty) {
            self.0.pop_front();
        }
        let Some(page) = self.0.front_mut() else { return Ok(0) };
        let count = page.len().min(into.len());
        into[..count].copy_from_slice(&page.split_to(count));
        Ok(count)
    }
}

/// Returns values as keys, where each row has its own key. The value of a null row is never looked
/// up.
fn keys_of(rows: &ArrayRef) -> Result<DictionaryArray<Int32Type>> {
    let keys = PrimitiveArray::new((0..rows.len() as i32).collect(), rows.logical_nulls());
    Ok(DictionaryArray::try_new(keys, make_array(rows.to_data().into_builder().nulls(None).build()?))?)
}
