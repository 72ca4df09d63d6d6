//! The rows of a merge's source, read once. They are kept in memory, or all of them spill to a
//! temporary file if they exceed the limit.
//!
//! The rows are read back in chunks, any number of times, since a merge may be retried.
//! `crate::runtime::spill` describes the file. Begin with [`Source::read`], then [`Source::chunk`].

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Fields, Schema, SchemaRef};
use futures::TryStreamExt;
use lakebed_core::schema::StructType;
use lakebed_core::schema::arrow::nullable_type_to_arrow;
use lakebed_core::schema::arrow::schema_from_arrow;

use crate::runtime::memory::{MemoryBudget, Reservation};
use crate::runtime::size::array_bytes;
use crate::runtime::spill::{Spill, folder, joined};
use crate::write::OnLossy;
use crate::write::convert::fit;
use crate::write::unify_schema::unify_schema;
use crate::{Error, RecordBatchStream, Result};

/// The most bytes of a column in one chunk. Arrow offsets reach twice as far.
const MOST_COLUMN_BYTES: u64 = 1 << 30;
/// The most rows of a chunk, so that row numbers fit their type.
const MOST_ROWS: u64 = 1 << 31;
/// A chunk has room for at least this many pieces of batches, so that little space at its end stays
/// unused.
const PIECES: u64 = 8;

/// The rows of a source.
#[derive(Debug)]
pub(crate) struct Source {
    schema: StructType,
    arrow_schema: SchemaRef,
    rows: u64,
    on_lossy: OnLossy,
    kept: SourceRows,
    /// The reservation of the memory budget for the rows in memory.
    _reserved: Reservation,
}

#[derive(Debug)]
enum SourceRows {
    InMemory(Vec<RecordBatch>),
    InFile(Spill, Vec<SpilledChunk>),
}

/// A chunk in a file: the number of its rows, their size, and the start of each column.
#[derive(Debug)]
struct SpilledChunk {
    rows: u64,
    size_bytes: u64,
    columns: Vec<u64>,
}

/// Consecutive rows of a source.
#[derive(Debug)]
pub(crate) struct Chunk {
    /// The rows.
    pub(crate) rows: RecordBatch,
    /// The reservation of the rows' memory if the source does not keep them in memory.
    _reserved: Option<Reservation>,
}

impl Source {
    /// Reads all rows as values of Delta's types. At most `most_bytes` are kept in memory, for all
    /// rows or for one chunk.
    ///
    /// # Errors
    /// If the data has types that no table can have, values that do not fit or a column twice; if
    /// the temporary file cannot be written.
    pub(crate) async fn read(data: RecordBatchStream, on_lossy: OnLossy, most_bytes: u64) -> Result<Self> {
        let read = Self::read_over(folder(), data, on_lossy, most_bytes).await;
        read.map_err(|error| error.within("the source of the merge"))
    }

    async fn read_over(folder: PathBuf, mut data: RecordBatchStream, on_lossy: OnLossy, most_bytes: u64) -> Result<Self> {
        data = unify_schema(data, on_lossy);
        let schema = schema_from_arrow(&data.schema())?;
        refuse_doubled(&schema)?;
        let fields =
            schema.fields.iter().map(|field| Ok(Field::new(&field.name, nullable_type_to_arrow(&field.data_type)?, true)));
        let arrow_schema = Arc::new(Schema::new(fields.collect::<Result<Fields>>()?));
        let mut reading = Reading::new(Arc::clone(&arrow_schema), folder, most_bytes);
        while let Some(batch) = data.try_next().await? {
            let columns = batch.columns().iter().zip(&schema.fields);
            let columns = columns.map(|(column, field)| fit(column, &field.data_type, on_lossy, &field.name));
            let columns = columns.collect::<Result<Vec<_>>>()?;
            reading.push(with_rows(&arrow_schema, columns, batch.num_rows())?).await?;
        }
        let (kept, rows, reserved) = reading.finish().await?;
        Ok(Self { schema, arrow_schema, rows, on_lossy, kept, _reserved: reserved })
    }

    /// Returns the columns with the types that they would have in a table.
    pub(crate) fn schema(&self) -> &StructType {
        &self.schema
    }

