//! Writes Parquet files. Batches are encoded column by column on as many cores as are free, and are
//! sent to the store row group by row group. The callers give the columns their meaning.
//!
//! Read [`ParquetWriter::create`] first. `options` describes how to write files, and `dictionary`
//! decides which columns gain by a dictionary. `flat_column` writes most columns of numbers and
//! strings faster than the encoder of all other columns.

mod bounds;
mod dictionary;
mod flat_column;
mod nan;
mod options;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{FieldRef, SchemaRef};
use futures::future::try_join_all;
use lakebed_core::{Error, Result};
use object_store::path::Path;
use parquet::arrow::ArrowSchemaConverter;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::SchemaDescriptor;

use self::flat_column::{FlatColumn, FlatColumnWriter};
use super::read::Cores;
use super::row_group_buffer::{Blocks, Chunk, RowGroup, RowGroupBuffer, size_bytes};
use crate::at::At;
use crate::store::{Existing, Store, Unflushed};

pub(super) use self::flat_column::FlatChunk;
pub use self::options::{Codec, WriteOptions};

/// The number of values below which batches are encoded on the calling thread, because changing
/// threads would take longer.
const FEW_VALUES: usize = 1 << 16;

/// A file that is being written. It is not visible before it is finished. If it is dropped earlier,
/// it leaves nothing.
pub struct ParquetWriter {
    name: String,
    sending: RowGroupBuffer,
    row_groups: RowGroupFactory,
    options: WriteOptions,
    open: Option<OpenGroup>,
    /// Row groups that are encoded and not sent yet.
    closed: Vec<RowGroup>,
    /// The size of all row groups that are encoded.
    bytes: u64,
    groups: usize,
    rows: u64,
}

/// Begins the row groups of a file.
struct RowGroupFactory {
    writers: ArrowRowGroupWriterFactory,
    schema: SchemaRef,
    columns: Arc<SchemaDescriptor>,
    properties: WriterPropertiesPtr,
}

/// A row group that is being encoded.
struct OpenGroup {
    columns: Arc<Vec<Mutex<Column>>>,
    rows: usize,
}

/// The leaves of one top-level column.
struct Column {
    field: FieldRef,
    writers: Vec<ArrowColumnWriter>,
    has_nan: bool,
    /// The settings for writing the column as a flat column, if it can be one.
    flat: Option<FlatColumn>,
    /// The writer that replaces the other writers if the column's rows are written as a flat
    /// column.
    as_flat: Option<FlatColumnWriter>,
}

impl ParquetWriter {
    /// Begins a file with the columns of the schema. Field ids are in the metadata of its fields.
    pub async fn create(store: &Store, path: &Path, schema: SchemaRef, options: WriteOptions) -> Result<Self> {
        let name = store.describe(path);
        let descriptor = ArrowSchemaConverter::new().with_coerce_types(false).convert(&schema).at(&name)?;
        let properties = Arc::new(options.properties()?);
        let file =
            SerializedFileWriter::new(Blocks::default(), descriptor.root_schema_ptr(), Arc::clone(&properties)).at(&name)?;
        let writers = ArrowRowGroupWriterFactory::new(&file, Arc::clone(&schema));
        let row_groups = RowGroupFactory { writers, schema, columns: Arc::new(descriptor), properties };
        let sending = RowGroupBuffer::new(name.clone(), file, store.upload(path, Existing::Refuse).await?);
        Ok(Self { name, sending, row_groups, options, open: None, closed: Vec::new(), bytes: 0, groups: 0, rows: 0 })
    }

    /// Appends batches with the file's schema. Columns may also be keys into dictionaries of values
    /// of their type.
    pub async fn write(&mut self, batches: Vec<RecordBatch>, cores: &Cores) -> Result<()> {
        // No row group is begun for batches without rows.
        let mut left: VecDeque<RecordBatch> = batches.into_iter().filter(|batch| batch.num_rows() > 0).collect();
        while !left.is_empty() {
            let fitting = take_rows(&mut left, self.room());
            self.encode(fitting, cores).await?;
            if self.is_group_full() {
                self.end_row_group(cores).await?;
            }
        }
        Ok(())
    }

    /// Appends a batch on this thread. The encoded data stays in memory until [`send`](Self::send).
    pub fn write_here(&mut self, batch: &RecordBatch) -> Result<()> {
        let mut start = 0;
        while start < batch.num_rows() {
            let rows = self.room().min(batch.num_rows() - start);
            self.encoding(vec![batch.slice(start, rows)])?.encode_here(&self.name)?;
            start += rows;
            if self.is_group_full() {
                self.end_row_group_here()?;
            }
        }
        Ok(())
    }

    /// Ends the open row group on this thread.
    pub fn end_row_group_here(&mut self) -> Result<()> {
        let Some(columns) = self.take_columns()? else { return Ok(()) };
        let columns = columns.into_iter().map(|column| column.close(&self.name)).collect::<Result<Vec<_>>>()?;
        self.close_row_group(columns);
        Ok(())
    }

