//! The options of a repair.

use std::time::Duration;

use serde::Deserialize;

use crate::transaction::InfoEntries;
use crate::upkeep::UpkeepOptions;

use crate::check::Level;

/// The choice for a data file whose deletion vector cannot be read. Nobody knows then which of its rows
/// are deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LostDeletionVectors {
    /// The deletion vector is dropped. The rows that it deleted come back.
    RestoreDeletedRows,
    /// The data file is removed from the table. All of its rows are lost.
    DropFiles,
}

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
    /// The choice for data files whose deletion vector cannot be read. `None` leaves the files as they
    /// are.
    pub lost_deletion_vectors: Option<LostDeletionVectors>,
    /// Whether the newest commits that cannot be read are moved aside. Their changes are lost.
    pub truncate_log: bool,
    /// A text of the caller that is stored in the history.
    pub user_metadata: Option<String>,
    /// Entries of the caller in `commitInfo`, beside those that lakebed records.
    pub commit_info: InfoEntries,
    /// Whether a checkpoint and a cleanup of the log may follow the commit.
    pub upkeep: UpkeepOptions,
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
            lost_deletion_vectors: None,
            truncate_log: false,
            user_metadata: None,
            commit_info: InfoEntries::default(),
            upkeep: UpkeepOptions::default(),
            timeout: None,
        }
    }
}
