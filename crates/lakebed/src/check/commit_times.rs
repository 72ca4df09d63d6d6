//! In-commit timestamps of consecutive versions. PROTOCOL "In-Commit Timestamps": each is greater
//! than that of the version before.

use std::collections::HashSet;

use lakebed_core::log::segment::{ListedLogFile, readable_versions};
use lakebed_core::path::LogPath;

use super::finding::{Finding, FindingKind};
use crate::Snapshot;

/// Compares the in-commit timestamps of versions, oldest first.
pub(super) struct CommitTimes {
    /// The first version that must have one. `None` if none must.
    first: Option<u64>,
    last: Option<(u64, i64)>,
}

impl CommitTimes {
    /// Prepares for the versions that the log can rebuild.
    pub(super) fn of(snapshot: &Snapshot, listed: &[ListedLogFile], unusable: &HashSet<String>) -> Self {
        let properties = snapshot.properties();
        let enabled = properties.in_commit_timestamps.then(|| properties.in_commit_timestamp_enablement_version.unwrap_or(0));
        // Older commits may be what a cleanup left.
        let oldest = readable_versions(listed, unusable).first().copied();
        Self { first: enabled.zip(oldest).map(|(enabled, oldest)| enabled.max(oldest)), last: None }
    }

    /// Compares the next commit with the one before.
    pub(super) fn check(&mut self, commit: &LogPath, time_ms: Option<i64>) -> Option<Finding> {
        let version = commit.version;
        self.first.filter(|first| version >= *first)?;
        let wrong = |message: String| Finding::new(FindingKind::CommitTimeWrong, message).file(&commit.name).version(version);
        let Some(time_ms) = time_ms else { return Some(wrong("it has no in-commit timestamp".to_owned())) };
        let last = self.last.replace((version, time_ms));
        let (before, last_ms) = last.filter(|(_, last_ms)| *last_ms >= time_ms)?;
        Some(wrong(format!("its in-commit timestamp is {time_ms}, but that of version {before} is {last_ms}")))
    }
}