    /// Ends the file. Returns its size, and a value to wait for until the file is durable.
    pub async fn finish(mut self, cores: &Cores) -> Result<(u64, Unflushed)> {
        self.end_row_group(cores).await?;
        self.send().await?;
        self.sending.finish().await
    }

    /// Removes the data that was written.
    pub async fn abort(self) {
        self.sending.abort().await;
    }

    /// Returns how the file is written.
    pub fn options(&self) -> &WriteOptions {
        &self.options
    }

    /// Returns the number of rows so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns about how large the file would be if it ended now.
    pub fn size_bytes(&self) -> u64 {
        let open = self.open.as_ref().map_or(0, |open| open.sum(Column::estimated_bytes));
        self.bytes + open as u64
    }

    /// Returns how much memory the writer takes now.
    pub fn memory_bytes(&self) -> u64 {
        self.open.as_ref().map_or(0, |open| open.sum(Column::memory_bytes)) as u64
    }

    fn is_group_full(&self) -> bool {
        let is_full = |open: &OpenGroup| {
            open.rows >= self.options.row_group_rows || open.sum(Column::estimated_bytes) >= self.options.row_group_bytes
        };
        self.open.as_ref().is_some_and(is_full)
    }

    /// Returns how many rows the open row group may still take.
    fn room(&self) -> usize {
        self.options.row_group_rows - self.open.as_ref().map_or(0, |open| open.rows)
    }

    async fn encode(&mut self, batches: Vec<RecordBatch>, cores: &Cores) -> Result<()> {
        let work = self.encoding(batches)?;
        let values: usize = work.batches.iter().map(|batch| batch.num_rows() * batch.num_columns()).sum();
        if values < FEW_VALUES { work.encode_here(&self.name) } else { work.run(cores, &self.name).await }
    }

    /// Combines batches and the open row group, and counts their rows in the group.
    fn encoding(&mut self, batches: Vec<RecordBatch>) -> Result<Encoding> {
        let mut open = match self.open.take() {
            Some(open) => open,
            None => self.row_groups.begin(self.groups, &self.name)?,
        };
        let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        open.rows += rows;
        self.rows += rows as u64;
        let columns = Arc::clone(&open.columns);
        self.open = Some(open);
        Ok(Encoding { columns, batches })
    }

    /// Ends the open row group and appends its columns one after the other.
    async fn end_row_group(&mut self, cores: &Cores) -> Result<()> {
        let rows = self.open.as_ref().map_or(0, |open| open.rows);
        let Some(columns) = self.take_columns()? else { return Ok(()) };
        let is_small = rows * columns.len() < FEW_VALUES;
        let closing = columns.into_iter().map(|column| {
            let name = self.name.clone();
            let close = move || column.close(&name);
            async move { if is_small { close() } else { cores.compute("closing columns", close).await } }
        });
        let columns = try_join_all(closing).await?;
        self.close_row_group(columns);
        self.send().await
    }

    /// Takes the columns of the open row group, if there is one.
    fn take_columns(&mut self) -> Result<Option<Vec<Column>>> {
        let Some(open) = self.open.take() else { return Ok(None) };
        let columns = Arc::try_unwrap(open.columns)
            .map_err(|_| Error::internal(format!("{}: columns of a row group are still in use", self.name)))?;
        Ok(Some(columns.into_iter().map(|column| column.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()))
    }

    fn close_row_group(&mut self, columns: Vec<Vec<Chunk>>) {
        let group: RowGroup = columns.into_iter().flatten().collect();
        self.bytes += size_bytes(&group);
        self.closed.push(group);
        self.groups += 1;
    }

    /// Sends the encoded data to the store. Much of it is still being sent after the call returns.
    pub async fn send(&mut self) -> Result<()> {
        self.sending.send(std::mem::take(&mut self.closed)).await
    }
}

impl RowGroupFactory {
    /// Begins the row group with this index. `name` is the file's, for messages.
    fn begin(&self, index: usize, name: &str) -> Result<OpenGroup> {
        let mut writers = self.writers.create_column_writers(index).at(name)?.into_iter();
        let mut leaf = 0;
        let columns = self.schema.fields().iter().map(|field| {
            let (leaves, first) = (leaf_count(field.data_type()), leaf);
            leaf += leaves;
            let column = self.columns.columns().get(first);
            Mutex::new(Column {
                field: Arc::clone(field),
                writers: writers.by_ref().take(leaves).collect(),
                has_nan: false,
                flat: column.and_then(|column| FlatColumn::of(field.data_type(), column, &self.properties)),
                as_flat: None,
            })
        });
        Ok(OpenGroup { columns: Arc::new(columns.collect()), rows: 0 })
    }
}

impl OpenGroup {
    fn sum(&self, size: impl Fn(&Column) -> usize) -> usize {
        self.columns.iter().map(|column| size(&column.lock().unwrap_or_else(PoisonError::into_inner))).sum()
    }
}

impl Column {
    fn estimated_bytes(&self) -> usize {
        match &self.as_flat {
            Some(column) => column.estimated_bytes(),
            None => self.writers.iter().map(ArrowColumnWriter::get_estimated_total_bytes).sum(),
        }
    }

