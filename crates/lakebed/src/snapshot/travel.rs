//! Which version a moment means.

use lakebed_core::commit::timestamp::{IctEnablement, Search, Step, VersionTime};
use lakebed_core::log::segment::{ListedLogFile, reconstructible_range};
use lakebed_core::path::LogPath;
use lakebed_core::{Error, Result};
use lakebed_io::log;

use super::{Snapshot, commit_info};

/// The version that was the latest at this time, among those that the log can still rebuild.
pub(crate) async fn version_at(latest: &Snapshot, timestamp_ms: i64) -> Result<u64> {
    let listed = log::list_log(latest.store(), None).await?;
    let range = reconstructible_range(&listed).unwrap_or(latest.version()..=latest.version());
    let mut commits = commits_of(latest, &listed);
    commits.retain(|commit| range.contains(&commit.version));
    search(latest, timestamp_ms, &commits).await
}

/// The first version that was made at this time or later, among those whose commits the log still has.
pub(crate) async fn first_version_from(latest: &Snapshot, timestamp_ms: i64) -> Result<u64> {
    let commits = commits_of(latest, &log::list_log(latest.store(), None).await?);
    if let Some(first) = commits.first() {
        let is_own = enablement(latest).is_some_and(|ict| ict.version <= first.version);
        let time = if is_own { in_commit_timestamp(latest, first.version).await? } else { first.timestamp_ms };
        if time >= timestamp_ms {
            return Ok(first.version);
        }
    }
    let version = search(latest, timestamp_ms.saturating_sub(1), &commits).await? + 1;
    // Behind the last version there is none, which the search says best.
    if version > latest.version() { search(latest, timestamp_ms, &commits).await } else { Ok(version) }
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

/// Since when the table has in-commit timestamps; one that was made with them does not say.
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
        Error::corrupt(commit.name, "the table has in-commit timestamps, but this commit does not (commitInfo.inCommitTimestamp)")
    })
}
