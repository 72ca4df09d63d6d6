//! Finds the first offset of a new stream.

use lakebed_io::log;

use super::offset::{Offset, Position};
use super::options::Start;
use crate::snapshot::first_version_from;
use crate::{Error, ErrorKind, Result, Snapshot};

/// Returns the offset before everything that a new stream reads. `latest` is the table's newest
/// version.
pub(super) async fn initial_offset(latest: &Snapshot, start: Start) -> Result<Offset> {
    let (version, is_initial) = match start {
        Start::Snapshot => (latest.version(), true),
        Start::Latest => (latest.version() + 1, false),
        Start::Version(version) => (existing(latest, version).await?, false),
        Start::Timestamp(timestamp_ms) => (first_version_from(latest, timestamp_ms).await?, false),
    };
    Ok(Offset { table_id: latest.metadata().id.clone(), version, position: Position::Base, is_initial })
}

/// Returns the version if the log has its commit. Earlier commits are not needed.
async fn existing(latest: &Snapshot, version: u64) -> Result<u64> {
    let found =
        if version > latest.version() { None } else { log::list_commits(latest.store(), version).await?.0.into_iter().next() };
    let first = found.map(|file| file.path.version);
    if first == Some(version) {
        return Ok(version);
    }
    let (url, last) = (latest.url(), latest.version());
    let message = match first {
        Some(first) => format!("{url}: startingVersion={version}: the log has only the commits {first} to {last}"),
        None => format!("{url}: startingVersion={version}: the newest version is {last}"),
    };
    Err(Error::new(ErrorKind::VersionNotFound, message))
}
