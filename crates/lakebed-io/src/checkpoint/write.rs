//! Writes checkpoint files, row group by row group.
//!
//! An [`Encoder`] turns rows into a row group, on any thread, and several encoders may work at
//! once. [`CheckpointFile::append`] appends the row groups to the file. The file is invisible
//! before [`CheckpointFile::finish`].

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, new_null_array};
use arrow_schema::SchemaRef;
use lakebed_core::error::{Error, Result};
use lakebed_core::log::checkpoint::write::ActionRows;
use object_store::path::Path;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnWriter, ArrowRowGroupWriterFactory, ArrowWriterOptions, compute_leaves};
use parquet::basic::Compression;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use crate::at::At;
use crate::parquet::row_group_buffer::{self, Blocks, Chunk, RowGroupBuffer};
use crate::store::{Existing, Store};

/// The number of rows that are encoded at once. For each column that these rows do not fill, an
/// array of this many nulls is kept.
const CHUNK_ROWS: usize = 8192;

/// Columns in which hardly any values are equal. A dictionary would not make them smaller.
const UNIQUE: [&[&str]; 3] = [&["add", "path"], &["add", "stats"], &["remove", "path"]];

/// A Parquet file that is being written.
pub struct CheckpointFile {
    sending: RowGroupBuffer,
    encoders: Encoders,
}

/// Creates the encoders of one file. Clones are cheap.
#[derive(Clone)]
pub struct Encoders {
    name: Arc<str>,
    schema: SchemaRef,
    factory: Arc<ArrowRowGroupWriterFactory>,
}

/// Encodes one row group.
pub struct Encoder {
    name: Arc<str>,
    schema: SchemaRef,
    columns: Vec<ArrowColumnWriter>,
    /// For each field of the schema, [`CHUNK_ROWS`] nulls, created when they are first needed.
    nulls: Vec<Option<ArrayRef>>,
}

/// An encoded row group that is not yet in its file.
pub struct RowGroup(row_group_buffer::RowGroup);

impl CheckpointFile {
    /// Begins a file with these columns.
    ///
    /// A checkpoint that is named by its version alone may replace another one. Both hold the same
    /// state, and a broken checkpoint must not stay. All other checkpoint files have unique names.
    pub async fn begin(store: &Store, path: &Path, schema: SchemaRef, existing: Existing) -> Result<Self> {
        let name = store.describe(path);
        let options = ArrowWriterOptions::new().with_properties(properties()).with_skip_arrow_metadata(true);
        let writer = ArrowWriter::try_new_with_options(Blocks::default(), Arc::clone(&schema), options).at(&name)?;
        let (writer, factory) = writer.into_serialized_writer().at(&name)?;
        let sending = RowGroupBuffer::new(name.clone(), writer, store.upload(path, existing).await?);
        let encoders = Encoders { name: name.into(), schema, factory: Arc::new(factory) };
        Ok(Self { sending, encoders })
    }

    /// Returns the encoders for the row groups of this file.
    pub fn encoders(&self) -> Encoders {
        self.encoders.clone()
    }

    /// Appends a row group to the file.
    pub async fn append(&mut self, row_group: RowGroup) -> Result<()> {
        self.sending.send(vec![row_group.0]).await
    }

    /// Ends the file, makes it visible and returns its size.
    pub async fn finish(self) -> Result<u64> {
        let (size, unflushed) = self.sending.finish().await?;
        unflushed.flushed().await?;
        Ok(size)
    }

    /// Removes the file.
    pub async fn abort(self) {
        self.sending.abort().await;
    }
}

impl Encoders {
    /// Returns an encoder for one row group.
    pub fn begin(&self) -> Result<Encoder> {
        // The index of the row group matters only for encryption.
        let columns = self.factory.create_column_writers(0).at(&self.name)?;
        let nulls = vec![None; self.schema.fields().len()];
        Ok(Encoder { name: Arc::clone(&self.name), schema: Arc::clone(&self.schema), columns, nulls })
    }
}

impl Encoder {
    /// Encodes rows.
    pub fn write(&mut self, rows: &ActionRows) -> Result<()> {
        if self.schema.index_of(&rows.column).is_err() {
            return Err(Error::internal(format!("{}: the schema of the checkpoint lacks the column {}", self.name, rows.column)));
        }
        let array: ArrayRef = Arc::new(rows.array.clone());
        for start in (0..rows.len()).step_by(CHUNK_ROWS) {
            let length = CHUNK_ROWS.min(rows.len() - start);
            self.write_chunk(&rows.column, &array.slice(start, length))?;
        }
        Ok(())
    }

    fn write_chunk(&mut self, filled: &str, array: &ArrayRef) -> Result<()> {
        let mut columns = self.columns.iter_mut();
        for (field, nulls) in self.schema.fields().iter().zip(&mut self.nulls) {
            let values = match field.name() == filled {
                true => Arc::clone(array),
                false => nulls.get_or_insert_with(|| new_null_array(field.data_type(), CHUNK_ROWS)).slice(0, array.len()),
            };
            for (leaf, column) in compute_leaves(field, &values).at(&self.name)?.iter().zip(&mut columns) {
                column.write(leaf).at(&self.name)?;
            }
        }
        Ok(())
    }

    /// Returns the row group with all encoded rows.
    pub fn finish(self) -> Result<RowGroup> {
        let columns = self.columns.into_iter().map(|column| column.close().map(Chunk::Any).at(&self.name));
        Ok(RowGroup(columns.collect::<Result<_>>()?))
    }
}

/// Returns the properties of checkpoint files. They use Snappy, as in Delta Spark, because every
/// reader supports it.
fn properties() -> WriterProperties {
    let mut properties =
        WriterProperties::builder().set_compression(Compression::SNAPPY).set_statistics_enabled(EnabledStatistics::Chunk);
    for column in UNIQUE {
        let path = ColumnPath::new(column.iter().map(|name| (*name).to_owned()).collect());
        properties = properties.set_column_dictionary_enabled(path, false);
    }
    properties.build()
}