    /// Returns the Arrow schema of every chunk. It has the same columns, and every field is
    /// nullable.
    pub(crate) fn arrow_schema(&self) -> &SchemaRef {
        &self.arrow_schema
    }

    /// Returns how digits that a column cannot hold are treated.
    pub(crate) fn on_lossy(&self) -> OnLossy {
        self.on_lossy
    }

    /// Returns the number of rows.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the size of the temporary file.
    pub(crate) fn spilled_bytes(&self) -> u64 {
        match &self.kept {
            SourceRows::InMemory(_) => 0,
            SourceRows::InFile(file, _) => file.size_bytes(),
        }
    }

    /// Returns the number of chunks. A source without rows has none. Rows in memory are one chunk,
    /// unless a column is very large.
    pub(crate) fn chunk_count(&self) -> usize {
        match &self.kept {
            SourceRows::InMemory(chunks) => chunks.len(),
            SourceRows::InFile(_, places) => places.len(),
        }
    }

    /// Returns one of the chunks.
    ///
    /// # Errors
    /// If there is none with this number, or the temporary file cannot be read.
    pub(crate) async fn chunk(&self, number: usize) -> Result<Chunk> {
        let missing = || Error::internal(format!("a source has no chunk {number}"));
        match &self.kept {
            SourceRows::InMemory(chunks) => {
                let rows = chunks.get(number).ok_or_else(missing)?.clone();
                Ok(Chunk { rows, _reserved: None })
            }
            SourceRows::InFile(file, places) => {
                let place = places.get(number).ok_or_else(missing)?;
                let reserved = MemoryBudget::of_process().reserve_now(place.size_bytes);
                let columns = file.read(place.columns.clone()).await?;
                let rows = with_rows(&self.arrow_schema, columns, usize::try_from(place.rows).map_err(|_| missing())?)?;
                Ok(Chunk { rows, _reserved: Some(reserved) })
            }
        }
    }
}

/// A source that is being read.
struct Reading {
    schema: SchemaRef,
    folder: PathBuf,
    most_bytes: u64,
    /// The rows of the next chunk.
    pending: Pending,
    /// The chunks in memory, and their size.
    chunks: Vec<RecordBatch>,
    chunks_bytes: u64,
    spilled: Option<(Spill, Vec<SpilledChunk>)>,
    rows: u64,
    reserved: Reservation,
}

/// Rows in columns, each column in pieces. A column can be joined and its pieces dropped before the
/// next column.
#[derive(Default)]
struct Pending {
    columns: Vec<Vec<ArrayRef>>,
    column_bytes: Vec<u64>,
    rows: u64,
}

impl Reading {
    fn new(schema: SchemaRef, folder: PathBuf, most_bytes: u64) -> Self {
        let pending = Pending::new(schema.fields().len());
        let reserved = MemoryBudget::of_process().reserve_now(0);
        Self { schema, folder, most_bytes, pending, chunks: Vec::new(), chunks_bytes: 0, spilled: None, rows: 0, reserved }
    }

    /// Returns the largest size of a batch that is not cut.
    fn piece_bytes(&self) -> u64 {
        self.most_bytes.min(MOST_COLUMN_BYTES) / PIECES
    }

    async fn push(&mut self, batch: RecordBatch) -> Result<()> {
        self.rows += batch.num_rows() as u64;
        let mut batches = vec![batch];
        while let Some(batch) = batches.pop() {
            let sizes: Vec<u64> = batch.columns().iter().map(array_bytes).collect();
            let rows = batch.num_rows();
            if rows > 1 && (sizes.iter().sum::<u64>() > self.piece_bytes() || rows as u64 > MOST_ROWS) {
                batches.push(batch.slice(rows / 2, rows - rows / 2));
                batches.push(batch.slice(0, rows / 2));
            } else if rows > 0 {
                self.push_piece(batch, &sizes).await?;
            }
        }
        Ok(())
    }

    async fn push_piece(&mut self, piece: RecordBatch, sizes: &[u64]) -> Result<()> {
        let bytes: u64 = sizes.iter().sum();
        if self.spilled.is_none() && self.chunks_bytes + self.pending.bytes() + bytes > self.most_bytes {
            self.begin_spill().await?;
        }
        let fits = self.pending.bytes() + bytes <= self.most_bytes && self.pending.fits(sizes, piece.num_rows() as u64);
        if !fits && self.pending.rows > 0 {
            self.end_chunk().await?;
        }
        self.pending.push(&piece, sizes);
        self.reserved.grow_to(self.chunks_bytes + self.pending.bytes());
        Ok(())
    }

