//! Which version a moment means.

use lakebed_core::commit::timestamp::{IctEnablement, Search, Step, VersionTime};
use lakebed_core::log::segment::reconstructible_range;
use lakebed_core::path::LogPath;
use lakebed_core::{Error, Result};
use lakebed_io::log;

use super::{Snapshot, commit_info};

/// The version that was the latest at this time, among those that the log can still rebuild.
pub(crate) async fn version_at(latest: &Snapshot, timestamp_ms: i64) -> Result<u64> {
    let listed = log::list_log(latest.store(), None).await?;
    let range = reconstructible_range(&listed).unwrap_or(latest.version()..=latest.version());
    let commits: Vec<VersionTime> = listed
        .iter()
        .filter(|file| file.path.is_commit() && range.contains(&file.path.version) && file.path.version <= latest.version())
        .map(|file| VersionTime { version: file.path.version, timestamp_ms: file.modified_ms })
        .collect();
    let mut search = Search::new(timestamp_ms, &commits, enablement(latest)).map_err(|error| error.within(latest.url()))?;
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
