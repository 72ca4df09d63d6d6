//! The options of a repair.

use std::time::Duration;

use serde::Deserialize;

use crate::transaction::InfoEntries;

use crate::check::Level;

/// The options of a repair.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RepairOptions {
    /// Whether nothing is written.
    pub dry_run: bool,
    /// The depth of the check that finds the damage. Wrong statistics are found from `footers` on.
    pub level: Level,
    /// Whether data files that do not exist are removed from the table. Their rows are lost.
    pub drop_missing_files: bool,
    /// Whether the newest commits that cannot be read are moved aside. Their changes are lost.
    pub truncate_log: bool,
    /// A text of the caller that is stored in the history.
    pub user_metadata: Option<String>,
    /// Entries of the caller in `commitInfo`, beside those that lakebed records.
    pub commit_info: InfoEntries,
    /// The time limit for retries of commits after conflicts.
    #[serde(deserialize_with = "crate::option_value::seconds::deserialize")]
    pub timeout: Option<Duration>,
}

impl Default for RepairOptions {
    fn default() -> Self {
        Self {
            dry_run: true,
            level: Level::default(),
            drop_missing_files: false,
            truncate_log: false,
            user_metadata: None,
            commit_info: InfoEntries::default(),
            timeout: None,
        }
    }
}
