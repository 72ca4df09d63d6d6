//! What a caller asks of a merge.

use super::clause::Clause;
use crate::dml::change::ChangeOptions;

/// What a caller asks of a merge.
#[derive(Debug, Clone)]
pub(super) struct Given {
    pub(super) on: String,
    /// The columns that must be equal, where the merge is one by keys. Then `on` only says so in the history.
    pub(super) keys: Vec<String>,
    pub(super) target_alias: String,
    pub(super) source_alias: String,
    pub(super) clauses: Vec<Clause>,
    pub(super) evolves: bool,
    pub(super) options: ChangeOptions,
    /// What the current time means, from beginning to end.
    pub(super) now_ms: i64,
}
