//! The options of a merge.

use serde::Deserialize;

use super::clause::Clause;
use crate::dml::change::ChangeOptions;

/// The options of a merge.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MergeOptions {
    /// The condition: a target row and a source row match if it is true for them.
    pub on: String,
    /// Columns that must be equal for rows to match. If there are any, they replace the condition.
    /// Null equals null. Source values are compared in the form in which the table stores them: an
    /// empty string in a partition column is null.
    pub keys: Vec<String>,
    /// The name of the table in expressions.
    pub target_alias: String,
    /// The name of the source in expressions.
    pub source_alias: String,
    /// The clauses, in order. For each row, the first clause that applies and whose condition is
    /// true takes effect.
    pub clauses: Vec<Clause>,
    /// The treatment of columns that the table lacks.
    pub schema_mode: MergeSchemaMode,
    /// The options that all changes of rows have. The binding reads them by themselves.
    #[serde(skip)]
    pub change: ChangeOptions,
}

/// The treatment of columns that the table lacks, in a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeSchemaMode {
    /// Such columns are an error if all columns of the source are assigned. Otherwise they are
    /// ignored.
    #[default]
    Enforce,
    /// Such columns are added to the table.
    Merge,
}

impl Default for MergeOptions {
    fn default() -> Self {
        Self {
            on: String::new(),
            keys: Vec::new(),
            target_alias: "target".to_owned(),
            source_alias: "source".to_owned(),
            clauses: Vec::new(),
            schema_mode: MergeSchemaMode::default(),
            change: ChangeOptions::default(),
        }
    }
}

impl MergeOptions {
    /// Returns whether columns that the table lacks are added to it.
    pub(super) fn evolves(&self) -> bool {
        self.schema_mode == MergeSchemaMode::Merge
    }
}
