//! The files of a deep clone: copies of those of its source.

use std::pin::pin;
use std::sync::Arc;

use futures::{StreamExt, stream};
use lakebed_core::commit::copied::CopiedLines;
use lakebed_core::log::files::FileBatch;
use lakebed_io::store::Store;

use super::copy::Copier;
use super::earlier::{EarlierFiles, all_files};
use super::outcome::CloneMetrics;
use super::target_file::{TargetFile, copied};
use crate::file_progress::Reporter;
use crate::runtime::spool::Spool;
use crate::snapshot::runs_at_once;
use crate::transaction::Transaction;
use crate::{Error, Result, Snapshot};

/// The number of files whose lines are collected before they may leave the memory.
const FILES_TOGETHER: usize = 8192;

/// Copies the files of a source.
pub(super) struct CopyFiles<'a> {
    pub(super) source: &'a Snapshot,
    /// The folder of the copies below the target's root. The root itself is "".
    pub(super) folder: &'a Arc<str>,
    pub(super) reporter: &'a Reporter,
}

impl CopyFiles<'_> {
    /// Copies the files and adds the copies to the transaction. Files that the target has already
    /// stay.
    pub(super) async fn run(&self, earlier: &mut Option<EarlierFiles>, transaction: &mut Transaction) -> Result<CloneMetrics> {
        let mut metrics = CloneMetrics::default();
        let copier = Copier::begin(transaction.store()).await?;
        let (mut files, mut lines) = (transaction.copied_files()?, Spool::new());
        let named =
            all_files(self.source)?.map(|batch| target_files(self.source.store().clone(), Arc::clone(self.folder), batch));
        let named = named.buffered(runs_at_once()).map(stream::iter).flatten();
        let wanted = named.filter_map(|file| {
            if let Ok(file) = &file {
                let size = u64::try_from(file.add.size).unwrap_or(0);
                metrics.source_files += 1;
                metrics.source_bytes += size;
                if earlier.as_mut().is_some_and(|earlier| earlier.keep_copy(&file.add)) {
                    metrics.kept_files += 1;
                    self.reporter.done(size);
                    return std::future::ready(None);
                }
            }
            std::future::ready(Some(file))
        });
        let mut wanted = pin!(wanted.peekable());
        while wanted.as_mut().peek().await.is_some() {
            let mut copied = CopiedLines::default();
            let copy = copier.copy_all(wanted.as_mut().take(FILES_TOGETHER), |mut add| {
                self.reporter.done(u64::try_from(add.size).unwrap_or(0));
                files.give_row_ids(&mut add)?;
                copied.push(add)
            });
            copy.await?;
            lines.append(files.add(copied)).await?;
        }
        transaction.take_over(files, lines.finish().await?, None);
        metrics.copied_files = copier.copied_files.get();
        metrics.copied_bytes = copier.copied_bytes.get();
        metrics.resumed_files = copier.resumed_files.get();
        metrics.copied_vector_files = copier.vector_files.get();
        Ok(metrics)
    }
}

/// Names the files of a batch, on a thread for blocking work.
async fn target_files(source: Store, folder: Arc<str>, batch: Result<FileBatch>) -> Vec<Result<TargetFile>> {
    let work =
        tokio::task::spawn_blocking(move || Ok(batch?.to_adds()?.into_iter().map(|add| copied(&source, &folder, add)).collect()));
    let done: Result<_> = work.await.map_err(|error| Error::internal("naming files").with_source(error)).flatten();
    done.unwrap_or_else(|error| vec![Err(error)])
}
