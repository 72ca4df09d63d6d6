//! The outcome of an erase.

use serde::Serialize;

use crate::Snapshot;
use crate::metrics::metrics;

/// The result of an erase.
#[derive(Debug, Clone)]
pub struct EraseOutcome {
    /// The newest version after the erase.
    pub version: u64,
    /// False if nothing was committed: nothing holds matching rows, or it is a dry run.
    pub committed: bool,
    /// The metrics of the erase.
    pub metrics: EraseMetrics,
    /// The versions that still hold such rows, oldest first.
    pub older: Vec<HoldingVersions>,
    /// The snapshot of that version.
    pub snapshot: Option<Snapshot>,
}

/// Consecutive older versions that hold matching rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HoldingVersions {
    /// The first of them.
    pub first_version: u64,
    /// The last of them.
    pub last_version: u64,
    /// The number of their data files that hold such rows.
    pub data_files: u64,
    /// The number of their change data files that hold such rows.
    pub change_files: u64,
    /// The number of their files that were deleted before, and that may have held such rows by what
    /// the log says about them. The log may hold values of these rows.
    pub missing_files: u64,
    /// The number of their files for which the predicate could not be decided. They count as
    /// holding such rows.
    pub undecided_files: u64,
    /// The time from which a vacuum deletes these files, in milliseconds since the epoch; `None` if
    /// a tag keeps them, or if they were all deleted before.
    pub files_until_ms: Option<i64>,
    /// The time from which a cleanup of the log deletes their log files, in milliseconds since the
    /// epoch; `None` if a tag keeps them.
    pub log_until_ms: Option<i64>,
    /// The tags of these versions. As long as a version has a tag, its files stay.
    pub tags: Vec<String>,
}

metrics! {
    /// The metrics of an erase.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
    pub struct EraseMetrics {
        /// The number of rows that left the newest version; `None` if the log has no row count of a
        /// file that was removed as a whole.
        #[history(Erase = "numDeletedRows")]
        pub erased_rows: Option<u64>,
        /// The number of rows that were copied to new files.
        #[history(Erase = "numCopiedRows")]
        pub copied_rows: u64,
        /// The number of new files.
        #[history(Erase = "numAddedFiles")]
        pub added_files: u64,
        /// The total size of the new files.
        #[history(Erase = "numAddedBytes")]
        pub added_bytes: u64,
        /// The number of files that left the newest version.
        #[history(Erase = "numRemovedFiles")]
        pub removed_files: u64,
        /// The total size of these files.
        #[history(Erase = "numRemovedBytes")]
        pub removed_bytes: u64,
        /// The number of removed files that had a deletion vector.
        #[history(Erase = "numDeletionVectorsRemoved")]
        pub deletion_vectors_removed: u64,
        /// The number of removed files in which all matching rows had been deleted before.
        #[history(Erase = "numPurgedFiles")]
        pub purged_files: u64,
        /// The number of data files, change data files and deletion vector files that were deleted.
        pub deleted_files: u64,
        /// The total size of the deleted data files and change data files.
        pub deleted_bytes: u64,
        /// The number of files of the log that were deleted or emptied.
        pub deleted_log_files: u64,
        /// The number of files outside of the table's folder that hold matching rows. They belong to
        /// the source of a shallow clone and stay.
        pub outside_files: u64,
        /// The number of files in which rows were searched.
        pub scanned_files: u64,
        /// The total size of these files. Fewer bytes are read.
        pub scanned_bytes: u64,
        /// The number of conflicts.
        pub conflicts: u64,
    }
}
