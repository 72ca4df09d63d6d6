//! The outcome of an OPTIMIZE.

use std::collections::BTreeMap;

use lakebed_core::layout::Method;
use serde::Serialize;

use crate::Snapshot;
use crate::metrics::metrics;

/// The outcome of an OPTIMIZE.
#[derive(Debug, Clone)]
pub struct OptimizeOutcome {
    /// The last version that was committed, or the latest version if nothing was done.
    pub version: u64,
    /// The number of committed versions.
    pub commits: u64,
    /// The metrics of the OPTIMIZE.
    pub metrics: OptimizeMetrics,
    /// The snapshot of that version. None if it could not be read after the commit; the commit is
    /// valid all the same.
    pub snapshot: Option<Snapshot>,
}

metrics! {
    /// The metrics of an OPTIMIZE.
    #[derive(Debug, Clone, PartialEq, Default, Serialize)]
    pub struct OptimizeMetrics {
        /// The number of rewritten groups of files.
        pub groups: u64,
        /// The number of groups that were given up because another writer changed one of their
        /// files meanwhile.
        pub lost_groups: u64,
        /// The number of added files.
        #[history(Optimize = "numAddedFiles")]
        pub added_files: u64,
        /// The total size of the added files.
        #[history(Optimize = "numAddedBytes")]
        pub added_bytes: u64,
        /// The number of removed files.
        #[history(Optimize = "numRemovedFiles")]
        pub removed_files: u64,
        /// The total size of the removed files.
        #[history(Optimize = "numRemovedBytes")]
        pub removed_bytes: u64,
        /// The number of removed files that had a deletion vector.
        #[history(Optimize = "numDeletionVectorsRemoved")]
        pub deletion_vectors_removed: u64,
        /// The number of rows in the added files.
        pub rows: u64,
        /// The sizes of the added files: the smallest, the sizes at one fourth, one half and three
        /// fourths, and the largest.
        pub file_sizes: Option<[u64; 5]>,
        /// The number of groups that were clustered, by method.
        pub methods: BTreeMap<Method, u64>,
        /// The number of files that stayed and got statistics.
        pub described_files: u64,
        /// The number of files that were examined in the log.
        pub scanned_files: u64,
        /// The number of bytes that spilled to disk.
        pub spilled_bytes: u64,
        /// The most memory that the process had reserved from its memory budget during the
        /// OPTIMIZE.
        pub peak_memory_bytes: u64,
        /// The number of conflicts.
        pub conflicts: u64,
    }
}
