//! The options of an erase.

use std::time::Duration;

use serde::Deserialize;

use crate::transaction::{CommitSettings, InfoEntries};
use crate::upkeep::UpkeepOptions;
use crate::write::settings::FileSettings;

/// The options of an erase.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EraseOptions {
    /// The rows for which this Spark SQL expression is true are erased.
    #[serde(rename = "where")]
    pub filter: String,
    /// Drops the older versions if one of them holds such rows.
    #[serde(default)]
    pub history: bool,
    /// Only finds out what holds such rows, and changes nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// A text of the caller that is stored in the history.
    #[serde(default)]
    pub user_metadata: Option<String>,
    /// Entries of the caller in `commitInfo`, beside those that lakebed records.
    #[serde(default)]
    pub commit_info: InfoEntries,
    /// Whether a checkpoint and a cleanup of the log may follow the commit.
    #[serde(default)]
    pub upkeep: UpkeepOptions,
    /// The approximate size of new files. The default is the table's property; without one it is
    /// 128 MiB.
    #[serde(default, rename = "target_file_size")]
    pub target_file_size_bytes: Option<u64>,
    /// The time limit for retries after conflicts.
    #[serde(default, deserialize_with = "crate::option_value::seconds::deserialize")]
    pub timeout: Option<Duration>,
}

impl EraseOptions {
    /// Returns the options to erase the rows for which this Spark SQL expression is true from the
    /// newest version.
    pub fn new(filter: impl Into<String>) -> Self {
        Self {
            filter: filter.into(),
            history: false,
            dry_run: false,
            user_metadata: None,
            commit_info: InfoEntries::default(),
            upkeep: UpkeepOptions::default(),
            target_file_size_bytes: None,
            timeout: None,
        }
    }

    pub(super) fn commit_settings(&self) -> CommitSettings {
        CommitSettings::of(self.user_metadata.as_ref(), &self.commit_info, self.upkeep, self.timeout)
    }

    pub(super) fn file_settings(&self) -> FileSettings {
        FileSettings { target_file_size_bytes: self.target_file_size_bytes, ..FileSettings::default() }
    }
}
