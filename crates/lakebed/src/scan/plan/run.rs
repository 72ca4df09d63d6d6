//! Streams the files of a plan. The files of the checkpoint come first, then the files of the
//! commits above it.

use std::collections::HashSet;
use std::pin::pin;
use std::sync::PoisonError;

use arrow_array::BooleanArray;
use futures::stream::{self, BoxStream};
use futures::{Future, StreamExt};
use lakebed_core::log::files::{FileBatch, FileKey};
use lakebed_core::log::replay::{AddedFiles, Layers};
use lakebed_expr::prune::Pruner;
use lakebed_io::log;
use tokio::sync::mpsc::Sender;

use super::facts::{LogFacts, counted, keep_by_partition, keep_by_statistics};
use super::stop::Stop;
use super::{Plan, checkpoint};
use crate::runtime::stream::produce;
use crate::snapshot::runs_at_once;
use crate::{Error, Result, Snapshot};

/// The number of batches of files that are planned ahead of the consumer.
const AHEAD: usize = 4;

impl Plan {
    /// Returns the files in batches.
    pub fn files(&self) -> BoxStream<'static, Result<FileBatch>> {
        let plan = self.clone();
        produce(AHEAD, |sender| async move { plan.run(&sender).await })
    }

    /// Returns the files in batches, from exactly the files of the log that the snapshot names. If
    /// one of them is broken or missing, that is an error, although others could replace it.
    pub(crate) fn files_as_logged(&self) -> BoxStream<'static, Result<FileBatch>> {
        let plan = self.clone();
        produce(AHEAD, |sender| async move {
            match plan.send_files(&plan.snapshot, &sender, &mut SentFiles::default()).await {
                Err(Stop::Broken(error) | Stop::Failed(error)) => Err(error),
                Err(Stop::Unwanted) | Ok(()) => Ok(()),
            }
        })
    }

    /// Sends the files. If a file of the log turns out to be broken or missing, other files of the
    /// log replace it, also in the middle of the work.
    async fn run(&self, sender: &Sender<Result<FileBatch>>) -> Result<()> {
        let mut log = self.snapshot.readable_log().await?;
        let mut sent = SentFiles::default();
        loop {
            match self.send_files(log.snapshot(), sender, &mut sent).await {
                Err(Stop::Broken(error)) => {
                    log.mend(error).await?;
                    sent.start_over();
                }
                Err(Stop::Failed(error)) => return Err(error),
                Err(Stop::Unwanted) => return Ok(()),
                Ok(()) => {
                    if self.pruner.is_none() && self.only.is_none() {
                        self.snapshot.check_checksum(sent.files, sent.size_bytes);
                    }
                    return Ok(());
                }
            }
        }
    }

    async fn send_files(
        &self,
        snapshot: &Snapshot,
        sender: &Sender<Result<FileBatch>>,
        sent: &mut SentFiles,
    ) -> Result<(), Stop> {
        let layers = snapshot.layers().await?;
        if let Some(files) = snapshot.segment().checkpoint.as_ref().filter(|_| self.wants_files_below(layers)) {
            let mut rows = checkpoint::rows(self, snapshot, files).await?;
            while let Some(batch) = rows.next().await {
                let batch = visible(batch.map_err(Stop::of_checkpoint)?, layers)?;
                let batch = if self.prunes_late() { self.decide(batch)? } else { self.select(batch)? };
                self.send(self.select_by_footers(snapshot, batch).await?, sender, sent).await?;
            }
        }
        let wanted = layers.visible_files().filter(|added| added.as_ref().map_or(true, |added| self.wants_some_of(added)));
        let added = stream::iter(wanted).map(|added| self.select_added(snapshot, added));
        let mut added = pin!(added.buffered(runs_at_once()));
        while let Some(batches) = added.next().await {
            for batch in batches? {
                self.send(self.select_by_footers(snapshot, batch).await?, sender, sent).await?;
            }
        }
        Ok(())
    }

    /// Returns the files that commits added and that may hold rows.
    fn select_added(
        &self,
        snapshot: &Snapshot,
        added: Result<AddedFiles>,
    ) -> impl Future<Output = Result<Vec<FileBatch>, Stop>> + Send + use<> {
        let (plan, snapshot) = (self.clone(), snapshot.clone());
        async move {
            let added = added?;
            let texts = log::read_places(snapshot.store(), added.ranges()).await.map_err(Stop::of_commits)?;
            let work = tokio::task::spawn_blocking(move || {
                let batches = added.into_files(texts.iter().map(AsRef::as_ref))?;
                batches.into_iter().map(|batch| plan.select(batch)).collect::<Result<_>>()
            });
            Ok(work.await.map_err(|error| Error::internal("planning commits").with_source(error))??)
        }
    }

    async fn send(&self, batch: FileBatch, sender: &Sender<Result<FileBatch>>, sent: &mut SentFiles) -> Result<(), Stop> {
        let batch = sent.only_new(self.only_wanted(batch)?)?;
        if batch.is_empty() {
            return Ok(());
        }
        self.metrics.kept.add(batch.len() as u64);
        let sizes = batch.longs(lakebed_core::log::files::column::SIZE)?;
        let size_bytes = sizes.iter().flatten().filter_map(|size| u64::try_from(size).ok()).sum();
        self.metrics.kept_bytes.add(size_bytes);
        sent.files += batch.len() as u64;
        sent.size_bytes += size_bytes;
        sender.send(Ok(batch)).await.map_err(|_| Stop::Unwanted)
    }

    /// Returns whether the checkpoint below these layers may have a file of the plan.
    fn wants_files_below(&self, layers: &Layers) -> bool {
        self.only.as_ref().is_none_or(|only| only.iter().any(|key| !layers.hides(key)))
    }

    fn wants_some_of(&self, added: &AddedFiles) -> bool {
        self.only.as_ref().is_none_or(|only| added.keys().any(|key| only.contains(&key)))
    }

    fn only_wanted(&self, batch: FileBatch) -> Result<FileBatch> {
        let Some(only) = &self.only else { return Ok(batch) };
        let keep: BooleanArray = batch.keys()?.iter().map(|key| Some(only.contains(key))).collect();
        batch.filter(&keep)
    }

    /// Returns the files of a batch that may hold rows, as far as the log says. With exact metrics,
    /// all files are left for [`select_by_footers`](Self::select_by_footers).
    fn select(&self, batch: FileBatch) -> Result<FileBatch> {
        let Some(pruner) = self.pruner.as_ref().filter(|_| !self.options.exact_metrics) else { return Ok(batch) };
        let keep = keep_by_partition(pruner, &batch, &self.metrics)?;
        let batch = batch.filter(&keep)?;
        let keep = keep_by_statistics(pruner, &batch, &self.metrics)?;
        batch.filter(&keep)
    }

    /// Returns the files of a batch that may hold rows. Footers are read where the log does not
    /// decide.
    async fn select_by_footers(&self, snapshot: &Snapshot, batch: FileBatch) -> Result<FileBatch> {
        let Some(pruner) = self.pruner.as_ref().filter(|_| !batch.is_empty()) else { return Ok(batch) };
        if pruner.guarantees().len() == 0 && !self.options.exact_metrics {
            return Ok(batch);
        }
        let mut known = LogFacts::of(pruner, &batch)?;
        self.footers.read_guarantees(snapshot, pruner, &batch, &mut known).await?;
        if self.options.exact_metrics {
            return self.select_and_count(pruner, &batch, &known);
        }
        batch.filter(&counted(pruner.prune_stats(&known.columns(batch.len()))?, &self.metrics.skipped_by_statistics))
    }

    /// Prunes files of a checkpoint again by partition values if the predicate may fail on these.
    /// The first pruning could not fail, because it was not known yet which of the files the table
    /// still has.
    fn decide(&self, batch: FileBatch) -> Result<FileBatch> {
        match &self.pruner {
            Some(pruner) if pruner.may_fail_on_partitions() => batch.filter(&keep_by_partition(pruner, &batch, &self.metrics)?),
            _ => Ok(batch),
        }
    }

    /// Prunes a batch in one step, so that it is known for every file why it was skipped or kept.
    fn select_and_count(&self, pruner: &Pruner, batch: &FileBatch, known: &LogFacts) -> Result<FileBatch> {
        let result = pruner.prune(&known.columns(batch.len()))?;
        self.metrics.skipped_by_partition.add(result.by_partition as u64);
        self.metrics.skipped_by_statistics.add(result.by_stats as u64);
        let mut sums = self.conjuncts.lock().unwrap_or_else(PoisonError::into_inner);
        for (sum, more) in sums.iter_mut().zip(&result.by_conjunct) {
            sum.by_partition += more.by_partition;
            sum.by_stats += more.by_stats;
            sum.undecided += more.undecided;
        }
        batch.filter(&result.keep)
    }
}

