//! Reads the files of a task: Parquet files become batches of the table's columns.
//!
//! [`read_files`] opens the files in order. `file` reads the metadata and the deletion vector and
//! decides which row groups and pages can hold matches. Each file is cut into pieces, and several
//! pieces are decoded at once (`piece`). Each piece becomes batches of the table's columns
//! (`schema_adapter`, `leaf_adapter`, `variant`, `calendar_rebase`). `form` describes the types in which decoding is fastest. The
//! batches are returned in the order of files and rows. Decoded rows that the consumer has not
//! taken count against a memory budget.

mod parquet_statistics;
pub(crate) mod column_selection;
mod column_source;
mod condition;
mod context;
mod file;
mod footer_statistics;
pub(crate) mod footer;
mod schema_adapter;
pub(crate) mod decoded_type;
mod metadata_bounds;
mod leaf_adapter;
mod options;
mod outbox;
mod output;
mod batch_assembler;
mod piece;
mod projection;
mod calendar_rebase;
mod resources;
mod row_ranges;
mod selectivity;
mod size;
mod table_layout;
#[cfg(test)]
mod tests;
mod variant;

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use arrow_array::RecordBatch;
use futures::Stream;
use lakebed_io::parquet::order::{InOrder, Lanes, in_order};
use lakebed_io::store::Store;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use self::context::ReadContext;
use self::file::OpenFile;
pub(crate) use self::footer_statistics::{bounds_hold_for_nan, row_group_statistics};
pub use self::options::{ReadOptions, RowTest};
use self::outbox::ReservedBatch;
use super::file::ScanFile;
use super::spec::ScanSpec;
use crate::runtime::stream::RecordBatchStream;
use crate::{Error, Result};

/// The number of files that are opened ahead.
const FILES_AHEAD: usize = 8;

/// Returns the rows of files, in the order of the files. It must be called within a Tokio runtime.
///
/// Reading starts when the stream is created. It runs ahead of the consumer as far as memory
/// allows. Dropping the stream stops it.
pub fn read_files(store: &Store, spec: &ScanSpec, files: Vec<ScanFile>, options: ReadOptions) -> Result<RecordBatchStream> {
    let context = Arc::new(ReadContext::new(store, spec, &files, options)?);
    let schema = Arc::clone(context.output.schema());
    let files = if spec.limit == Some(0) { VecDeque::new() } else { files.into_iter().enumerate().collect() };
    let batches = in_order(context.resources.lanes(), move |lanes| FilesReading { context, lanes, started_rows: 0 }.run(files));
    Ok(RecordBatchStream::new(schema, LimitedStream { batches: Some(batches), rows_left: spec.limit }))
}

/// A task that is being read.
struct FilesReading {
    context: Arc<ReadContext>,
    lanes: Lanes<ReservedBatch>,
    /// The rows of the pieces that were started so far. The number is exact if there is no
    /// condition.
    started_rows: u64,
}

impl FilesReading {
    async fn run(mut self, files: VecDeque<(usize, ScanFile)>) -> Result<()> {
        let started = self.start_all(files).await;
        // The rows and errors that come before this error in the order of the files are returned
        // first.
        self.lanes.finish().await?;
        started
    }

    async fn start_all(&mut self, files: VecDeque<(usize, ScanFile)>) -> Result<()> {
        let mut readahead =
            FileReadahead { context: Arc::clone(&self.context), files, opening: VecDeque::new(), tasks: JoinSet::new() };
        while let Some(file) = readahead.next().await {
            let file = Arc::new(file?);
            for piece in file.pieces(self.context.rows_wanted(self.started_rows))? {
                self.started_rows += piece.live_rows();
                self.start(&file, piece).await?;
            }
            if self.context.rows_wanted(self.started_rows) == Some(0) {
                break;
            }
        }
        Ok(())
    }

    async fn start(&mut self, file: &Arc<OpenFile>, piece: piece::Piece) -> Result<()> {
        let slot = self.lanes.slot().await?;
        let memory = &self.context.resources.memory;
        let share = tokio::select! {
            share = memory.reserve(piece.size_bytes()) => share,
            // A stream that holds no memory may always go on, so that two streams cannot wait for
            // each other.
            () = self.lanes.idle(&slot) => memory.reserve_now(piece.size_bytes()),
        };
        let (context, file) = (Arc::clone(&self.context), Arc::clone(file));
        self.lanes.start(slot, move |lane| piece.read(context, file, lane, share));
        Ok(())
    }
}

/// The files that are opened ahead, in order.
struct FileReadahead {
    context: Arc<ReadContext>,
    /// The files that are not being opened yet, with their indices in the task.
    files: VecDeque<(usize, ScanFile)>,
    opening: VecDeque<oneshot::Receiver<Result<OpenFile>>>,
    tasks: JoinSet<()>,
}

impl FileReadahead {
    async fn next(&mut self) -> Option<Result<OpenFile>> {
        // If there is a limit and nothing drops rows, the first file is usually enough.
        let most = if self.context.rows_wanted(0).is_some() { 1 } else { FILES_AHEAD };
        while self.opening.len() < most {
            let Some((index, file)) = self.files.pop_front() else { break };
            while self.tasks.try_join_next().is_some() {}
            let (sender, receiver) = oneshot::channel();
            let context = Arc::clone(&self.context);
            self.tasks.spawn(async move {
                let _ = sender.send(OpenFile::open(context, index, file).await);
            });
            self.opening.push_back(receiver);
        }
        let next = self.opening.pop_front()?;
        Some(next.await.unwrap_or_else(|_| Err(Error::internal("opening a data file was cancelled"))))
    }
}

/// The stream of batches, up to the limit.
struct LimitedStream {
    batches: Option<InOrder<ReservedBatch>>,
    rows_left: Option<u64>,
}

impl Stream for LimitedStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let Some(batches) = &mut this.batches else { return Poll::Ready(None) };
        let batch = match ready!(Pin::new(batches).poll_next(context)) {
            Some(Ok(reserved)) => reserved.into_batch(),
            Some(Err(error)) => {
                this.batches = None;
                return Poll::Ready(Some(Err(error)));
            }
            None => return Poll::Ready(None),
        };
        let Some(left) = &mut this.rows_left else { return Poll::Ready(Some(Ok(batch))) };
        let rows = batch.num_rows() as u64;
        let batch = if rows > *left { batch.slice(0, usize::try_from(*left).unwrap_or(usize::MAX)) } else { batch };
        *left -= batch.num_rows() as u64;
        if *left == 0 {
            // The limit is reached, so all work stops.
            this.batches = None;
        }
        Poll::Ready(Some(Ok(batch)))
    }
}
