//! The outcome of a write.

use serde::Serialize;

use crate::Snapshot;

/// What came of a write.
#[derive(Debug, Clone)]
pub struct WriteOutcome {
    /// The version that it became, or the latest one if nothing was written.
    pub version: u64,
    /// False if there was nothing to do: the table was to be left alone, or knew the write already.
    pub committed: bool,
    /// What was written.
    pub metrics: WriteMetrics,
    /// The table as of that version; none if it could not be read since, which does not undo the write.
    pub snapshot: Option<Snapshot>,
}

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct WriteMetrics {
    /// New files.
    pub added_files: u64,
    /// Their rows, those among them that were copied.
    pub output_rows: u64,
    /// The sizes of the new files.
    pub output_bytes: u64,
    /// Files that made way.
    pub removed_files: u64,
    /// Their sizes.
    pub removed_bytes: u64,
    /// Rows that stayed but had to move to new files.
    pub copied_rows: u64,
    /// Rows that made way, if the log tells how many there were.
    pub deleted_rows: Option<u64>,
    /// Files of changed rows.
    pub change_files: u64,
    /// How often another writer was faster.
    pub conflicts: u64,
}
