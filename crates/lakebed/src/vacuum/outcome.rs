//! The outcome of a vacuum.

use arrow_array::RecordBatch;
use serde::Serialize;

use crate::Snapshot;
use crate::metrics::metrics;

/// The outcome of a vacuum.
#[derive(Debug, Clone)]
pub struct VacuumOutcome {
    /// The newest version that is known after the vacuum.
    pub version: u64,
    /// The metrics of the vacuum.
    pub metrics: VacuumMetrics,
    /// The deleted files, or in a dry run the files that would be deleted. The columns are `path`
    /// below the table as the store names it, `size_bytes`, and `modification_time`, which is null
    /// if it was not read. Of more than a million files, these are the first million.
    pub files: RecordBatch,
    /// The snapshot of that version; None if it could not be read afterwards.
    pub snapshot: Option<Snapshot>,
}

metrics! {
    /// The metrics of a vacuum.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
    pub struct VacuumMetrics {
        /// The number of files that were examined: in folders, in an inventory, or among those that
        /// commits removed.
        pub listed_files: u64,
        /// The number of folders that were listed.
        #[history(VacuumEnd = "numVacuumedDirectories")]
        pub listed_folders: u64,
        /// The number of files that no version needs, but that are within the retention period.
        pub young_files: u64,
        /// The number of files to delete.
        #[history(VacuumStart = "numFilesToDelete")]
        pub found_files: u64,
        /// The total size of the files to delete. Commits do not contain the sizes of deletion
        /// vector files.
        #[history(VacuumStart = "sizeOfDataToDelete")]
        pub found_bytes: u64,
        /// The number of deleted files.
        #[history(VacuumEnd = "numDeletedFiles")]
        pub deleted_files: u64,
        /// The total size of the deleted files.
        pub deleted_bytes: u64,
        /// The number of files that no longer existed.
        pub missing_files: u64,
        /// The number of deleted local folders. These were old and empty.
        pub deleted_folders: u64,
    }
}
