//! The files of a shallow clone: those of its source, by their absolute paths.
//!
//! There may be a million of them. They stay columns all the way: batches of files are named, get row
//! ids, and then become lines of the commit and rows of its checkpoint, on all cores.

use std::sync::Arc;

use futures::stream::FuturesOrdered;
use futures::{Future, TryStreamExt};
use lakebed_core::commit::copied::{CopiedFiles, CopiedLines};
use lakebed_core::log::files::{FileBatch, column};

use super::earlier::{EarlierFiles, all_files};
use super::outcome::CloneMetrics;
use super::target_file::absolute;
use crate::checkpoint::CheckpointAhead;
use crate::definition::Definition;
use crate::file_progress::Reporter;
use crate::runtime::spool::{Spool, Spooled};
use crate::snapshot::runs_at_once;
use crate::transaction::Transaction;
use crate::{Error, Result, Snapshot};

/// Names the files of a source.
pub(super) struct NameFiles<'a> {
    pub(super) source: &'a Snapshot,
    /// The URI of the source, with a slash at the end.
    pub(super) root: &'a Arc<str>,
    pub(super) reporter: &'a Reporter,
}

impl NameFiles<'_> {
    /// Adds the files to the transaction. Files that the target has already stay. `new` is the
    /// definition of the target if the clone creates it.
    pub(super) async fn run(
        &self,
        new: Option<&Definition>,
        earlier: &mut Option<EarlierFiles>,
        transaction: &mut Transaction,
    ) -> Result<CloneMetrics> {
        let mut checkpoint = Checkpoint::begin(new, transaction);
        let mut files = transaction.copied_files()?;
        match self.collect(earlier, &mut files, &mut checkpoint).await {
            Ok((metrics, lines)) => {
                transaction.take_over(files, lines, checkpoint.begun);
                Ok(metrics)
            }
            Err(error) => {
                checkpoint.abort().await;
                Err(error)
            }
        }
    }

    async fn collect(
        &self,
        earlier: &mut Option<EarlierFiles>,
        files: &mut CopiedFiles,
        checkpoint: &mut Checkpoint,
    ) -> Result<(CloneMetrics, Spooled)> {
        let (mut metrics, mut lines) = (CloneMetrics::default(), Spool::new());
        let mut named = all_files(self.source)?.map_ok(|batch| self.named(batch)).try_buffered(runs_at_once());
        let mut rendered = FuturesOrdered::new();
        while let Some(mut batch) = named.try_next().await? {
            self.count(&batch, &mut metrics)?;
            if let Some(earlier) = earlier {
                let before = batch.len();
                batch = earlier.keep_named(&batch)?;
                metrics.kept_files += (before - batch.len()) as u64;
            }
            let batch = files.with_row_ids(&batch)?;
            checkpoint.push(&batch).await;
            rendered.push_back(on_a_thread("rendering files", move || CopiedLines::of(&batch)));
            if rendered.len() > runs_at_once()
                && let Some(done) = rendered.try_next().await?
            {
                lines.append(files.add(done)).await?;
            }
        }
        while let Some(done) = rendered.try_next().await? {
            lines.append(files.add(done)).await?;
        }
        Ok((metrics, lines.finish().await?))
    }

    fn named(&self, batch: FileBatch) -> impl Future<Output = Result<FileBatch>> + use<> {
        let (source, root) = (self.source.store().clone(), Arc::clone(self.root));
        on_a_thread("naming files", move || absolute(&source, &root, &batch))
    }

    fn count(&self, batch: &FileBatch, metrics: &mut CloneMetrics) -> Result<()> {
        metrics.source_files += batch.len() as u64;
        for size in batch.longs(column::SIZE)?.iter() {
            let size = size.and_then(|size| u64::try_from(size).ok()).unwrap_or(0);
            metrics.source_bytes += size;
            self.reporter.done(size);
        }
        Ok(())
    }
}

/// The checkpoint that is written beside the commit. A failure never fails the clone: the checkpoint
/// is then written after the commit, like any other.
struct Checkpoint {
    begun: Option<CheckpointAhead>,
    table: String,
}

impl Checkpoint {
    fn begin(new: Option<&Definition>, transaction: &Transaction) -> Self {
        let mut checkpoint = Self { begun: None, table: transaction.store().url().to_owned() };
        let begin = |new: &Definition| CheckpointAhead::begin(transaction.store(), &new.protocol, &new.metadata, &new.clustering);
        match new.map_or(Ok(None), begin) {
            Ok(begun) => checkpoint.begun = begun,
            Err(error) => checkpoint.warn(&error),
        }
        checkpoint
    }

    async fn push(&mut self, files: &FileBatch) {
        let Some(begun) = &mut self.begun else { return };
        if let Err(error) = begun.push(files.clone()).await {
            self.warn(&error);
            self.abort().await;
        }
    }

    async fn abort(&mut self) {
        if let Some(begun) = self.begun.take() {
            begun.abort().await;
        }
    }

    fn warn(&self, error: &Error) {
        let table = &self.table;
        tracing::warn!(table, "{table}: the checkpoint cannot be written beside the commit, so it is written after it: {error}");
    }
}

/// Runs work on a thread for blocking work. It begins at once.
fn on_a_thread<T: Send + 'static>(
    name: &'static str,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> impl Future<Output = Result<T>> {
    let work = tokio::task::spawn_blocking(work);
    async move { work.await.map_err(|error| Error::internal(name).with_source(error))? }
}
