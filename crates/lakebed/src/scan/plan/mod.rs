//! Which files may hold rows of a scan.
//!
//! [`Plan::files`] streams them: the checkpoint's first, then those of the commits above it, oldest first. Of a checkpoint only the columns
//! that the filter needs are decoded for every file (`checkpoint`), the others for the files that are left. Nothing of the size of the
//! table is held in memory.

mod checkpoint;
mod footers;
mod of_rows;

use std::collections::HashSet;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_arith::boolean::and;
use arrow_array::{ArrayRef, BooleanArray};
use futures::stream::{self, BoxStream};
use futures::{Future, StreamExt};
use lakebed_core::log::files::{FileBatch, FileKey};
use lakebed_core::log::replay::{AddedFiles, Layers};
use lakebed_expr::Filter;
use lakebed_expr::prune::{ConjunctCounts, FileFacts, Pruner};
use lakebed_io::log;
use tokio::sync::mpsc::Sender;

use self::footers::Footers;
pub(crate) use self::of_rows::row_counts;
use crate::metrics::{Counter, PlanMetrics};
use crate::runtime::stream::produce;
use crate::snapshot::runs_at_once;
use crate::{Error, Result, Snapshot};

/// Batches of files that are planned ahead of the reader.
const AHEAD: usize = 4;

/// How to find the files of a scan.
#[derive(Clone)]
pub struct Plan {
    snapshot: Snapshot,
    pruner: Option<Arc<Pruner>>,
    options: PlanOptions,
    metrics: Arc<PlanMetrics>,
    /// What each conjunct did, if exact metrics are wanted.
    conjuncts: Arc<Mutex<Vec<ConjunctCounts>>>,
    footers: Arc<Footers>,
}

/// What is wanted of the files, beyond what every reader needs.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlanOptions {
    /// Row counts.
    pub row_counts: bool,
    /// Exact counts of skipped files, conjunct by conjunct, at the price of decoding more.
    pub exact_metrics: bool,
    /// Everything that the log says of them: what a checkpoint is made of.
    pub whole_actions: bool,
    /// What [`Plan::complete_bounds`] takes.
    pub complete_bounds: bool,
}

impl Plan {
    /// The files of a snapshot that may hold rows for which the filter is true.
    pub fn new(snapshot: &Snapshot, filter: Option<&Filter>, options: PlanOptions) -> Result<Self> {
        let pruner = filter
            .map(|filter| Pruner::new(filter, snapshot.schema(), snapshot.partition_columns(), snapshot.mapping_mode()))
            .transpose()?;
        let counts = vec![ConjunctCounts::default(); pruner.as_ref().map_or(0, |pruner| pruner.conjuncts().count())];
        Ok(Self {
            snapshot: snapshot.clone(),
            pruner: pruner.map(Arc::new),
            options,
            metrics: Arc::default(),
            conjuncts: Arc::new(Mutex::new(counts)),
            footers: Arc::default(),
        })
    }

    /// What was skipped and kept so far.
    pub fn metrics(&self) -> Arc<PlanMetrics> {
        self.metrics.clone()
    }

    /// What each conjunct of the filter did so far; nothing without exact metrics.
    pub fn by_conjunct(&self) -> Vec<ConjunctCounts> {
        self.conjuncts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What rules out files, if there is a filter.
    pub fn pruner(&self) -> Option<&Pruner> {
        self.pruner.as_deref()
    }

    /// The files.
    pub fn files(&self) -> BoxStream<'static, Result<FileBatch>> {
        let plan = self.clone();
        produce(AHEAD, |sender| async move { plan.run(&sender).await })
    }

    /// Of each of these files, which were planned, whether the upper bounds in its footer are known to hold for NaN.
    pub(super) async fn complete_bounds(&self, batch: &FileBatch) -> Result<BooleanArray> {
        self.footers.complete_bounds(&self.snapshot, batch).await
    }

    /// Other files of the log stand in for what turns out to be broken or gone, also in the middle of the work.
    async fn run(&self, sender: &Sender<Result<FileBatch>>) -> Result<()> {
        let mut log = self.snapshot.readable_log().await?;
        let mut sent = Sent::default();
        loop {
            match self.send_files(log.snapshot(), sender, &mut sent).await {
                Err(Stop::Broken(error)) => {
                    log.mend(error).await?;
                    sent.start_over();
                }
                Err(Stop::Failed(error)) => return Err(error),
                Err(Stop::Unwanted) => return Ok(()),
                Ok(()) => {
                    if self.pruner.is_none() {
                        self.snapshot.check_checksum(sent.files, sent.size_bytes);
                    }
                    return Ok(());
                }
            }
        }
    }

