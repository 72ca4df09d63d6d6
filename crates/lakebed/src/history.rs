//! The history of a table: the commits that the log still has, newest first.

use futures::{StreamExt, TryStreamExt};
use lakebed_core::Result;
use lakebed_core::action::CommitInfo;
use lakebed_core::path::LogPath;
use lakebed_io::log;

use crate::Snapshot;
use crate::snapshot::commit_info;

/// The number of commits that are read at a time.
const CONCURRENCY: usize = 32;

/// One commit.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryEntry {
    /// The version that the commit created.
    pub version: u64,
    /// The time of the commit in milliseconds since the epoch: the commit's own timestamp, else the
    /// adjusted time of its file.
    pub timestamp_ms: i64,
    /// The `commitInfo` of the writer; empty if the commit has none.
    pub info: CommitInfo,
}

impl Snapshot {
    /// Returns the commits up to this version that the log still has, newest first.
    pub async fn history(&self, limit: Option<usize>) -> Result<Vec<HistoryEntry>> {
        self.refuse_pending("a look at the history")?;
        let listed = log::list_log(self.store(), None).await?;
        let times = log::adjusted_times(&listed);
        let newest = times.into_iter().rev().filter(|(path, _)| path.version <= self.version());
        let wanted: Vec<(LogPath, i64)> = newest.take(limit.unwrap_or(usize::MAX)).collect();
        futures::stream::iter(wanted)
            .map(|(path, time)| async move { self.history_entry(&path, time).await })
            .buffered(CONCURRENCY)
            .try_collect()
            .await
    }

    async fn history_entry(&self, path: &LogPath, file_time_ms: i64) -> Result<HistoryEntry> {
        let info = commit_info(self.store(), path).await?.unwrap_or_default();
        Ok(HistoryEntry { version: path.version, timestamp_ms: info.in_commit_timestamp().unwrap_or(file_time_ms), info })
    }
}