    /// Begins to spill: writes the chunks in memory to a file. All later chunks go to the file too.
    async fn begin_spill(&mut self) -> Result<()> {
        let mut file = Spill::create(self.folder.clone(), Arc::clone(&self.schema)).await?;
        let mut places = Vec::new();
        for chunk in std::mem::take(&mut self.chunks) {
            let size_bytes = chunk.columns().iter().map(array_bytes).sum();
            let columns = chunk.columns().iter().map(|column| vec![Arc::clone(column)]).collect();
            let rows = chunk.num_rows() as u64;
            drop(chunk);
            places.push(SpilledChunk { rows, size_bytes, columns: file.append(columns).await? });
            self.chunks_bytes -= size_bytes.min(self.chunks_bytes);
            self.give_back();
        }
        self.spilled = Some((file, places));
        Ok(())
    }

    /// Turns the pending rows into a chunk.
    async fn end_chunk(&mut self) -> Result<()> {
        let pending = std::mem::replace(&mut self.pending, Pending::new(self.schema.fields().len()));
        let (rows, size_bytes) = (pending.rows, pending.bytes());
        // While a column is joined, it is in memory twice.
        let largest = pending.column_bytes.iter().copied().max().unwrap_or(0);
        self.reserved.grow_to(self.chunks_bytes + size_bytes + largest);
        match &mut self.spilled {
            Some((file, places)) => places.push(SpilledChunk { rows, size_bytes, columns: file.append(pending.columns).await? }),
            None => {
                let schema = Arc::clone(&self.schema);
                let work = tokio::task::spawn_blocking(move || {
                    let columns = pending.columns.into_iter().map(joined).collect::<Result<_, _>>()?;
                    with_rows(&schema, columns, pending.rows as usize)
                });
                self.chunks.push(work.await.map_err(|error| Error::internal("joining batches").with_source(error))??);
                self.chunks_bytes += size_bytes;
            }
        }
        self.give_back();
        Ok(())
    }

    /// Returns the part of the reservation that is not needed now to the budget.
    fn give_back(&mut self) {
        let needed = self.chunks_bytes + self.pending.bytes();
        let excess = self.reserved.bytes().saturating_sub(needed);
        drop(self.reserved.split(excess));
    }

    async fn finish(mut self) -> Result<(SourceRows, u64, Reservation)> {
        if self.pending.rows > 0 {
            self.end_chunk().await?;
        }
        let kept = match self.spilled {
            Some((file, places)) => SourceRows::InFile(file, places),
            None => SourceRows::InMemory(self.chunks),
        };
        Ok((kept, self.rows, self.reserved))
    }
}

impl Pending {
    fn new(columns: usize) -> Self {
        Self { columns: vec![Vec::new(); columns], column_bytes: vec![0; columns], rows: 0 }
    }

    fn bytes(&self) -> u64 {
        self.column_bytes.iter().sum()
    }

    fn fits(&self, sizes: &[u64], rows: u64) -> bool {
        let fits = |(before, more): (&u64, &u64)| before + more <= MOST_COLUMN_BYTES;
        self.rows + rows <= MOST_ROWS && self.column_bytes.iter().zip(sizes).all(fits)
    }

    fn push(&mut self, piece: &RecordBatch, sizes: &[u64]) {
        self.rows += piece.num_rows() as u64;
        for ((pieces, bytes), (column, size)) in
            self.columns.iter_mut().zip(&mut self.column_bytes).zip(piece.columns().iter().zip(sizes))
        {
            pieces.push(Arc::clone(column));
            *bytes += size;
        }
    }
}

fn with_rows(schema: &SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

fn refuse_doubled(schema: &StructType) -> Result<()> {
    let mut seen = HashSet::new();
    match schema.fields.iter().find(|field| !seen.insert(field.name.to_lowercase())) {
        None => Ok(()),
        Some(field) => {
            let message = format!("column {} appears more than once (names that differ only in case are the same)", field.name);
            Err(Error::schema_mismatch(message))
        }
    }
}
