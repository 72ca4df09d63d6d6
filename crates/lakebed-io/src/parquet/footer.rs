//! Reads the metadata at the end of a file with as few requests as possible.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use object_store::path::Path;
use parquet::DecodeResult;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataPushDecoder, RowGroupMetaData};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::page_index::offset_index::OffsetIndexMetaData;

use lakebed_core::{Error, Result};

use super::file::ParquetFile;
use super::file_bytes::{FileBytes, open_local};
use super::page_index::PageIndex;
use crate::at::At;
use crate::cache::{self, CachedFooter, FileKey};
use crate::store::{ObjectVersion, Store};

/// The number of bytes that are first read from the end of a remote object. They include most
/// footers, and small files as a whole.
const TAIL_BYTES: u64 = 64 * 1024;

/// The length of the metadata and the magic number.
const FOOTER_BYTES: u64 = 8;

/// The way in which a file is opened.
#[derive(Debug, Clone, Copy)]
struct FooterRequest {
    page_index: PageIndex,
    /// Whether others may replace the file.
    is_replaceable: bool,
}

impl FooterRequest {
    fn is_met_by(self, known: &CachedFooter) -> bool {
        self.page_index == PageIndex::Skip || known.has_page_index
    }

    /// Returns the cache entry of a footer that was read.
    fn footer(self, metadata: &Arc<ParquetMetaData>, version: Option<ObjectVersion>) -> CachedFooter {
        CachedFooter { metadata: Arc::clone(metadata), has_page_index: self.page_index == PageIndex::Read, version }
    }
}

impl ParquetFile {
    /// Reads the metadata of an object. If the log has the `size`, one request is mostly enough.
    ///
    /// The metadata of recently read files is cached. If a file is damaged, or is not Parquet, the
    /// error names the object.
    pub async fn open(store: &Store, path: &Path, size: Option<u64>, page_index: PageIndex) -> Result<Self> {
        open(store, path, size, FooterRequest { page_index, is_replaceable: false }).await
    }

    /// Opens an object that others may replace. All reads return bytes of the object that existed
    /// when it was opened, or an error for which [`is_replaced`](lakebed_core::Error::is_replaced)
    /// is true.
    pub async fn open_replaceable(store: &Store, path: &Path, size: Option<u64>, page_index: PageIndex) -> Result<Self> {
        open(store, path, size, FooterRequest { page_index, is_replaceable: true }).await
    }
}

async fn open(store: &Store, path: &Path, size: Option<u64>, wanted: FooterRequest) -> Result<ParquetFile> {
    match store.local_path(path) {
        Some(local) => {
            let (here, name) = (store.clone(), store.describe(path));
            let task = tokio::task::spawn_blocking(move || open_file(&here, &local, &name, wanted));
            task.await.at(store.describe(path))?
        }
        None => open_object(store, path, size, wanted).await,
    }
}

/// Opens a local file. An open file keeps its content, even if another file takes its name.
fn open_file(store: &Store, local: &std::path::Path, name: &str, wanted: FooterRequest) -> Result<ParquetFile> {
    let (source, file) = open_local(store, local, name)?;
    let key = FileKey::local(local, &file);
    let known = match key.as_ref().and_then(cache::find_footer) {
        Some(known) if wanted.is_met_by(&known) => return Ok(ParquetFile { source, metadata: known.metadata }),
        known => known,
    };
    let mut parts = FooterDecoder::new(&source, known, wanted.page_index)?;
    let metadata = loop {
        match parts.next()? {
            Progress::Done(metadata) => break metadata,
            Progress::Wants(ranges) => {
                let bytes = source.read_local(&ranges)?;
                parts.give(ranges, bytes)?;
            }
        }
    };
    if let Some(key) = key {
        cache::insert_footer(key, store, wanted.footer(&metadata, None));
    }
    Ok(ParquetFile { source, metadata })
}

