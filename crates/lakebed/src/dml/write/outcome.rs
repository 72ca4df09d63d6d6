//! The outcome of a write.

use serde::Serialize;

use crate::Snapshot;
use crate::metrics::metrics;

/// The outcome of a write.
#[derive(Debug, Clone)]
pub struct WriteOutcome {
    /// The version that was committed, or the latest version if nothing was written.
    pub version: u64,
    /// False if there was nothing to do: the mode left the existing table unchanged, or the table
    /// already had the write.
    pub committed: bool,
    /// The metrics of the write.
    pub metrics: WriteMetrics,
    /// The snapshot of that version. None if it could not be read after the commit; the commit is
    /// valid all the same.
    pub snapshot: Option<Snapshot>,
}

metrics! {
    /// The metrics of a write.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
    pub struct WriteMetrics {
        /// The number of added files.
        #[history(Write = "numFiles")]
        pub added_files: u64,
        /// The number of rows in the added files, including copied rows.
        #[history(Write = "numOutputRows")]
        pub output_rows: u64,
        /// The total size of the added files.
        #[history(Write = "numOutputBytes")]
        pub output_bytes: u64,
        /// The number of removed files.
        #[history(Overwrite = "numRemovedFiles")]
        pub removed_files: u64,
        /// The total size of the removed files.
        #[history(Overwrite = "numRemovedBytes")]
        pub removed_bytes: u64,
        /// The number of unchanged rows that were copied to new files.
        #[history(ReplaceWhere = "numCopiedRows")]
        pub copied_rows: u64,
        /// The number of replaced rows, if the log contains the row counts.
        #[history(ReplaceWhere = "numDeletedRows")]
        pub deleted_rows: Option<u64>,
        /// The number of change data files.
        #[history(ReplaceWhere = "numAddedChangeFiles")]
        pub change_files: u64,
        /// The number of conflicts.
        pub conflicts: u64,
    }
}
