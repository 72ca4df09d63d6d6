//! Chooses the files that may hold rows of a scan.
//!
//! [`Plan::files`] streams them. The files of the checkpoint come first, then the files of the
//! commits above it, oldest first. For every file of a checkpoint only the columns that the
//! predicate needs are decoded (`checkpoint`). The other columns are decoded only for the files
//! that remain. A plan holds nothing of the size of the table in memory.

mod checkpoint;
mod facts;
mod footers;
mod of_rows;
mod run;
mod stop;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::BooleanArray;
use lakebed_core::log::files::{FileBatch, FileKey};
use lakebed_expr::Filter;
use lakebed_expr::prune::{ConjunctCounts, Pruner};

pub(crate) use self::facts::{may_match, partition_may_match};
use self::footers::Footers;
use crate::metrics::PlanMetrics;
use crate::{Result, Snapshot};

/// A plan that finds the files of a scan.
#[derive(Clone)]
pub struct Plan {
    snapshot: Snapshot,
    pruner: Option<Arc<Pruner>>,
    /// The files to return, if the plan is of certain files. It has no pruner then.
    only: Option<Arc<HashSet<FileKey>>>,
    options: PlanOptions,
    metrics: Arc<PlanMetrics>,
    /// The counts of each conjunct, if exact metrics are requested.
    conjuncts: Arc<Mutex<Vec<ConjunctCounts>>>,
    footers: Arc<Footers>,
}

/// The information about files that a caller needs beyond what every reader needs.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlanOptions {
    /// Include row counts.
    pub row_counts: bool,
    /// Count skipped files exactly, conjunct by conjunct. This decodes more columns.
    pub exact_metrics: bool,
    /// Include everything that the log says about the files. Writing a checkpoint needs it.
    pub whole_actions: bool,
    /// Include everything that a tombstone keeps of a file.
    pub tombstones: bool,
    /// Include the columns that [`Plan::complete_bounds`] needs.
    pub complete_bounds: bool,
}

impl Snapshot {
    /// Returns the pruner of files without rows for which a filter is true.
    pub(crate) fn pruner(&self, filter: &Filter) -> Result<Arc<Pruner>> {
        Ok(Arc::new(Pruner::new(filter, self.schema(), self.partition_columns(), self.mapping_mode())?))
    }
}

impl Plan {
    /// Returns a plan of the files of a snapshot that may hold rows for which the predicate is
    /// true.
    pub fn new(snapshot: &Snapshot, filter: Option<&Filter>, options: PlanOptions) -> Result<Self> {
        let pruner = filter.map(|filter| snapshot.pruner(filter)).transpose()?;
        Ok(Self::of_pruner(snapshot, pruner, options))
    }

    /// Returns a plan of the files of a snapshot that a pruner keeps.
    pub(crate) fn of_pruner(snapshot: &Snapshot, pruner: Option<Arc<Pruner>>, options: PlanOptions) -> Self {
        let counts = vec![ConjunctCounts::default(); pruner.as_ref().map_or(0, |pruner| pruner.conjuncts().count())];
        Self {
            snapshot: snapshot.clone(),
            pruner,
            only: None,
            options,
            metrics: Arc::default(),
            conjuncts: Arc::new(Mutex::new(counts)),
            footers: Arc::default(),
        }
    }

    /// Returns a plan of those of these files that the snapshot has. For other files of the
    /// checkpoint, only the columns that identify a file are decoded. If the commits above the
    /// checkpoint decide on all of the files, the checkpoint is not read.
    pub(crate) fn of_files(snapshot: &Snapshot, files: HashSet<FileKey>, options: PlanOptions) -> Self {
        Self { only: Some(Arc::new(files)), ..Self::of_pruner(snapshot, None, options) }
    }

    /// Returns the counts of files that were skipped and kept so far.
    pub fn metrics(&self) -> Arc<PlanMetrics> {
        self.metrics.clone()
    }

    /// Returns the counts of each conjunct of the predicate so far. The counts stay 0 without exact
    /// metrics.
    pub fn by_conjunct(&self) -> Vec<ConjunctCounts> {
        self.conjuncts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the pruner that rules out files, if there is a predicate.
    pub fn pruner(&self) -> Option<&Pruner> {
        self.pruner.as_deref()
    }

    /// Returns for each of these planned files whether the upper bounds in its footer are known to
    /// hold for NaN.
    pub(super) async fn complete_bounds(&self, batch: &FileBatch) -> Result<BooleanArray> {
        self.footers.complete_bounds(&self.snapshot, batch).await
    }

    /// Returns whether the rows of a checkpoint are pruned while they are decoded.
    fn prunes_late(&self) -> bool {
        self.pruner.is_some() && !self.options.exact_metrics
    }
}