async fn open_object(store: &Store, path: &Path, size: Option<u64>, wanted: FooterRequest) -> Result<ParquetFile> {
    let known_size = match size {
        Some(size) => size,
        None => store.head(path).await?.size,
    };
    match load_object(store, path, known_size, wanted).await {
        // The size in the log may be wrong.
        Err(error) if size.is_some() && error.is_corrupt() => {
            let true_size = store.head(path).await?.size;
            if true_size == known_size { Err(error) } else { load_object(store, path, true_size, wanted).await }
        }
        other => other,
    }
}

async fn load_object(store: &Store, path: &Path, size: u64, wanted: FooterRequest) -> Result<ParquetFile> {
    let key = FileKey::remote(store, path, size);
    let name = store.describe(path).into();
    // If the object can be replaced, a cached footer is valid only if its version is known.
    let known = cache::find_footer(&key).filter(|known| !wanted.is_replaceable || known.version.is_some());
    let version = known.as_ref().and_then(|known| known.version.clone());
    let seen = wanted.is_replaceable.then(|| Arc::new(version.map_or_else(OnceLock::new, OnceLock::from)));
    let mut source = FileBytes::Remote { store: store.clone(), path: path.clone(), name, size, whole: None, seen: seen.clone() };
    let known = match known {
        Some(known) if wanted.is_met_by(&known) => return Ok(ParquetFile { source, metadata: known.metadata }),
        known => known,
    };
    let is_new = known.is_none();
    let mut parts = FooterDecoder::new(&source, known, wanted.page_index)?;
    if is_new {
        let tail = size.saturating_sub(TAIL_BYTES)..size;
        let bytes = source.read(vec![tail.clone()]).await?;
        if let (0, Some(bytes), FileBytes::Remote { whole, .. }) = (tail.start, bytes.first(), &mut source) {
            *whole = Some(bytes.clone());
        }
        parts.give(vec![tail], bytes)?;
    }
    let metadata = loop {
        match parts.next()? {
            Progress::Done(metadata) => break metadata,
            Progress::Wants(ranges) => {
                let bytes = source.read(ranges.clone()).await?;
                parts.give(ranges, bytes)?;
            }
        }
    };
    let version = seen.and_then(|seen| seen.get().cloned());
    cache::insert_footer(key, store, wanted.footer(&metadata, version));
    Ok(ParquetFile { source, metadata })
}

/// The decoder of the metadata. It returns the ranges that it needs and is then given their bytes.
struct FooterDecoder {
    decoder: ParquetMetaDataPushDecoder,
    name: String,
    size: u64,
}

enum Progress {
    Wants(Vec<Range<u64>>),
    Done(Arc<ParquetMetaData>),
}

impl FooterDecoder {
    fn new(source: &FileBytes, known: Option<CachedFooter>, page_index: PageIndex) -> Result<Self> {
        let (name, size) = (source.name().to_owned(), source.size());
        let decoder = match known {
            Some(known) => ParquetMetaDataPushDecoder::try_new_with_metadata(size, (*known.metadata).clone()),
            None => ParquetMetaDataPushDecoder::try_new(size),
        };
        let policy = match page_index {
            PageIndex::Skip => PageIndexPolicy::Skip,
            PageIndex::Read => PageIndexPolicy::Optional,
        };
        Ok(Self { decoder: decoder.at(&name)?.with_page_index_policy(policy), name, size })
    }

    fn give(&mut self, ranges: Vec<Range<u64>>, bytes: Vec<Bytes>) -> Result<()> {
        for (range, bytes) in ranges.iter().zip(&bytes) {
            self.check_length(range, bytes)?;
        }
        self.decoder.push_ranges(ranges, bytes).at(&self.name)
    }

    fn next(&mut self) -> Result<Progress> {
        match self.decoder.try_decode().at(&self.name)? {
            DecodeResult::Data(metadata) => {
                check_metadata(&metadata, self.size).map_err(|said| Error::corrupt(&self.name, said))?;
                Ok(Progress::Done(Arc::new(with_sound_index(metadata, self.size))))
            }
            DecodeResult::NeedsData(ranges) => Ok(Progress::Wants(ranges)),
            DecodeResult::Finished => Err(Error::internal(format!("{}: its metadata was decoded twice", self.name))),
        }
    }

