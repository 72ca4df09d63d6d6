//! The outcome of a drop of a table feature.

use serde::Serialize;

use crate::Snapshot;

/// The outcome of a drop of a table feature.
#[derive(Debug, Clone)]
pub struct DropFeatureOutcome {
    /// The version without the feature.
    pub version: u64,
    /// The feature, by its name in the protocol.
    pub feature: String,
    /// Older versions need the feature, and checkpoints before this version are protected. `None` if
    /// no reader needs the feature, or if these versions were deleted.
    pub protected_before: Option<u64>,
    /// The oldest version that is left, if older ones were deleted.
    pub first_version: Option<u64>,
    /// What was done.
    pub metrics: DropFeatureMetrics,
    /// The snapshot of the version. `None` if it could not be read after the commit, which does not
    /// undo the drop.
    pub snapshot: Option<Snapshot>,
}

/// The work of a drop.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct DropFeatureMetrics {
    /// The number of versions that were committed.
    pub commits: u64,
    /// The number of files that were rewritten, and of the files in their place.
    pub removed_files: u64,
    /// The number of new files.
    pub added_files: u64,
    /// The number of rewritten files that had a deletion vector.
    pub deletion_vectors_removed: u64,
    /// The number of deleted commits, checkpoints, log compactions and checksums.
    pub deleted_log_files: u64,
}