    fn memory_bytes(&self) -> usize {
        match &self.as_flat {
            Some(column) => column.memory_bytes(),
            None => self.writers.iter().map(ArrowColumnWriter::memory_size).sum(),
        }
    }

    fn write(&mut self, rows: &ArrayRef, name: &str) -> Result<()> {
        // The first rows decide whether the column is written as a flat column.
        if let Some(flat) = self.flat.take() {
            self.as_flat = flat.begin(rows).map_err(|error| error.within(name))?;
        }
        if let Some(column) = &mut self.as_flat {
            return column.write(rows).map_err(|error| error.within(name));
        }
        let rows = flat_column::as_values(rows)?;
        self.has_nan = self.has_nan || nan::has_nan(&rows);
        let leaves = compute_leaves(&self.field, &rows).at(name)?;
        self.writers.iter_mut().zip(&leaves).try_for_each(|(writer, leaf)| writer.write(leaf)).at(name)
    }

    fn close(self, name: &str) -> Result<Vec<Chunk>> {
        if let Some(column) = self.as_flat {
            return Ok(vec![Chunk::Flat(column.close().map_err(|error| error.within(name))?)]);
        }
        let close = |writer: ArrowColumnWriter| {
            let mut chunk: ArrowColumnChunk = writer.close().at(name)?;
            if self.has_nan {
                nan::without_bounds(&mut chunk).at(name)?;
            }
            bounds::shorten(&mut chunk).map_err(|error| error.within(name))?;
            Ok(Chunk::Any(chunk))
        };
        self.writers.into_iter().map(close).collect()
    }
}

/// Takes the first rows, at most `most` of them.
fn take_rows(from: &mut VecDeque<RecordBatch>, most: usize) -> Vec<RecordBatch> {
    let (mut taken, mut left) = (Vec::new(), most);
    while let Some(batch) = from.pop_front() {
        let rows = batch.num_rows().min(left);
        taken.push(batch.slice(0, rows));
        left -= rows;
        if rows < batch.num_rows() {
            from.push_front(batch.slice(rows, batch.num_rows() - rows));
            break;
        }
    }
    taken
}

/// Batches that are being encoded into the columns of a row group.
struct Encoding {
    columns: Arc<Vec<Mutex<Column>>>,
    batches: Vec<RecordBatch>,
}

impl Encoding {
    fn encode_here(&self, name: &str) -> Result<()> {
        (0..self.columns.len()).try_for_each(|column| self.encode(column, name))
    }

    /// Starts as many workers as there are cores. Each worker takes the next column until there is
    /// none.
    async fn run(self, cores: &Cores, name: &str) -> Result<()> {
        let workers = cores.count().min(self.columns.len());
        let order = self.largest_first();
        let work = Arc::new((self, order, AtomicUsize::new(0), name.to_owned()));
        let worker = || {
            let work = Arc::clone(&work);
            move || {
                let (encoding, order, next, name) = &*work;
                while let Some(column) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                    encoding.encode(*column, name)?;
                }
                Ok(())
            }
        };
        try_join_all((0..workers).map(|_| cores.compute("encoding Parquet", worker()))).await?;
        Ok(())
    }

    fn encode(&self, index: usize, name: &str) -> Result<()> {
        let column =
            self.columns.get(index).ok_or_else(|| Error::internal(format!("{name}: a batch has more columns than the file")))?;
        let mut column = column.lock().unwrap_or_else(PoisonError::into_inner);
        self.batches.iter().try_for_each(|batch| column.write(batch.column(index), name))
    }

    /// Sorts the columns by the size of their data, so that the longest work begins first.
    fn largest_first(&self) -> Vec<usize> {
        let size = |array: &ArrayRef| array.to_data().get_slice_memory_size().unwrap_or(0);
        let of_column = |column: usize| self.batches.iter().map(|batch| size(batch.column(column))).sum::<usize>();
        let sizes: Vec<usize> = (0..self.columns.len()).map(of_column).collect();
        let mut order: Vec<usize> = (0..sizes.len()).collect();
        order.sort_by_key(|column| std::cmp::Reverse(sizes.get(*column).copied()));
        order
    }
}

/// Returns how many Parquet columns a column of this type becomes.
fn leaf_count(data_type: &arrow_schema::DataType) -> usize {
    use arrow_schema::DataType as T;
    match data_type {
        T::Struct(fields) => fields.iter().map(|field| leaf_count(field.data_type())).sum(),
        T::List(element) | T::LargeList(element) | T::FixedSizeList(element, _) => leaf_count(element.data_type()),
        T::Map(entries, _) => leaf_count(entries.data_type()),
        _ => 1,
    }
}
