//! What an OPTIMIZE returns.

use std::collections::BTreeMap;

use lakebed_core::layout::Method;
use serde::Serialize;

use crate::Snapshot;

/// What came of it.
#[derive(Debug, Clone)]
pub struct OptimizeOutcome {
    /// The last version that it became, or the latest one if nothing was done.
    pub version: u64,
    /// How many versions it became.
    pub commits: u64,
    /// What was done.
    pub metrics: OptimizeMetrics,
    /// The table as of that version; none if it could not be read since, which does not undo what was done.
    pub snapshot: Option<Snapshot>,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct OptimizeMetrics {
    /// Groups of files that were written anew.
    pub groups: u64,
    /// Groups that were given up because another writer changed one of their files meanwhile.
    pub lost_groups: u64,
    /// New files, and their sizes.
    pub added_files: u64,
    /// See above.
    pub added_bytes: u64,
    /// Files that are gone, and their sizes.
    pub removed_files: u64,
    /// See above.
    pub removed_bytes: u64,
    /// Files among them that had a deletion vector.
    pub deletion_vectors_removed: u64,
    /// Rows of the new files.
    pub rows: u64,
    /// The sizes of the new files: the smallest, those below which a quarter, half and three quarters of them are, and the largest.
    pub file_sizes: Option<[u64; 5]>,
    /// How many groups were clustered in which way.
    pub methods: BTreeMap<Method, u64>,
    /// Files that stayed and got statistics.
    pub described_files: u64,
    /// Files that were looked at in the log.
    pub scanned_files: u64,
    /// What did not fit into memory and went to disk meanwhile.
    pub spilled_bytes: u64,
    /// The most that the process had reserved of its memory budget meanwhile.
    pub peak_memory_bytes: u64,
    /// How often another writer was faster.
    pub conflicts: u64,
}
