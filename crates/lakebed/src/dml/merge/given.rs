//! The arguments of a merge.

use super::clause::Clause;
use crate::dml::change::ChangeOptions;

/// The arguments of a merge.
#[derive(Debug, Clone)]
pub(super) struct Given {
    pub(super) on: String,
    /// The columns that must be equal, if the merge is by keys. Then `on` is only the text for the
    /// history.
    pub(super) keys: Vec<String>,
    pub(super) target_alias: String,
    pub(super) source_alias: String,
    pub(super) clauses: Vec<Clause>,
    pub(super) evolves: bool,
    pub(super) options: ChangeOptions,
    /// The value of the current time for the whole merge.
    pub(super) now_ms: i64,
}
