//! The outcome of a restore.

use crate::Snapshot;
use crate::metrics::metrics;

/// The result of a restore.
#[derive(Debug, Clone)]
pub struct RestoreOutcome {
    /// The version that the restore created, or the newest one if nothing was committed.
    pub version: u64,
    /// The version to which the table goes back.
    pub restored_version: u64,
    /// False if the table is in the state of that version already, or in a dry run.
    pub committed: bool,
    /// The metrics of the restore.
    pub metrics: RestoreMetrics,
    /// The snapshot of `version`. It is `None` if the snapshot could not be read after the commit.
    pub snapshot: Option<Snapshot>,
}

metrics! {
    /// The metrics of a restore.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
    pub struct RestoreMetrics {
        /// The number of files that come back. A file that gets its old deletion vector back counts
        /// here and as removed.
        #[history(Restore = "numRestoredFiles")]
        pub restored_files: u64,
        /// The total size of these files.
        #[history(Restore = "restoredFilesSize")]
        pub restored_bytes: u64,
        /// The number of files that leave.
        #[history(Restore = "numRemovedFiles")]
        pub removed_files: u64,
        /// The total size of these files.
        #[history(Restore = "removedFilesSize")]
        pub removed_bytes: u64,
        /// The number of files of the table after the restore.
        #[history(Restore = "numOfFilesAfterRestore")]
        pub num_files: u64,
        /// The total size of these files.
        #[history(Restore = "tableSizeAfterRestore")]
        pub size_bytes: u64,
        /// The number of files to come back that do not exist any more.
        pub missing_files: u64,
        /// The number of conflicts.
        pub conflicts: u64,
    }
}
