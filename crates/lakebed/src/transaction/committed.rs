//! The outcome of a commit.

use crate::Snapshot;

/// What was committed.
#[derive(Debug, Clone)]
pub struct Committed {
    /// The version that it became.
    pub version: u64,
    /// The table as of that version; none if it could not be read since, which does not undo the commit.
    pub snapshot: Option<Snapshot>,
    /// How often another was first.
    pub conflicts: u64,
}
