//! The outcome of a check.

use std::collections::BTreeMap;

use super::finding::{Finding, FindingKind, Severity};
use super::options::Level;

/// The outcome of a check.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckOutcome {
    /// The newest version that the log shows.
    pub version: u64,
    /// The version of which the state, the files and the rows were checked: the newest one that can
    /// be read. `None` if none can be read.
    pub checked_version: Option<u64>,
    /// The depth that was requested.
    pub level: Level,
    /// The findings, the shallowest level first; of each kind at most as many as the limit.
    pub findings: Vec<Finding>,
    /// The number of all findings, by kind.
    pub counts: BTreeMap<FindingKind, u64>,
    /// The number of data files of the checked version, if the level counts them.
    pub files: Option<u64>,
    /// The number of rows that were read, at level `rows` and above.
    pub rows: Option<u64>,
}

impl CheckOutcome {
    /// Returns whether there is neither an error nor a warning.
    pub fn is_ok(&self) -> bool {
        self.counts.keys().all(|kind| kind.severity() == Severity::Notice)
    }
}
