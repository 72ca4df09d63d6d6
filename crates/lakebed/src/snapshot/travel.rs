//! Finds the version at a timestamp.

use lakebed_core::commit::timestamp::{IctEnablement, Search, Step, VersionTime, monotonise};
use lakebed_core::log::segment::{ListedLogFile, reconstructible_range};
use lakebed_core::path::LogPath;
use lakebed_core::{Error, Result};
use lakebed_io::log;

use super::{Snapshot, commit_info};

/// Returns the version that was the latest at this time, among those that the log can still
/// rebuild.
pub(crate) async fn version_at(latest: &Snapshot, timestamp_ms: i64) -> Result<u64> {
    let listed = log::list_log(latest.store(), None).await?;
    let range = reconstructible_range(&listed).unwrap_or(latest.version()..=latest.version());
    let mut commits = commits_of(latest, &listed);
    commits.retain(|commit| range.contains(&commit.version));
    search(latest, timestamp_ms, &commits).await
}

/// Returns the first version that was committed at this time or later, among those with commits
/// that the log still has.
pub(crate) async fn first_version_from(latest: &Snapshot, timestamp_ms: i64) -> Result<u64> {
    CommitTimes::list(latest).await?.first_from(timestamp_ms).await
}

/// The times of the commits that the log still has.
pub(crate) struct CommitTimes<'a> {
    latest: &'a Snapshot,
    /// The commits with the times of their files.
    commits: Vec<VersionTime>,
}

impl<'a> CommitTimes<'a> {
    /// Lists the commits up to this version.
    pub(crate) async fn list(latest: &'a Snapshot) -> Result<Self> {
        let commits = commits_of(latest, &log::list_log(latest.store(), None).await?);
        Ok(Self { latest, commits })
    }

    /// Returns the first version that was committed at this time or later.
    pub(crate) async fn first_from(&self, timestamp_ms: i64) -> Result<u64> {
        let latest = self.latest;
        if let Some(first) = self.commits.first() {
            let is_own = enablement(latest).is_some_and(|ict| ict.version <= first.version);
            let time = if is_own { in_commit_timestamp(latest, first.version).await? } else { first.timestamp_ms };
            if time >= timestamp_ms {
                return Ok(first.version);
            }
        }
        match search(latest, timestamp_ms.saturating_sub(1), &self.commits).await {
            Ok(before) if before < latest.version() => Ok(before + 1),
            // There is no version after the last one. The error of the search says so.
            _ => search(latest, timestamp_ms, &self.commits).await,
        }
    }

    /// Returns the first version that was committed at this time or later, and makes sure that none
    /// is missed. A time before the first commit that the log still has is refused if there were
    /// earlier commits.
    pub(crate) async fn first_since(&self, timestamp_ms: i64) -> Result<u64> {
        if self.commits.first().is_some_and(|first| first.version > 0) {
            search(self.latest, timestamp_ms, &self.commits).await?;
        }
        self.first_from(timestamp_ms).await
    }

    /// Returns the last version that was committed at this time or earlier.
    pub(crate) async fn last_until(&self, timestamp_ms: i64) -> Result<u64> {
        let latest = self.latest;
        let time = if enablement(latest).is_some() {
            Some(in_commit_timestamp(latest, latest.version()).await?)
        } else {
            let mut times = self.commits.clone();
            monotonise(&mut times);
            times.last().map(|last| last.timestamp_ms)
        };
        match time {
            Some(time) if time <= timestamp_ms => Ok(latest.version()),
            _ => search(latest, timestamp_ms, &self.commits).await,
        }
    }
}

fn commits_of(latest: &Snapshot, listed: &[ListedLogFile]) -> Vec<VersionTime> {
    let commits = listed.iter().filter(|file| file.path.is_commit() && file.path.version <= latest.version());
    commits.map(|file| VersionTime { version: file.path.version, timestamp_ms: file.modified_ms }).collect()
}

async fn search(latest: &Snapshot, timestamp_ms: i64, commits: &[VersionTime]) -> Result<u64> {
    let mut search = Search::new(timestamp_ms, commits, enablement(latest)).map_err(|error| error.within(latest.url()))?;
    loop {
        match search.step() {
            Step::Done(version) => return Ok(version),
            Step::Read(version) => {
                let timestamp_ms = in_commit_timestamp(latest, version).await?;
                search.learn(timestamp_ms).map_err(|error| error.within(latest.url()))?;
            }
        }
    }
}

/// Returns when the table's in-commit timestamps were enabled. A table that was created with them
/// does not store it.
fn enablement(latest: &Snapshot) -> Option<IctEnablement> {
    let properties = latest.properties();
    properties.in_commit_timestamps.then(|| IctEnablement {
        version: properties.in_commit_timestamp_enablement_version.unwrap_or(0),
        timestamp_ms: properties.in_commit_timestamp_enablement_timestamp.unwrap_or(i64::MIN),
    })
}

async fn in_commit_timestamp(snapshot: &Snapshot, version: u64) -> Result<i64> {
    let commit = LogPath::commit(version);
    let info = commit_info(snapshot.store(), &commit).await?;
    info.and_then(|info| info.in_commit_timestamp()).ok_or_else(|| {
        Error::corrupt(commit.name, "the table has in-commit timestamps, but this commit has none (commitInfo.inCommitTimestamp)")
    })
}
