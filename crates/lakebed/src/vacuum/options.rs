//! The options of a vacuum.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::Deserialize;

use crate::transaction::{CommitSettings, InfoEntries};
use crate::upkeep::UpkeepOptions;

/// The options of a vacuum.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct VacuumOptions {
    /// The source of candidates.
    pub mode: VacuumMode,
    /// The retention period: files that left the table within it stay, and so do younger files. The
    /// default is `delta.deletedFileRetentionDuration`, which is a week if the table does not set
    /// it.
    #[serde(rename = "retention_hours", deserialize_with = "crate::option_value::hours")]
    pub retention: Option<Duration>,
    /// Whether a retention period shorter than that property is refused. Without this check,
    /// readers of an older version and writers that have not committed yet may lose their files.
    /// Then no other process may use the table meanwhile.
    pub enforce_retention: bool,
    /// Older versions that stay readable, in addition to the tagged versions. The next vacuum has a
    /// list of its own.
    pub keep_versions: BTreeSet<u64>,
    /// Whether nothing is deleted or written. The outcome then contains the files that would be
    /// deleted.
    pub dry_run: bool,
    /// Whether two commits without files record the vacuum in the history, one before it and one
    /// after it.
    pub log_commits: bool,
    /// A text of the caller that is stored in the history.
    pub user_metadata: Option<String>,
    /// Entries of the caller in `commitInfo`, beside those that lakebed records.
    pub commit_info: InfoEntries,
    /// Whether a checkpoint and a cleanup of the log may follow the commit.
    pub upkeep: UpkeepOptions,
}

/// The source in which a vacuum looks for files to delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VacuumMode {
    /// The folders of the table. This also finds files that no commit ever named, such as files of
    /// writers that crashed.
    #[default]
    Full,
    /// The commits since the last vacuum. The cost does not depend on the size of the table's
    /// folders.
    Lite,
}

impl VacuumOptions {
    pub(super) fn commit_settings(&self) -> CommitSettings {
        CommitSettings::of(self.user_metadata.as_ref(), &self.commit_info, self.upkeep, None)
    }
}

impl Default for VacuumOptions {
    fn default() -> Self {
        Self {
            mode: VacuumMode::Full,
            retention: None,
            enforce_retention: true,
            keep_versions: BTreeSet::new(),
            dry_run: false,
            log_commits: true,
            user_metadata: None,
            commit_info: InfoEntries::default(),
            upkeep: UpkeepOptions::default(),
        }
    }
}
