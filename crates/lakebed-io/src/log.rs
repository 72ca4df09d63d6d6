//! The log on a store: lists it, and reads its commits, hint and checksums.
//! `lakebed_core::log::segment` decides which files make a version.
//!
//! Read [`list_log`] first. `commits` reads commits of any size, `put` writes commits, and `write`
//! writes hints and checksums. `tail` finds the newest files of a large log without a listing.
//! `web` finds the log on a server that cannot list.

mod commits;
mod listed;
mod move_aside;
mod tail;
mod put;
#[cfg(test)]
mod tests;
mod web;
mod write;

use lakebed_core::commit::timestamp::{VersionTime, monotonise};
use lakebed_core::error::Result;
use lakebed_core::log::checksum::VersionChecksum;
use lakebed_core::log::hint::{self, Hint};
use lakebed_core::path::{HINT_NAME, LOG_DIR, LogKind, LogPath};

pub use commits::{CommitPart, read_commits, read_places, without_actions};
pub use lakebed_core::log::segment::ListedLogFile;
use listed::listed_file;
pub use move_aside::{DAMAGED_DIR, move_aside};
pub use put::{PutCommit, put_commit};
pub use tail::find_tail;
pub use write::{hadoop_checksum_name, hadoop_checksum_path, put_checksum, write_hint};

use crate::store::Store;

/// The first name after all files of versions. The name of a version begins with a digit, and this
/// character follows the digits.
const AFTER_VERSIONS: &str = ":";

/// The greatest number of commits that are requested by name when a listing lacks them.
const MOST_LOOKED_UP: usize = 16;

/// The number of objects that an object store lists in one request.
const PAGE: usize = 1000;

/// Returns the log files of version `from` and later, or of all versions, sorted by version and
/// name.
///
/// Hidden files, unfinished uploads, folders and unknown names are left out, and so are sidecars
/// and staged commits. A log that does not exist is empty. On an object store this costs one
/// request for every thousand files.
pub async fn list_log(store: &Store, from: Option<u64>) -> Result<Vec<ListedLogFile>> {
    list_first(store, from.unwrap_or(0), usize::MAX).await.map(|(files, _)| files)
}

/// Returns the commits of version `from` and later, in order, and whether these are all of them.
/// One request is made, so the cost does not depend on the number of commits that follow.
pub async fn list_commits(store: &Store, from: u64) -> Result<(Vec<ListedLogFile>, bool)> {
    let commits = |listed: Vec<ListedLogFile>| -> Vec<ListedLogFile> {
        listed.into_iter().filter(|file| file.path.is_commit() && file.path.version >= from).collect()
    };
    if let Some(near) = find_tail(store, from).await? {
        return Ok((commits(near), true));
    }
    let (listed, is_all) = list_first(store, from, PAGE).await?;
    let found = commits(listed);
    // A checkpoint may have more parts than one request lists.
    Ok(if found.is_empty() && !is_all { (commits(list_log(store, Some(from)).await?), true) } else { (found, is_all) })
}

/// Requests the commits that are missing between two listed ones by name. A listing may lack a file
/// that was written while it ran, although it shows a later file.
async fn fill_gaps(store: &Store, files: &mut Vec<ListedLogFile>) -> Result<()> {
    let versions = files.iter().filter(|file| file.path.is_commit()).map(|file| file.path.version);
    let gaps = versions.clone().zip(versions.skip(1)).flat_map(|(one, other)| one + 1..other);
    let missing: Vec<u64> = gaps.take(MOST_LOOKED_UP).collect();
    for version in missing {
        let path = LogPath::commit(version);
        match store.head(&store.path_of(&format!("{LOG_DIR}/{}", path.name))?).await {
            Ok(object) => files.push(listed_file(path, object)),
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
    }
    files.sort_by_key(|file| file.path.version);
    Ok(())
}

/// Returns the first files of version `from` and later, and whether these are all. The store is
/// asked for `most` files and may return more.
async fn list_first(store: &Store, from: u64, most: usize) -> Result<(Vec<ListedLogFile>, bool)> {
    let folder = store.path_of(LOG_DIR)?;
    let listed = store.list_first(&folder, &format!("{from:020}"), Some(AFTER_VERSIONS), most).await;
    let objects = match listed {
        Ok(objects) if !(objects.is_empty() && store.is_web()) => objects,
        Err(error) if !store.is_web() => return Err(error),
        Ok(_) | Err(_) => return Ok((web::find_log(store, from).await?, true)),
    };
    let is_all = objects.len() < most;
    let mut files: Vec<ListedLogFile> = objects
        .into_iter()
        .filter_map(|object| {
            let path = LogPath::parse(object.location.filename()?)?;
            (path.version >= from).then(|| listed_file(path, object))
        })
        .collect();
    // Names with fewer than twenty digits do not sort by their versions.
    files.sort_by_key(|file| file.path.version);
    fill_gaps(store, &mut files).await?;
    Ok((files, is_all))
}

/// The content of `_last_checkpoint`.
#[derive(Debug, Clone, PartialEq)]
pub enum ReadHint {
    /// The file can be parsed. Its content may still be wrong.
    Sound(Box<Hint>),
    /// The file does not exist.
    Missing,
    /// The file is torn or damaged. The string is the reason.
    Unusable(String),
}

/// Reads `_last_checkpoint`. Only a failure of the store is an error.
pub async fn read_hint(store: &Store) -> Result<ReadHint> {
    let path = store.log_path(HINT_NAME)?;
    match store.get(&path).await {
        Ok(bytes) => Ok(match hint::parse(&bytes) {
            Ok(hint) => ReadHint::Sound(Box::new(hint)),
            Err(error) => ReadHint::Unusable(error.to_string()),
        }),
        Err(error) if error.is_not_found() => Ok(ReadHint::Missing),
        Err(error) => Err(error),
    }
}

/// Reads a checksum file.
pub async fn read_checksum(store: &Store, path: &LogPath) -> Result<VersionChecksum> {
    let bytes = store.get(&store.log_path(&path.name)?).await?;
    VersionChecksum::parse(&bytes, &path.name)
}

/// Returns the commits among listed files, oldest first, with the file times made strictly
/// increasing.
pub fn adjusted_times(listed: &[ListedLogFile]) -> Vec<(LogPath, i64)> {
    let commits: Vec<&ListedLogFile> = listed.iter().filter(|file| matches!(file.path.kind, LogKind::Commit)).collect();
    let mut times: Vec<VersionTime> =
        commits.iter().map(|file| VersionTime { version: file.path.version, timestamp_ms: file.modified_ms }).collect();
    monotonise(&mut times);
    commits.into_iter().zip(times).map(|(file, time)| (file.path.clone(), time.timestamp_ms)).collect()
}