    /// Checks the length of the metadata. The decoder subtracts it from the size without a check.
    fn check_length(&self, range: &Range<u64>, bytes: &Bytes) -> Result<()> {
        let Some(footer) = (range.end == self.size).then(|| bytes.last_chunk::<{ FOOTER_BYTES as usize }>()).flatten() else {
            return Ok(());
        };
        let [length @ .., b'P', b'A', b'R', b'1' | b'E'] = footer else { return Ok(()) };
        let length = u64::from(u32::from_le_bytes(*length));
        if length.saturating_add(FOOTER_BYTES) > self.size {
            return Err(Error::corrupt(
                &self.name,
                format!("its metadata has {length} bytes according to the footer, but the whole file has {}", self.size),
            ));
        }
        Ok(())
    }
}

/// Checks the facts on which decoding relies.
fn check_metadata(metadata: &ParquetMetaData, size: u64) -> std::result::Result<(), String> {
    let columns = metadata.file_metadata().schema_descr().num_columns();
    let mut rows = 0_i64;
    for (index, group) in metadata.row_groups().iter().enumerate() {
        if group.num_columns() != columns {
            return Err(format!("row group {index} has {} columns, but the schema has {columns}", group.num_columns()));
        }
        if group.num_rows() < 0 {
            return Err(format!("row group {index} has {} rows", group.num_rows()));
        }
        rows = rows.checked_add(group.num_rows()).ok_or("the sum of the rows of its row groups is too large")?;
        for column in group.columns() {
            let start = column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset());
            let end = start.checked_add(column.compressed_size());
            let fits = start >= 0
                && column.compressed_size() >= 0
                && end.and_then(|end| u64::try_from(end).ok()).is_some_and(|end| end <= size);
            if !fits {
                return Err(format!("column {} of row group {index} lies outside the file", column.column_path()));
            }
        }
    }
    if rows != metadata.file_metadata().num_rows() {
        return Err(format!(
            "its footer says that it has {} rows, but its row groups have {rows}",
            metadata.file_metadata().num_rows()
        ));
    }
    Ok(())
}

/// Returns the metadata, without its page index if that index contradicts itself. Reading works
/// without an index, but not with a wrong one.
fn with_sound_index(metadata: ParquetMetaData, size: u64) -> ParquetMetaData {
    let Some(offsets) = metadata.offset_index() else { return metadata };
    let of_group = |(group, columns): (&RowGroupMetaData, &Vec<OffsetIndexMetaData>)| {
        columns.len() == group.num_columns() && columns.iter().all(|pages| is_sound(pages, group.num_rows(), size))
    };
    let mut sound = offsets.len() == metadata.num_row_groups() && metadata.row_groups().iter().zip(offsets).all(of_group);
    if let Some(columns) = metadata.column_index() {
        sound = sound
            && columns.len() == offsets.len()
            && columns.iter().zip(offsets).all(|(columns, offsets)| {
                columns.len() == offsets.len()
                    && columns.iter().zip(offsets).all(|(column, offsets)| counts_agree(column, offsets))
            });
    }
    if sound { metadata } else { metadata.into_builder().set_column_index(None).set_offset_index(None).build() }
}

fn is_sound(pages: &OffsetIndexMetaData, rows: i64, size: u64) -> bool {
    let mut next_row = 0;
    for (index, page) in pages.page_locations().iter().enumerate() {
        let end = page.offset.checked_add(i64::from(page.compressed_page_size)).and_then(|end| u64::try_from(end).ok());
        let in_file = page.offset >= 0 && page.compressed_page_size >= 0 && end.is_some_and(|end| end <= size);
        let in_order = if index == 0 { page.first_row_index == 0 } else { page.first_row_index > next_row };
        if !in_file || !in_order || page.first_row_index > rows {
            return false;
        }
        next_row = page.first_row_index;
    }
    true
}

fn counts_agree(column: &ColumnIndexMetaData, offsets: &OffsetIndexMetaData) -> bool {
    matches!(column, ColumnIndexMetaData::NONE) || column.num_pages() == offsets.page_locations().len() as u64
}
