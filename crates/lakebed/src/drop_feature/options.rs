//! The options of a drop of a table feature.

use std::time::Duration;

use serde::Deserialize;

use crate::alter::AlterOptions;
use crate::transaction::{CommitSettings, InfoEntries};
use crate::upkeep::UpkeepOptions;

/// The options of a drop of a table feature.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DropFeatureOptions {
    /// Whether versions that use the feature are deleted. Otherwise they stay, and their checkpoints
    /// are protected.
    pub truncate_history: bool,
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

impl DropFeatureOptions {
    pub(super) fn commit_settings(&self) -> CommitSettings {
        CommitSettings::of(self.user_metadata.as_ref(), &self.commit_info, self.upkeep, self.timeout)
    }

    pub(super) fn alter_options(&self) -> AlterOptions {
        AlterOptions {
            user_metadata: self.user_metadata.clone(),
            commit_info: self.commit_info.clone(),
            upkeep: self.upkeep,
            timeout: self.timeout,
        }
    }
}
