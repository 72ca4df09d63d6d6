//! A piece of a file: some rows of one row group, which are decoded, tested and sent.
//!
//! With a condition there are two ways to read a piece. In two passes, the columns of the condition
//! are decoded first, and the other columns only for the rows that match. In one pass, all columns
//! are decoded and rows are dropped afterwards, which is better when many rows match. Deleted rows
//! are dropped together with the rows that do not match. The processing of decoded rows is in
//! `batch_assembler`.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::Schema;
use parquet::arrow::arrow_reader::RowSelection;

use lakebed_io::parquet::ReadOptions;
use lakebed_io::parquet::order::LaneSender;

use super::batch_assembler::{BatchAssembler, TestedBatches};
use super::context::ReadContext;
use super::file::{FileContent, OpenFile, ParquetContent};
use super::outbox::{Outbox, ReservedBatch};
use super::row_ranges::RowRanges;
use super::schema_adapter::SchemaAdapter;
use super::size::{MOST_BATCH_ROWS, PieceSize};
use crate::Result;
use crate::runtime::memory::Reservation;

/// Some rows of a file.
pub(super) struct Piece {
    content: PieceContent,
    /// The number of rows that are not deleted.
    live_rows: u64,
    batch_rows: usize,
    size_bytes: u64,
}

enum PieceContent {
    /// RowRanges for which no column of the file is read.
    Counted,
    RowGroup {
        group: usize,
        rows: RowRanges,
    },
}

impl Piece {
    /// Returns a piece of rows for which no column of the file is read.
    pub(super) fn counted(rows: u64) -> Self {
        Self { content: PieceContent::Counted, live_rows: rows, batch_rows: size(MOST_BATCH_ROWS), size_bytes: 0 }
    }

    /// Returns a piece of rows of a row group.
    pub(super) fn stored(group: usize, rows: RowRanges, live_rows: u64, per: &PieceSize) -> Self {
        let count = rows.len();
        let size_bytes = count.saturating_mul(per.bytes_per_row.saturating_add(per.fetched_per_row));
        let batch_rows = size(per.batch_rows.min(count).max(1));
        Self { content: PieceContent::RowGroup { group, rows }, live_rows, batch_rows, size_bytes }
    }

    /// Returns how many rows the piece returns if there is no condition.
    pub(super) fn live_rows(&self) -> u64 {
        self.live_rows
    }

    /// Returns how much memory the piece needs.
    pub(super) fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Decodes the rows and sends those that match.
    pub(super) async fn read(
        self,
        context: Arc<ReadContext>,
        file: Arc<OpenFile>,
        lane: LaneSender<ReservedBatch>,
        share: Reservation,
    ) -> Result<()> {
        let outbox = Outbox::new(lane, Arc::clone(context.output.schema()), share, self.batch_rows, context.limit);
        let (group, rows) = match self.content {
            PieceContent::Counted => {
                return BatchAssembler::new(context, file, outbox, None).send_counted(self.live_rows, self.batch_rows);
            }
            PieceContent::RowGroup { group, rows } => (group, rows),
        };
        let stored = file.parquet()?;
        let pays = context.condition.is_some() && !context.selectivity.matches_many();
        let mut two_passes = pays && !stored.others.leaves().is_empty() && !stored.tested.leaves().is_empty();
        let assembler = BatchAssembler::new(context, Arc::clone(&file), outbox, Some(&rows));
        let mut pass = Pass { group, rows, batch_rows: self.batch_rows, assembler: Arc::new(Mutex::new(assembler)) };
        loop {
            let outcome = if two_passes { pass.two(stored).await } else { pass.one(stored).await };
            match outcome {
                // One batch has more than 2 GiB of strings. The remaining rows are decoded in
                // smaller batches.
                Err(error) if error.is_batch_too_large() && pass.batch_rows > 1 => {
                    let rest = pass.assembler().rest(&pass.rows);
                    pass.rows = rest;
                    pass.batch_rows = (pass.batch_rows / 16).max(1);
                    two_passes = false;
                }
                Err(error) => return Err(error),
                Ok(()) => return pass.assembler().finish(),
            }
        }
    }
}

/// Some rows that are decoded in one pass or in two.
struct Pass {
    group: usize,
    rows: RowRanges,
    batch_rows: usize,
    assembler: Arc<Mutex<BatchAssembler>>,
}

