//! The outcome of a clone.

use serde::Serialize;

use crate::Snapshot;
use crate::metrics::metrics;

/// The outcome of a clone.
#[derive(Debug, Clone)]
pub struct CloneOutcome {
    /// The version of the target that the clone created.
    pub version: u64,
    /// The metrics of the clone.
    pub metrics: CloneMetrics,
    /// The snapshot of that version. It is `None` if it could not be read after the commit, which
    /// does not undo the clone.
    pub snapshot: Option<Snapshot>,
}

metrics! {
    /// The metrics of a clone.
    #[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
    pub struct CloneMetrics {
        /// The number of data files of the source.
        #[history(Clone = "sourceNumOfFiles")]
        pub source_files: u64,
        /// The total size of the data files of the source.
        #[history(Clone = "sourceTableSize")]
        pub source_bytes: u64,
        /// The number of data files that were copied.
        #[history(Clone = "numCopiedFiles")]
        pub copied_files: u64,
        /// The total size of the copied data files.
        #[history(Clone = "copiedFilesSize")]
        pub copied_bytes: u64,
        /// The number of data files that left the target.
        #[history(Clone = "numRemovedFiles")]
        pub removed_files: u64,
        /// The total size of the data files that left the target.
        #[history(Clone = "removedFilesSize")]
        pub removed_bytes: u64,
        /// The number of data files that the target had already.
        pub kept_files: u64,
        /// The number of data files that an interrupted clone had copied already.
        pub resumed_files: u64,
        /// The number of files of deletion vectors that were copied.
        pub copied_vector_files: u64,
        /// The number of conflicts.
        pub conflicts: u64,
    }
}
