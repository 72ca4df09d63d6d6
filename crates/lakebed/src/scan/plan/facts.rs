//! Facts of the log about files, in the form in which a pruner uses them.

use arrow_arith::boolean::and;
use arrow_array::{ArrayRef, BooleanArray};
use lakebed_core::log::files::FileBatch;
use lakebed_expr::prune::{FileFacts, Pruner};

use super::of_rows;
use crate::Result;
use crate::metrics::{Counter, PlanMetrics};

/// Returns for each of these files whether it may hold rows that match the predicate of the pruner.
pub(crate) fn may_match(pruner: &Pruner, batch: &FileBatch) -> Result<BooleanArray> {
    let known = LogFacts::of(pruner, batch)?;
    let by_partition = pruner.prune_candidates(batch.len(), &known.partitions)?;
    Ok(and(&by_partition, &pruner.prune_stats(&known.columns(batch.len()))?)?)
}

/// Returns for each of these files whether its partition may hold rows that match the predicate of
/// the pruner.
pub(crate) fn partition_may_match(pruner: &Pruner, batch: &FileBatch) -> Result<BooleanArray> {
    pruner.prune_candidates(batch.len(), &partition_arrays(pruner, batch)?)
}

/// Facts of the log about some files, as far as a predicate needs them.
#[derive(Clone)]
pub(super) struct LogFacts {
    pub(super) partitions: Vec<ArrayRef>,
    pub(super) stats: Vec<ArrayRef>,
    /// For each guarantee that the pruner needs, the files for which it holds.
    pub(super) guaranteed: Vec<BooleanArray>,
}

impl LogFacts {
    pub(super) fn of(pruner: &Pruner, batch: &FileBatch) -> Result<Self> {
        let guaranteed = match pruner.guarantees().len() {
            0 => Vec::new(),
            guarantees => vec![batch.complete_stats()?; guarantees],
        };
        Ok(Self { partitions: partition_arrays(pruner, batch)?, stats: of_rows::statistics(pruner, batch)?, guaranteed })
    }

    pub(super) fn columns(&self, files: usize) -> FileFacts<'_> {
        FileFacts { files, partitions: &self.partitions, stats: &self.stats, guaranteed: &self.guaranteed }
    }
}

/// Returns the values of the partition columns that the predicate names, in the order of the
/// pruner.
fn partition_arrays(pruner: &Pruner, batch: &FileBatch) -> Result<Vec<ArrayRef>> {
    pruner.partition_columns().iter().map(|column| batch.partition_values(&column.physical, column.data_type)).collect()
}

pub(super) fn keep_by_partition(pruner: &Pruner, batch: &FileBatch, metrics: &PlanMetrics) -> Result<BooleanArray> {
    let keep = pruner.prune_partitions(batch.len(), &partition_arrays(pruner, batch)?)?;
    Ok(counted(keep, &metrics.skipped_by_partition))
}

/// Does the same as [`keep_by_partition`] for files that later commits may have removed.
pub(super) fn keep_candidates(pruner: &Pruner, batch: &FileBatch, metrics: &PlanMetrics) -> Result<BooleanArray> {
    let keep = pruner.prune_candidates(batch.len(), &partition_arrays(pruner, batch)?)?;
    Ok(counted(keep, &metrics.skipped_by_partition))
}

pub(super) fn keep_by_statistics(pruner: &Pruner, batch: &FileBatch, metrics: &PlanMetrics) -> Result<BooleanArray> {
    let keep = pruner.prune_stats(&LogFacts::of(pruner, batch)?.columns(batch.len()))?;
    Ok(counted(keep, &metrics.skipped_by_statistics))
}

/// Returns the files that are kept, and counts the others as skipped.
pub(super) fn counted(keep: BooleanArray, skipped: &Counter) -> BooleanArray {
    skipped.add((keep.len() - keep.true_count()) as u64);
    keep
}