impl Pass {
    /// Decodes all columns at once.
    async fn one(&self, stored: &ParquetContent) -> Result<()> {
        let assembler = Arc::clone(&self.assembler);
        let take = move |batch: RecordBatch| locked(&assembler).pack(&batch);
        if !stored.all.leaves().is_empty() {
            return self.decode(stored, &stored.all, self.rows.selection(), take).await;
        }
        // RowRanges without columns need no decoder.
        let mut left = self.rows.len();
        while left > 0 {
            let count = left.min(self.batch_rows as u64);
            left -= count;
            let options = RecordBatchOptions::new().with_row_count(Some(size(count)));
            if take(RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)?)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Decodes the columns of the condition, and then the other columns of the rows that match.
    async fn two(&self, stored: &ParquetContent) -> Result<()> {
        let found = Arc::new(Mutex::new(TestedBatches::default()));
        let (assembler, tested_batches) = (Arc::clone(&self.assembler), Arc::clone(&found));
        let test = move |batch: RecordBatch| locked(&assembler).test(&batch, &mut locked(&tested_batches));
        if let Err(error) = self.decode(stored, &stored.tested, self.rows.selection(), test).await {
            self.assembler().start_over(&self.rows);
            return Err(error);
        }
        let matches = Arc::new(std::mem::take(&mut *locked(&found)).finish()?);
        if matches.count() == 0 || self.assembler().is_closed() {
            return Ok(());
        }
        let selection = self.rows.selection_of(matches.marks());
        let (assembler, joined) = (Arc::clone(&self.assembler), Arc::clone(&matches));
        let mut taken = 0;
        let join = move |batch: RecordBatch| {
            let from = taken;
            taken += batch.num_rows();
            locked(&assembler).join(&batch, &joined, from)
        };
        let outcome = self.decode(stored, &stored.others, Some(selection), join).await;
        if outcome.is_err() {
            let mut assembler = self.assembler();
            let done = matches.rows_up_to(assembler.rows_out());
            assembler.start_over(&self.rows.skip(done));
        }
        outcome
    }

    async fn decode<S>(
        &self,
        stored: &ParquetContent,
        adapter: &SchemaAdapter,
        selection: Option<RowSelection>,
        sink: S,
    ) -> Result<()>
    where
        S: FnMut(RecordBatch) -> Result<ControlFlow<()>> + Send + 'static,
    {
        let options = ReadOptions {
            metadata: Some(stored.columns.reader_metadata()),
            projection: Some(adapter.mask(&stored.file)),
            row_groups: Some(vec![self.group]),
            selection,
            batch_rows: Some(self.batch_rows),
            dictionary_leaves: self.assembler().dictionary_leaves(adapter),
            ..ReadOptions::default()
        };
        let cores = self.assembler().cores();
        stored.file.decode(options)?.run(&cores, sink).await
    }

    fn assembler(&self) -> MutexGuard<'_, BatchAssembler> {
        locked(&self.assembler)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Converts a number of rows. A piece has fewer rows than memory has bytes.
fn size(rows: u64) -> usize {
    usize::try_from(rows).unwrap_or(usize::MAX)
}

impl OpenFile {
    /// Returns the pieces to decode, in order. With `rows_wanted`, only pieces that hold some of
    /// the first `rows_wanted` rows are returned.
    pub(super) fn pieces(&self, rows_wanted: Option<u64>) -> Result<Vec<Piece>> {
        let mut wanted = rows_wanted.unwrap_or(u64::MAX);
        let stored = match &self.content {
            FileContent::Counted(0) => return Ok(Vec::new()),
            FileContent::Counted(rows) => return Ok(vec![Piece::counted((*rows).min(wanted))]),
            FileContent::Parquet(stored) => stored,
        };
        let mut pieces = Vec::new();
        let total: u64 = stored.groups.iter().map(|(_, rows)| rows.len()).sum();
        for (group, rows) in &stored.groups {
            let deleted = stored.deleted.as_ref();
            let rows = if wanted < rows.live(deleted) { rows.first_live(wanted, deleted) } else { rows.clone() };
            let size = PieceSize::of(&self.context, stored, *group, total);
            let cut = if stored.can_skip(*group) { stored.cut(*group, &rows, size.rows) } else { vec![rows] };
            for rows in cut {
                let live = rows.live(deleted);
                wanted = wanted.saturating_sub(live);
                if live > 0 {
                    pieces.push(Piece::stored(*group, rows, live, &size));
                }
            }
            if wanted == 0 {
                break;
            }
        }
        Ok(pieces)
    }
}

impl ParquetContent {
    /// Cuts the rows of a row group into pieces of at most `most` rows.
    fn cut(&self, group: usize, rows: &RowRanges, most: u64) -> Vec<RowRanges> {
        let wanted = usize::try_from(rows.len() / most.max(1)).unwrap_or(usize::MAX);
        if wanted == 0 {
            return vec![rows.clone()];
        }
        let starts = self.file.page_starts(group, &self.all.mask(&self.file), wanted.saturating_add(1));
        let starts: Vec<u64> = starts.into_iter().map(|row| rows.first() + row as u64).collect();
        rows.pieces(most, &starts)
    }
}
