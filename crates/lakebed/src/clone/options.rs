//! The options of a clone.

use std::collections::HashMap;
use std::time::Duration;

use serde::Deserialize;

use crate::transaction::InfoEntries;
use crate::upkeep::UpkeepOptions;

/// The options of a clone.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CloneOptions {
    /// Whether the clone names the data files of its source instead of copying them.
    pub shallow: bool,
    /// What happens if the target exists already.
    pub mode: CloneMode,
    /// Properties that replace those of the source.
    pub properties: HashMap<String, String>,
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

/// The behaviour of a clone if the target exists already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CloneMode {
    /// Returns an error.
    #[default]
    Error,
    /// Replaces the table in one commit. Files that an earlier clone of the same source brought
    /// stay.
    Replace,
}
