//! Parquet files of a table: their metadata, their columns as Arrow batches, and new files out of batches ([`write`]).
//!
//! What the columns mean (names, types, deleted rows) is decided above, in `lakebed::scan`. Read [`ParquetFile::open`] first, then
//! [`Decoding`], which turns some row groups of one file into batches; [`order`] runs many of those side by side and keeps their order.

mod cache;
mod complete;
mod footer;
mod int96;
pub mod order;
mod read;
pub(crate) mod sending;
mod slices;
mod source;
#[cfg(test)]
mod tests;
pub mod write;

use std::sync::Arc;

use object_store::path::Path;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::arrow::parquet_to_arrow_schema;
use parquet::file::metadata::ParquetMetaData;

use arrow_schema::SchemaRef;
use lakebed_core::Result;

use crate::at::At;
use crate::store::Store;

use footer::Wanted;
pub use read::{Cores, Decoding, FilterSource, ReadOptions};
use source::Source;

/// In a page of plain texts, the length before each.
const LENGTH_BYTES: usize = size_of::<u32>();

/// Whether the index of pages is read with the metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PageIndex {
    /// It is left out: enough for reading whole row groups.
    #[default]
    Skip,
    /// It is read if the file has one: needed for skipping pages.
    Read,
}

/// An open Parquet file: its metadata, and where its bytes are. Cheap to clone.
#[derive(Clone)]
pub struct ParquetFile {
    source: Source,
    metadata: Arc<ParquetMetaData>,
}

impl ParquetFile {
    /// Reads the metadata of an object, of which the log may have told the `size`; with the size, mostly in one request.
    ///
    /// The metadata of files read lately is kept in memory. What is not Parquet, or damaged, is an error that names the object.
    pub async fn open(store: &Store, path: &Path, size: Option<u64>, page_index: PageIndex) -> Result<Self> {
        footer::open(store, path, size, Wanted { page_index, is_replaceable: false }).await
    }

    /// The same of an object that others may replace. All that is read of it is of the object that was there when it was opened, or it is
    /// an error that [says so](lakebed_core::Error::is_replaced).
    pub async fn open_replaceable(store: &Store, path: &Path, size: Option<u64>, page_index: PageIndex) -> Result<Self> {
        footer::open(store, path, size, Wanted { page_index, is_replaceable: true }).await
    }

    /// Row groups, columns, statistics.
    pub fn metadata(&self) -> &Arc<ParquetMetaData> {
        &self.metadata
    }

    /// How many rows the file has, deleted ones included.
    pub fn num_rows(&self) -> u64 {
        u64::try_from(self.metadata.file_metadata().num_rows()).unwrap_or(0)
    }

    /// The text that the writer left under this key.
    pub fn key_value(&self, key: &str) -> Option<&str> {
        let pairs = self.metadata.file_metadata().key_value_metadata()?;
        pairs.iter().find(|pair| pair.key == key)?.value.as_deref()
    }

    /// The schema in Arrow's terms, taken from the Parquet schema alone: whatever Arrow types a writer noted beside it are left out,
    /// since the log says what the types are. INT96 stands for microseconds.
    pub fn arrow_schema(&self) -> Result<SchemaRef> {
        let descriptor = self.metadata.file_metadata().schema_descr();
        let schema = parquet_to_arrow_schema(descriptor, None).map(Arc::new).at(self.name())?;
        Ok(int96::as_micros(&schema, descriptor).unwrap_or(schema))
    }

    /// Metadata for decoding, with columns read as the types of `schema`, which has the shape of [`Self::arrow_schema`]; by default as
    /// those of that itself.
    pub fn reader_metadata(&self, schema: Option<SchemaRef>, options: ArrowReaderOptions) -> Result<ArrowReaderMetadata> {
        let schema = match schema {
            None if int96::is_in(self.metadata.file_metadata().schema_descr()) => Some(self.arrow_schema()?),
            given => given,
        };
        let options = match schema {
            Some(schema) => options.with_schema(schema),
            None => options.with_skip_arrow_metadata(true),
        };
        ArrowReaderMetadata::try_new(Arc::clone(&self.metadata), options).at(self.name())
    }

    /// The object, for messages.
    pub fn name(&self) -> &str {
        self.source.name()
    }

    /// Whether reading it needs no network.
    pub fn is_local(&self) -> bool {
        self.source.is_local()
    }

    /// The row groups in which this top-level column is not null everywhere, as far as the statistics tell.
    pub fn row_groups_with(&self, column: &str) -> Vec<usize> {
        let groups = self.metadata.row_groups().iter().enumerate();
        groups.filter(|(_, group)| !footer::is_all_null(group, column)).map(|(index, _)| index).collect()
    }
}

impl std::fmt::Debug for ParquetFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParquetFile").field("name", &self.name()).field("num_rows", &self.num_rows()).finish_non_exhaustive()
    }
}
