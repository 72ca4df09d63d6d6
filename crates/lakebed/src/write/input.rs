//! Prepares the rows to write. Batches are split and joined to pieces of a good size. Several
//! pieces at a time are converted and checked while earlier ones are encoded.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use futures::StreamExt;
use lakebed_io::parquet::Cores;

use super::files::FileSink;
use super::incoming::Incoming;
use crate::runtime::size::batch_bytes;
use crate::{RecordBatchStream, Result};

/// The maximum number of rows of a piece.
const MOST_ROWS: usize = 1 << 17;
/// The approximate maximum of the bytes of pieces that are taken together. A single row may be
/// larger.
const MOST_BYTES: u64 = 32 << 20;
/// The maximum number of pieces that are taken together. It limits them where all rows are small.
const MOST_PIECES: usize = 4;
/// Batches with fewer rows are joined until they have this number of rows.
const FEW_ROWS: usize = 1 << 14;

/// Writes all rows and returns their number, counted as they came in.
pub(crate) async fn write_rows(data: RecordBatchStream, incoming: Arc<Incoming>, sink: &mut FileSink) -> Result<u64> {
    let cores = Cores::new();
    let mut pieces = Pieces::new(data, sink.target_file_size_bytes());
    let (mut fitted_rows, mut ahead) = (0, Vec::new());
    loop {
        let next = pieces.next_few().await?;
        let (first, is_last) = (fitted_rows, next.is_empty());
        fitted_rows += next.iter().map(|piece| piece.num_rows() as u64).sum::<u64>();
        let (fitted, written) = futures::join!(fitted(next, Arc::clone(&incoming), first, &cores), sink.write(ahead));
        written?;
        ahead = fitted?;
        if is_last {
            return Ok(pieces.rows);
        }
    }
}

async fn fitted(pieces: Vec<RecordBatch>, incoming: Arc<Incoming>, first: u64, cores: &Cores) -> Result<Vec<RecordBatch>> {
    if pieces.is_empty() {
        return Ok(Vec::new());
    }
    let work = move || {
        let mut first = first;
        let fit = |piece: RecordBatch| {
            let fitted = incoming.rows(&piece, first)?;
            first += piece.num_rows() as u64;
            Ok(fitted)
        };
        pieces.into_iter().map(fit).collect()
    };
    cores.compute("fitting rows", work).await
}

/// Splits and joins batches to pieces.
struct Pieces {
    /// The stream of batches. It is `None` after its end.
    data: Option<RecordBatchStream>,
    schema: SchemaRef,
    ready: VecDeque<RecordBatch>,
    small: Vec<RecordBatch>,
    small_rows: usize,
    small_bytes: u64,
    most_bytes: u64,
    /// The number of rows that came in.
    rows: u64,
}

impl Pieces {
    /// Limits pieces to the size of a file, because files can end only between pieces.
    fn new(data: RecordBatchStream, target_file_size_bytes: u64) -> Self {
        let most_bytes = MOST_BYTES.min(target_file_size_bytes);
        Self {
            schema: data.schema(),
            data: Some(data),
            ready: VecDeque::new(),
            small: Vec::new(),
            small_rows: 0,
            small_bytes: 0,
            most_bytes,
            rows: 0,
        }
    }

