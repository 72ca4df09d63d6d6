//! The options of a vacuum.

use std::time::Duration;

use serde::Deserialize;

/// How to vacuum.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct VacuumOptions {
    /// Where candidates come from.
    pub mode: VacuumMode,
    /// What left the table within this time stays, and so does what is younger; by default `delta.deletedFileRetentionDuration`, a week if the
    /// table does not set it.
    #[serde(rename = "retention_hours", deserialize_with = "crate::option_value::hours")]
    pub retention: Option<Duration>,
    /// Whether a retention shorter than that property is refused. Without it, readers of an older version and writers that have not committed
    /// yet may lose their files: then nobody else may use the table meanwhile.
    pub enforce_retention: bool,
    /// Whether nothing is deleted or written: the outcome tells what would go.
    pub dry_run: bool,
    /// Whether two commits without files tell of it in the history, one before and one after.
    pub log_commits: bool,
    /// Words of the caller's own, kept in the history.
    pub user_metadata: Option<String>,
}

/// Where a vacuum looks for files to delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VacuumMode {
    /// In the folders of the table: finds also what no commit ever named, such as files of writers that died.
    #[default]
    Full,
    /// In the commits since the last vacuum: costs nothing of the size of the table's folders.
    Lite,
}

impl Default for VacuumOptions {
    fn default() -> Self {
        Self {
            mode: VacuumMode::Full,
            retention: None,
            enforce_retention: true,
            dry_run: false,
            log_commits: true,
            user_metadata: None,
        }
    }
}