    async fn send_files(&self, snapshot: &Snapshot, sender: &Sender<Result<FileBatch>>, sent: &mut Sent) -> Result<(), Stop> {
        let layers = snapshot.layers().await?;
        if let Some(files) = &snapshot.segment().checkpoint {
            let mut rows = checkpoint::rows(self, snapshot, files).await?;
            while let Some(batch) = rows.next().await {
                let batch = visible(batch.map_err(Stop::of_checkpoint)?, layers)?;
                let batch = if self.prunes_late() { self.decide(batch)? } else { self.select(batch)? };
                self.send(self.select_by_footers(snapshot, batch).await?, sender, sent).await?;
            }
        }
        let added = stream::iter(layers.visible_files()).map(|added| self.select_added(snapshot, added));
        let mut added = pin!(added.buffered(runs_at_once()));
        while let Some(batches) = added.next().await {
            for batch in batches? {
                self.send(self.select_by_footers(snapshot, batch).await?, sender, sent).await?;
            }
        }
        Ok(())
    }

    /// Of the files that commits added, those that may hold rows.
    fn select_added(
        &self,
        snapshot: &Snapshot,
        added: Result<AddedFiles>,
    ) -> impl Future<Output = Result<Vec<FileBatch>, Stop>> + Send + use<> {
        let (plan, snapshot) = (self.clone(), snapshot.clone());
        async move {
            let added = added?;
            let texts = log::read_places(snapshot.store(), added.places()).await.map_err(Stop::of_commits)?;
            let work = tokio::task::spawn_blocking(move || {
                let batches = added.into_files(texts.iter().map(AsRef::as_ref))?;
                batches.into_iter().map(|batch| plan.select(batch)).collect::<Result<_>>()
            });
            Ok(work.await.map_err(|error| Error::internal("planning commits").with_source(error))??)
        }
    }

    /// Whether the rows of a checkpoint come already pruned.
    fn prunes_late(&self) -> bool {
        self.pruner.is_some() && !self.options.exact_metrics
    }