/// Returns the files of a checkpoint that no later commit removed or replaced.
fn visible(batch: FileBatch, layers: &Layers) -> Result<FileBatch> {
    if layers.hides_nothing() || batch.is_empty() {
        return Ok(batch);
    }
    let keep: BooleanArray = batch.keys()?.iter().map(|key| Some(!layers.hides(key))).collect();
    batch.filter(&keep)
}

/// The files that were already sent. They are not sent again if other files of the log take over.
#[derive(Default)]
struct SentFiles {
    keys: Vec<FileKey>,
    files: u64,
    size_bytes: u64,
    /// The files that were sent before a file of the log turned out to be broken or missing.
    before: HashSet<FileKey>,
}

impl SentFiles {
    fn only_new(&mut self, batch: FileBatch) -> Result<FileBatch> {
        let keys = batch.keys()?;
        if self.before.is_empty() {
            self.keys.extend(keys);
            return Ok(batch);
        }
        let keep: BooleanArray = keys.iter().map(|key| Some(!self.before.contains(key))).collect();
        self.keys.extend(keys.iter().zip(keep.values()).filter(|(_, new)| *new).map(|(key, _)| *key));
        batch.filter(&keep)
    }

    /// Prepares for files of the log that list the same files again.
    fn start_over(&mut self) {
        self.before.extend(self.keys.drain(..));
    }
}
