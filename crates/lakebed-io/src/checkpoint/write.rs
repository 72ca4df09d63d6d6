//! Checkpoint files on their way to a store, row group by row group.
//!
//! An [`Encoder`] turns rows into a row group, on whichever thread; several may do so at once. [`CheckpointFile::append`] puts the row
//! groups behind each other. Nothing is visible before [`CheckpointFile::finish`].

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

/// Rows that are taken at once: as many nulls stand ready for each column that they do not fill.
const CHUNK_ROWS: usize = 8192;

/// Columns of which hardly two values are the same.
const UNIQUE: [&[&str]; 3] = [&["add", "path"], &["add", "stats"], &["remove", "path"]];

/// A Parquet file that is being written.
pub struct CheckpointFile {
    sending: RowGroupBuffer,
    encoders: Encoders,
}

/// Where encoders for one file come from. Cheap to clone.
#[derive(Clone)]
pub struct Encoders {
    name: Arc<str>,
    schema: SchemaRef,
    factory: Arc<ArrowRowGroupWriterFactory>,
}

/// Makes one row group.
pub struct Encoder {
    name: Arc<str>,
    schema: SchemaRef,
    columns: Vec<ArrowColumnWriter>,
    /// For each field of the schema, [`CHUNK_ROWS`] nulls; made when they are needed.
    nulls: Vec<Option<ArrayRef>>,
}

/// A row group that is not yet in its file.
pub struct RowGroup(row_group_buffer::RowGroup);

impl CheckpointFile {
    /// Begins a file with these columns.
    ///
    /// A checkpoint whose name is its version's alone may replace another: both hold the same state, and one that turned out to be broken must
    /// not stay for ever. All other files of checkpoints have names of their own.
    pub async fn begin(store: &Store, path: &Path, schema: SchemaRef, existing: Existing) -> Result<Self> {
        let name = store.describe(path);
        let options = ArrowWriterOptions::new().with_properties(properties()).with_skip_arrow_metadata(true);
        let writer = ArrowWriter::try_new_with_options(Blocks::default(), Arc::clone(&schema), options).at(&name)?;
        let (writer, factory) = writer.into_serialized_writer().at(&name)?;
        let sending = RowGroupBuffer::new(name.clone(), writer, store.upload(path, existing).await?);
        let encoders = Encoders { name: name.into(), schema, factory: Arc::new(factory) };
        Ok(Self { sending, encoders })
    }

    /// For its row groups.
    pub fn encoders(&self) -> Encoders {
        self.encoders.clone()
    }

    /// Puts a row group behind those that are there.
    pub async fn append(&mut self, row_group: RowGroup) -> Result<()> {
        self.sending.send(vec![row_group.0]).await
    }

    /// Ends the file, makes it visible and tells its size.
    pub async fn finish(self) -> Result<u64> {
        let (size, unflushed) = self.sending.finish().await?;
        unflushed.flushed().await?;
        Ok(size)
    }

    /// Leaves nothing behind.
    pub async fn abort(self) {
        self.sending.abort().await;
    }
}

impl Encoders {
    /// For one row group.
    pub fn begin(&self) -> Result<Encoder> {
        // Which row group it will be matters to encryption alone.
        let columns = self.factory.create_column_writers(0).at(&self.name)?;
        let nulls = vec![None; self.schema.fields().len()];
        Ok(Encoder { name: Arc::clone(&self.name), schema: Arc::clone(&self.schema), columns, nulls })
    }
}

impl Encoder {
    /// Takes rows.
    pub fn write(&mut self, rows: &ActionRows) -> Result<()> {
        if self.schema.index_of(&rows.column).is_err() {
            return Err(Error::internal(format!("{}: a file without the column {}", self.name, rows.column)));
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

    /// The row group of all rows that were taken.
    pub fn finish(self) -> Result<RowGroup> {
        let columns = self.columns.into_iter().map(|column| column.close().map(Chunk::Any).at(&self.name));
        Ok(RowGroup(columns.collect::<Result<_>>()?))
    }
}

/// Snappy, as Delta Spark writes checkpoints: every reader has it.
fn properties() -> WriterProperties {
    let mut properties =
        WriterProperties::builder().set_compression(Compression::SNAPPY).set_statistics_enabled(EnabledStatistics::Chunk);
    for column in UNIQUE {
        let path = ColumnPath::new(column.iter().map(|name| (*name).to_owned()).collect());
        properties = properties.set_column_dictionary_enabled(path, false);
    }
    properties.build()
}