    /// Returns some pieces, or none at the end.
    async fn next_few(&mut self) -> Result<Vec<RecordBatch>> {
        let (mut few, mut bytes) = (Vec::new(), 0);
        // At least one piece is returned even if files are very small, because an empty list means
        // the end.
        while few.is_empty() || (bytes < self.most_bytes / 2 && few.len() < MOST_PIECES) {
            let Some(piece) = self.next().await? else { break };
            bytes += batch_bytes(&piece);
            few.push(piece);
        }
        Ok(few)
    }

    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(piece) = self.ready.pop_front() {
                return Ok(Some(piece));
            }
            let Some(data) = &mut self.data else { return Ok(None) };
            match data.next().await {
                Some(batch) => self.take(batch?),
                None => {
                    self.data = None;
                    self.join();
                }
            }
        }
    }

    fn take(&mut self, batch: RecordBatch) {
        let (rows, bytes) = (batch.num_rows(), batch_bytes(&batch));
        self.rows += rows as u64;
        let is_small = rows < FEW_ROWS && bytes < self.most_bytes;
        if !is_small || self.small_bytes + bytes > self.most_bytes {
            self.join();
        }
        if is_small {
            self.small_rows += rows;
            self.small_bytes += bytes;
            self.small.push(batch);
            if self.small_rows >= FEW_ROWS {
                self.join();
            }
            return;
        }
        let most_rows = rows_of_piece(&batch, self.most_bytes);
        let starts = (0..rows).step_by(most_rows);
        self.ready.extend(starts.map(|start| batch.slice(start, most_rows.min(rows - start))));
    }

    /// Makes one piece of the small batches so far.
    fn join(&mut self) {
        (self.small_rows, self.small_bytes) = (0, 0);
        let small = std::mem::take(&mut self.small);
        self.push_joined(&small);
    }

    /// Adds batches as one piece. They become several pieces if the keys of a dictionary are too
    /// few for all their values.
    fn push_joined(&mut self, batches: &[RecordBatch]) {
        let several = match batches {
            [] => return,
            [one] => return self.ready.push_back(one.clone()),
            several => several,
        };
        if let Ok(joined) = concat_batches(&self.schema, several) {
            return self.ready.push_back(joined);
        }
        let (first, last) = several.split_at(several.len() / 2);
        self.push_joined(first);
        self.push_joined(last);
    }
}

fn rows_of_piece(batch: &RecordBatch, most_bytes: u64) -> usize {
    let bytes_of_row = (batch_bytes(batch) / batch.num_rows().max(1) as u64).max(1);
    usize::try_from(most_bytes / bytes_of_row).unwrap_or(MOST_ROWS).clamp(1, MOST_ROWS)
}

#[cfg(test)]
mod tests {
    use arrow_array::types::Int8Type;
    use arrow_array::{ArrayRef, DictionaryArray, StringArray};

    use super::*;

    /// Returns the pieces of batches for files of this size.
    async fn pieces(batches: Vec<RecordBatch>, target_file_size_bytes: u64) -> Vec<RecordBatch> {
        let mut pieces = Pieces::new(RecordBatchStream::from_batches(batches[0].schema(), batches), target_file_size_bytes);
        let mut found = Vec::new();
        while let Some(piece) = pieces.next().await.unwrap() {
            found.push(piece);
        }
        found
    }

    fn batch(column: ArrayRef) -> RecordBatch {
        RecordBatch::try_from_iter([("v", column)]).unwrap()
    }

    #[tokio::test]
    async fn large_rows_join_up_to_file_size() {
        let rows = |count: usize, length: usize| batch(Arc::new(StringArray::from(vec!["x".repeat(length); count])));
        let batches = [vec![rows(1, 10)], vec![rows(4, 1000); 10], vec![rows(2, 20_000)], vec![rows(1, 10); 3]].concat();
        let found = pieces(batches, 10_000).await;
        let sizes: Vec<(usize, bool)> = found.iter().map(|piece| (piece.num_rows(), batch_bytes(piece) <= 10_000)).collect();
        assert_eq!(sizes, [(9, true), (8, true), (8, true), (8, true), (8, true), (1, false), (1, false), (3, true)]);
    }

    #[tokio::test]
    async fn batches_that_cannot_be_joined_stay_apart() {
        let keyed = |name: &str| {
            let values = StringArray::from_iter_values((0..100).map(|value| format!("{name}{value}")));
            batch(Arc::new(DictionaryArray::<Int8Type>::new((0..100).collect::<Vec<i8>>().into(), Arc::new(values))))
        };
        let batches = vec![keyed("a"), keyed("a"), keyed("b"), keyed("c")];
        assert_eq!(
            pieces(batches.clone(), u64::MAX).await,
            [concat_batches(&batches[0].schema(), &batches[..2]).unwrap(), batches[2].clone(), batches[3].clone()]
        );
    }
}
