//! The options of a restore.

use std::time::Duration;

use serde::Deserialize;

use crate::transaction::{CommitSettings, InfoEntries};
use crate::upkeep::UpkeepOptions;

/// The options of a restore. Either `version` or `timestamp_ms` is given.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RestoreOptions {
    /// The version to which the table goes back.
    pub version: Option<u64>,
    /// The version is the one that was the latest at this timestamp, in milliseconds since the
    /// epoch.
    pub timestamp_ms: Option<i64>,
    /// Only finds out what a restore would do, and commits nothing.
    pub dry_run: bool,
    /// Restores the files that still exist, although others were deleted.
    pub ignore_missing_files: bool,
    /// A text of the caller that is stored in the history.
    pub user_metadata: Option<String>,
    /// Entries of the caller in `commitInfo`, beside those that lakebed records.
    pub commit_info: InfoEntries,
    /// Whether a checkpoint and a cleanup of the log may follow the commit.
    pub upkeep: UpkeepOptions,
    /// The time limit for retries after conflicts.
    #[serde(deserialize_with = "crate::option_value::seconds::deserialize")]
    pub timeout: Option<Duration>,
}

impl RestoreOptions {
    pub(super) fn commit_settings(&self) -> CommitSettings {
        CommitSettings::of(self.user_metadata.as_ref(), &self.commit_info, self.upkeep, self.timeout)
    }
}
