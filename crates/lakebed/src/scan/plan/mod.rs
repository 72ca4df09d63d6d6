//! Which files may hold rows of a scan.
//!
//! [`Plan::files`] streams them: the checkpoint's first, then those of the commits above it, oldest first. Of a checkpoint only the columns
//! that the filter needs are decoded for every file (`checkpoint`), the others for the files that are left. Nothing of the size of the
//! table is held in memory.

mod checkpoint;
mod facts;
mod footers;
mod of_rows;
mod run;
mod stop;

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::BooleanArray;
use lakebed_core::log::files::FileBatch;
use lakebed_expr::Filter;
use lakebed_expr::prune::{ConjunctCounts, Pruner};

pub(crate) use self::facts::may_match;
use self::footers::Footers;
pub(crate) use self::of_rows::row_counts;
use crate::metrics::PlanMetrics;
use crate::{Result, Snapshot};

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

    /// Of each of these files, which were planned, whether the upper bounds in its footer are known to hold for NaN.
    pub(super) async fn complete_bounds(&self, batch: &FileBatch) -> Result<BooleanArray> {
        self.footers.complete_bounds(&self.snapshot, batch).await
    }

    /// Whether the rows of a checkpoint come already pruned.
    fn prunes_late(&self) -> bool {
        self.pruner.is_some() && !self.options.exact_metrics
    }
}
