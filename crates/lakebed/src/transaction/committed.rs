//! The outcome of a commit.

use crate::Snapshot;

/// The result of a successful commit.
#[derive(Debug, Clone)]
pub struct Committed {
    /// The version that the commit created.
    pub version: u64,
    /// The snapshot of that version. It is `None` if the snapshot could not be read after the
    /// commit, which does not undo the commit.
    pub snapshot: Option<Snapshot>,
    /// The number of times that another writer took the version first.
    pub conflicts: u64,
}
