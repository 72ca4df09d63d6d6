//! An open Parquet file: its metadata, and where its bytes are.

use std::sync::Arc;

use arrow_schema::SchemaRef;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::arrow::parquet_to_arrow_schema;
use parquet::file::metadata::ParquetMetaData;

use lakebed_core::Result;

use super::file_bytes::FileBytes;
use super::int96;
use crate::at::At;

/// An open Parquet file: its metadata, and where its bytes are. Cheap to clone.
#[derive(Clone)]
pub struct ParquetFile {
    pub(super) source: FileBytes,
    pub(super) metadata: Arc<ParquetMetaData>,
}

impl ParquetFile {
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
}

impl std::fmt::Debug for ParquetFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParquetFile").field("name", &self.name()).field("num_rows", &self.num_rows()).finish_non_exhaustive()
    }
}
