//! Sends batches. Small batches are joined, and all batches count against the memory budget until
//! the consumer takes them.

use std::ops::ControlFlow;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{FieldRef, Schema, SchemaRef};
use lakebed_io::parquet::order::LaneSender;

use crate::Result;
use crate::runtime::memory::Reservation;

/// A batch with its share of the memory budget.
pub(super) struct ReservedBatch {
    batch: RecordBatch,
    _share: Reservation,
}

impl ReservedBatch {
    /// Returns the batch. Its memory no longer counts against the budget.
    pub(super) fn into_batch(self) -> RecordBatch {
        self.batch
    }
}

/// The outbox that a piece puts its rows in.
pub(super) struct Outbox {
    lane: LaneSender<ReservedBatch>,
    schema: SchemaRef,
    share: Reservation,
    batch_rows: usize,
    /// Batches with too few rows to be sent alone.
    waiting: Vec<PendingRows>,
    waiting_rows: usize,
    sent_rows: u64,
    most_rows: u64,
}

/// Columns with their fields.
struct PendingRows {
    fields: Vec<FieldRef>,
    columns: Vec<ArrayRef>,
    count: usize,
}

impl Outbox {
    /// Returns an outbox. `share` is the memory that the piece reserved. `most_rows` is the
    /// greatest number of rows that are needed.
    pub(super) fn new(
        lane: LaneSender<ReservedBatch>,
        schema: SchemaRef,
        share: Reservation,
        batch_rows: usize,
        most_rows: Option<u64>,
    ) -> Self {
        let most_rows = most_rows.unwrap_or(u64::MAX);
        Self { lane, schema, share, batch_rows: batch_rows.max(1), waiting: Vec::new(), waiting_rows: 0, sent_rows: 0, most_rows }
    }

    /// Returns whether no more rows are needed.
    pub(super) fn is_closed(&self) -> bool {
        self.lane.is_closed() || self.sent_rows >= self.most_rows
    }

    /// Returns how many rows were put in, whether they are sent or waiting.
    pub(super) fn rows(&self) -> u64 {
        self.sent_rows + self.waiting_rows as u64
    }

    /// Puts rows in. The fields are those of the schema, except that they may be nullable where the
    /// schema is not.
    pub(super) fn put(&mut self, fields: Vec<FieldRef>, columns: Vec<ArrayRef>, count: usize) -> Result<ControlFlow<()>> {
        if count == 0 {
            return Ok(self.flow());
        }
        let rows = PendingRows { fields, columns, count };
        // Joining copies rows, so only batches that are too small for the consumer are joined.
        if count >= self.batch_rows / 4 {
            self.flush()?;
            self.send(rows)?;
            return Ok(self.flow());
        }
        if self.waiting.last().is_some_and(|last| !last.joins(&rows)) || self.waiting_rows + count > self.batch_rows {
            self.flush()?;
        }
        self.waiting_rows += count;
        self.waiting.push(rows);
        if self.rows() >= self.most_rows {
            self.flush()?;
        }
        Ok(self.flow())
    }

    /// Sends the rows that wait.
    pub(super) fn flush(&mut self) -> Result<()> {
        self.waiting_rows = 0;
        let mut waiting = std::mem::take(&mut self.waiting);
        if waiting.len() < 2 {
            return waiting.pop().map_or(Ok(()), |rows| self.send(rows));
        }
        let count = waiting.iter().map(|rows| rows.count).sum();
        let fields = waiting.first().map(|rows| rows.fields.clone()).unwrap_or_default();
        let mut columns = Vec::with_capacity(fields.len());
        for index in 0..fields.len() {
            let parts: Vec<&dyn arrow_array::Array> =
                waiting.iter().filter_map(|rows| Some(rows.columns.get(index)?.as_ref())).collect();
            columns.push(arrow_select::concat::concat(&parts)?);
        }
        self.send(PendingRows { fields, columns, count })
    }

    fn send(&mut self, rows: PendingRows) -> Result<()> {
        let declared = self.schema.fields().iter().zip(&rows.fields).all(|(declared, field)| declared == field);
        let schema = if declared { Arc::clone(&self.schema) } else { Arc::new(Schema::new(rows.fields)) };
        let options = RecordBatchOptions::new().with_row_count(Some(rows.count));
        let batch = RecordBatch::try_new_with_options(schema, rows.columns, &options)?;
        let size = batch.get_array_memory_size() as u64;
        self.share.grow_to(size);
        let batch = ReservedBatch { batch, _share: self.share.split(size) };
        self.sent_rows += rows.count as u64;
        // The next call of `is_closed` notices a closed lane.
        let _ = self.lane.send(batch);
        Ok(())
    }

    fn flow(&self) -> ControlFlow<()> {
        if self.is_closed() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl PendingRows {
    /// Returns whether both can be one batch.
    fn joins(&self, other: &Self) -> bool {
        self.fields == other.fields
    }
}