    async fn send(&self, batch: FileBatch, sender: &Sender<Result<FileBatch>>, sent: &mut Sent) -> Result<(), Stop> {
        let batch = sent.only_new(batch)?;
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

    /// The files of a batch that may hold rows, as far as the log tells. Where they are counted conjunct by conjunct, all are left for
    /// [`select_by_footers`](Self::select_by_footers).
    fn select(&self, batch: FileBatch) -> Result<FileBatch> {
        let Some(pruner) = self.pruner.as_ref().filter(|_| !self.options.exact_metrics) else { return Ok(batch) };
        let keep = keep_by_partition(pruner, &batch, &self.metrics)?;
        let batch = batch.filter(&keep)?;
        let keep = keep_by_statistics(pruner, &batch, &self.metrics)?;
        batch.filter(&keep)
    }

    /// Of the files that the log leaves those that may hold rows, once their footers were asked what the log leaves open.
    async fn select_by_footers(&self, snapshot: &Snapshot, batch: FileBatch) -> Result<FileBatch> {
        let Some(pruner) = self.pruner.as_ref().filter(|_| !batch.is_empty()) else { return Ok(batch) };
        if pruner.questions().len() == 0 && !self.options.exact_metrics {
            return Ok(batch);
        }
        let mut known = Known::of(pruner, &batch)?;
        self.footers.ask(snapshot, pruner, &batch, &mut known).await?;
        if self.options.exact_metrics {
            return self.select_and_count(pruner, &batch, &known);
        }
        batch.filter(&counted(pruner.prune_stats(&known.columns(batch.len()))?, &self.metrics.skipped_by_statistics))
    }

    /// The same of rows of a checkpoint that were pruned before it was known which of them the table still has.
    fn decide(&self, batch: FileBatch) -> Result<FileBatch> {
        match &self.pruner {
            Some(pruner) if pruner.may_fail_on_partitions() => batch.filter(&keep_by_partition(pruner, &batch, &self.metrics)?),
            _ => Ok(batch),
        }
    }

    /// All at once, so that it is known of every file what became of it.
    fn select_and_count(&self, pruner: &Pruner, batch: &FileBatch, known: &Known) -> Result<FileBatch> {
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

/// Of each of these files whether it may hold rows that match the pruner's filter.
pub(crate) fn may_match(pruner: &Pruner, batch: &FileBatch) -> Result<BooleanArray> {
    let known = Known::of(pruner, batch)?;
    let by_partition = pruner.prune_candidates(batch.len(), &known.partitions)?;
    Ok(and(&by_partition, &pruner.prune_stats(&known.columns(batch.len()))?)?)
}

/// The facts of the log about some files that a filter needs.
#[derive(Clone)]
struct Known {
    partitions: Vec<ArrayRef>,
    stats: Vec<ArrayRef>,
    /// To the questions of the filter about statistics.
    answers: Vec<BooleanArray>,
}

impl Known {
    fn of(pruner: &Pruner, batch: &FileBatch) -> Result<Self> {
        let answers = match pruner.questions().len() {
            0 => Vec::new(),
            questions => vec![batch.complete_stats()?; questions],
        };
        Ok(Self { partitions: partition_arrays(pruner, batch)?, stats: of_rows::statistics(pruner, batch)?, answers })
    }

    fn columns(&self, files: usize) -> FileFacts<'_> {
        FileFacts { files, partitions: &self.partitions, stats: &self.stats, answers: &self.answers }
    }
}

/// The values of the partition columns that the filter names, in the pruner's order.
fn partition_arrays(pruner: &Pruner, batch: &FileBatch) -> Result<Vec<ArrayRef>> {
    pruner.partition_columns().iter().map(|column| batch.partition_values(&column.physical, column.data_type)).collect()
}

fn keep_by_partition(pruner: &Pruner, batch: &FileBatch, metrics: &PlanMetrics) -> Result<BooleanArray> {
    let keep = pruner.prune_partitions(batch.len(), &partition_arrays(pruner, batch)?)?;
    Ok(counted(keep, &metrics.skipped_by_partition))
}

/// The same for files that later commits may have removed.
fn keep_candidates(pruner: &Pruner, batch: &FileBatch, metrics: &PlanMetrics) -> Result<BooleanArray> {
    let keep = pruner.prune_candidates(batch.len(), &partition_arrays(pruner, batch)?)?;
    Ok(counted(keep, &metrics.skipped_by_partition))
}

fn keep_by_statistics(pruner: &Pruner, batch: &FileBatch, metrics: &PlanMetrics) -> Result<BooleanArray> {
    let keep = pruner.prune_stats(&Known::of(pruner, batch)?.columns(batch.len()))?;
    Ok(counted(keep, &metrics.skipped_by_statistics))
}

/// What is kept, with the others counted as skipped.
fn counted(keep: BooleanArray, skipped: &Counter) -> BooleanArray {
    skipped.add((keep.len() - keep.true_count()) as u64);
    keep
}

/// The files of a checkpoint that no later commit removed or replaced.
fn visible(batch: FileBatch, layers: &Layers) -> Result<FileBatch> {
    if layers.hides_nothing() || batch.is_empty() {
        return Ok(batch);
    }
    let keep: BooleanArray = batch.keys()?.iter().map(|key| Some(!layers.hides(key))).collect();
    batch.filter(&keep)
}

/// The files that were sent already, should other files of the log have to take over.
#[derive(Default)]
struct Sent {
    keys: Vec<FileKey>,
    files: u64,
    size_bytes: u64,
    /// Those of the files of the log that broke or went.
    before: HashSet<FileKey>,
}

impl Sent {
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

    /// What comes now gives the files again.
    fn start_over(&mut self) {
        self.before.extend(self.keys.drain(..));
    }
}

/// Why planning stopped early.
enum Stop {
    /// Other files of the log can stand in.
    Broken(Error),
    Failed(Error),
    /// The reader went away.
    Unwanted,
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl Stop {
    fn of_checkpoint(error: Error) -> Self {
        if error.is_corrupt() || error.is_not_found() { Self::Broken(error) } else { Self::Failed(error) }
    }

    /// A clean-up removes commits for which there is a checkpoint; for broken ones there is nothing.
    fn of_commits(error: Error) -> Self {
        if error.is_not_found() { Self::Broken(error) } else { Self::Failed(error) }
    }
}
