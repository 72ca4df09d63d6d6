//! What a vacuum returns.

use arrow_array::RecordBatch;
use serde::Serialize;

use crate::Snapshot;

/// What came of a vacuum.
#[derive(Debug, Clone)]
pub struct VacuumOutcome {
    /// The newest version afterwards that is known.
    pub version: u64,
    /// What was done.
    pub metrics: VacuumMetrics,
    /// What went, or in a dry run would go: `path` below the table as the store names it, `size_bytes`, and `modification_time`, which is null
    /// where it was not asked for. Of more than a million files the first million.
    pub files: RecordBatch,
    /// The table as of that version; none if it could not be read since.
    pub snapshot: Option<Snapshot>,
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct VacuumMetrics {
    /// Files that were looked at: in folders, in an inventory, or among what commits removed.
    pub listed_files: u64,
    /// Folders that were looked into.
    pub listed_folders: u64,
    /// Files that no version needs, but that are younger than the retention.
    pub young_files: u64,
    /// Files that were to go, and their sizes; a commit does not tell the sizes of deletion vectors' files.
    pub found_files: u64,
    /// See above.
    pub found_bytes: u64,
    /// Files that went, and their sizes.
    pub deleted_files: u64,
    /// See above.
    pub deleted_bytes: u64,
    /// Files that were not there any more.
    pub missing_files: u64,
    /// Folders of this machine that went: old ones with nothing in them.
    pub deleted_folders: u64,
}
