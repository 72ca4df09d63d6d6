//! An open Parquet file: its metadata and the source of its bytes.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::arrow::parquet_to_arrow_schema;
use parquet::file::metadata::ParquetMetaData;

use lakebed_core::Result;

use super::file_bytes::FileBytes;
use super::int96;
use crate::at::At;

/// An open Parquet file: its metadata and the source of its bytes. Clones are cheap.
#[derive(Clone)]
pub struct ParquetFile {
    pub(super) source: FileBytes,
    pub(super) metadata: Arc<ParquetMetaData>,
}

impl ParquetFile {
    /// Returns the metadata: row groups, columns and statistics.
    pub fn metadata(&self) -> &Arc<ParquetMetaData> {
        &self.metadata
    }

    /// Returns the number of rows in the file, deleted rows included.
    pub fn num_rows(&self) -> u64 {
        u64::try_from(self.metadata.file_metadata().num_rows()).unwrap_or(0)
    }

    /// Returns the value of this key in the footer.
    pub fn key_value(&self, key: &str) -> Option<&str> {
        let pairs = self.metadata.file_metadata().key_value_metadata()?;
        pairs.iter().find(|pair| pair.key == key)?.value.as_deref()
    }

    /// Returns the Arrow schema, derived from the Parquet schema alone. Arrow types that a writer
    /// stored in the footer are ignored, because the log has the types. INT96 becomes microseconds.
    pub fn arrow_schema(&self) -> Result<SchemaRef> {
        let descriptor = self.metadata.file_metadata().schema_descr();
        let schema = parquet_to_arrow_schema(descriptor, None).map(Arc::new).at(self.name())?;
        Ok(int96::as_micros(&schema, descriptor).unwrap_or(schema))
    }

    /// Returns the metadata for decoding. Columns are read as the types of `schema`, which must
    /// have the shape of [`Self::arrow_schema`]. The default is that schema itself.
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

    /// Returns the name of the object in messages.
    pub fn name(&self) -> &str {
        self.source.name()
    }

    /// Returns whether the file can be read without a network.
    pub fn is_local(&self) -> bool {
        self.source.is_local()
    }
}

impl std::fmt::Debug for ParquetFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParquetFile").field("name", &self.name()).field("num_rows", &self.num_rows()).finish_non_exhaustive()
    }
}
