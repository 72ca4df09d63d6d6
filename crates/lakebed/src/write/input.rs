//! The rows to write, on their way from wherever they come: cut and joined to pieces of a good size, and these taken together, fitted and
//! checked ahead of those that are encoded.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use futures::StreamExt;
use lakebed_io::parquet::Cores;

use super::files::FileSink;
use super::fill::Incoming;
use super::partition::size_bytes;
use crate::{RecordBatchStream, Result};

/// The rows of a piece, at most.
const MOST_ROWS: usize = 1 << 17;
/// The bytes of the pieces that are taken together, about, but for a single row.
const MOST_BYTES: u64 = 32 << 20;
/// So many pieces at most: of nothing but small rows there would be very many.
const MOST_PIECES: usize = 4;
/// Smaller batches are joined.
const FEW_ROWS: usize = 1 << 14;

/// Writes all rows and returns their number, counted as they came in.
pub(super) async fn write_rows(data: RecordBatchStream, incoming: Arc<Incoming>, sink: &mut FileSink) -> Result<u64> {
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

/// Batches as pieces.
struct Pieces {
    /// Until its end.
    data: Option<RecordBatchStream>,
    schema: SchemaRef,
    ready: VecDeque<RecordBatch>,
    small: Vec<RecordBatch>,
    small_rows: usize,
    most_bytes: u64,
    /// Rows that came in.
    rows: u64,
}

impl Pieces {
    /// Files can end between pieces only, so none is larger than a file.
    fn new(data: RecordBatchStream, target_file_size_bytes: u64) -> Self {
        let most_bytes = MOST_BYTES.min(target_file_size_bytes);
        Self {
            schema: data.schema(),
            data: Some(data),
            ready: VecDeque::new(),
            small: Vec::new(),
            small_rows: 0,
            most_bytes,
            rows: 0,
        }
    }

    /// Some pieces; none at the end.
    async fn next_few(&mut self) -> Result<Vec<RecordBatch>> {
        let (mut few, mut bytes) = (Vec::new(), 0);
        // However small files are to be, at least one: none means that there are no more.
        while few.is_empty() || (bytes < self.most_bytes / 2 && few.len() < MOST_PIECES) {
            let Some(piece) = self.next().await? else { break };
            bytes += size_bytes(&piece);
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
                Some(batch) => self.take(batch?)?,
                None => {
                    self.data = None;
                    return self.joined();
                }
            }
        }
    }

    fn take(&mut self, batch: RecordBatch) -> Result<()> {
        self.rows += batch.num_rows() as u64;
        if batch.num_rows() < FEW_ROWS {
            self.small_rows += batch.num_rows();
            self.small.push(batch);
            if self.small_rows >= FEW_ROWS {
                let joined = self.joined()?;
                self.ready.extend(joined);
            }
            return Ok(());
        }
        let joined = self.joined()?;
        self.ready.extend(joined);
        let rows = rows_of_piece(&batch, self.most_bytes);
        let starts = (0..batch.num_rows()).step_by(rows);
        self.ready.extend(starts.map(|start| batch.slice(start, rows.min(batch.num_rows() - start))));
        Ok(())
    }

    /// The small batches so far, as one.
    fn joined(&mut self) -> Result<Option<RecordBatch>> {
        self.small_rows = 0;
        let small = std::mem::take(&mut self.small);
        match small.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(one.clone())),
            several => Ok(Some(concat_batches(&self.schema, several)?)),
        }
    }
}

fn rows_of_piece(batch: &RecordBatch, most_bytes: u64) -> usize {
    let bytes_of_row = (size_bytes(batch) / batch.num_rows().max(1) as u64).max(1);
    usize::try_from(most_bytes / bytes_of_row).unwrap_or(MOST_ROWS).clamp(1, MOST_ROWS)
}
