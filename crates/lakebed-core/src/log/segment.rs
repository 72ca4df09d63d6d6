//! The files of the log that make a version: the newest complete checkpoint and the commits after
//! it.
//!
//! This module takes the listing and returns names. Checkpoints and compactions are disposable:
//! broken ones are named in `unusable`, and the plan avoids them. Commits cannot be replaced: a
//! missing commit that is needed is an error. Start with [`plan`].

mod listing;
mod range;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use listing::SortedListing;
pub use listing::{CheckpointFiles, ListedLogFile};
pub use range::{readable_versions, reconstructible_range};

use crate::path::{LOG_DIR, LogPath};
use crate::{Error, ErrorKind, Result};

/// The files that make a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSegment {
    /// The version.
    pub version: u64,
    /// The checkpoint below the commits.
    pub checkpoint: Option<CheckpointFiles>,
    /// The commits after the checkpoint, newest first. A compaction replaces the commits that it
    /// covers.
    pub commits: Vec<LogPath>,
    /// The newest checksum that is neither newer than the version nor older than the checkpoint.
    pub checksum: Option<LogPath>,
}

/// Plans how to read version `target`, or the latest version in the listing.
///
/// The listing may begin at any version, as long as no later file is missing. If it lacks a needed
/// file, the error is the same as if the log lacked it. Empty checkpoints, compactions and
/// checksums count as absent, and so do all files in `unusable` except commits. A caller that does
/// not trust compactions leaves them out of the listing.
///
/// If several checkpoints have the same version, the order of preference is as follows. A
/// checkpoint with a unique name comes first, because its file actions are in separate files that
/// are not needed to open the table. Then comes a classic one, and then the multi-part one with the
/// fewest parts. Among equals the last name wins.
pub fn plan(listed: &[ListedLogFile], target: Option<u64>, unusable: &HashSet<String>) -> Result<LogSegment> {
    let log = SortedListing::sort(listed, unusable);
    let latest = log.latest().ok_or_else(|| {
        let message = format!("there are no commits in {LOG_DIR}");
        Error::new(ErrorKind::TableNotFound, message)
    })?;
    let version = target.unwrap_or(latest);
    if version > latest {
        return Err(Error::new(ErrorKind::VersionNotFound, format!("version {version} does not exist{}", log.rebuildable())));
    }
    let checkpoint = log.checkpoints.iter().rev().find(|checkpoint| checkpoint.version <= version).cloned();
    let first = checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.version + 1);
    if let Some((from, to)) = log.first_gap(first, version) {
        return Err(log.gap(from, to, version, target.is_some()));
    }
    let commits = log.cover(first, version);
    let checksum = log.checksums.range(first.saturating_sub(1)..=version).next_back().map(|(_, path)| (*path).clone());
    Ok(LogSegment { version, checkpoint, commits, checksum })
}

/// Returns the complete checkpoints of a listing, the newest and best last, and one file of each
/// incomplete one.
pub fn checkpoints(listed: &[ListedLogFile], unusable: &HashSet<String>) -> (Vec<CheckpointFiles>, Vec<LogPath>) {
    let log = SortedListing::sort(listed, unusable);
    let incomplete = log.broken_checkpoints.into_iter().filter(|path| !unusable.contains(&path.name));
    (log.checkpoints, incomplete.cloned().collect())
}

impl SortedListing<'_> {
    fn gap(&self, from: u64, to: u64, version: u64, asked_for: bool) -> Error {
        let missing = match from == to {
            true => format!("the commit of version {from} is missing"),
            false => format!("the commits of versions {from} to {to} are missing"),
        };
        let broken = self.broken_checkpoints.iter().rev().find(|path| path.version <= version && path.version >= from);
        let why = match broken {
            None => missing,
            Some(path) => format!("{missing} and checkpoint {} is unusable", path.name),
        };
        // A cleanup deletes the oldest versions first and may have been interrupted. So a version
        // older than every version that can be rebuilt was deleted.
        let is_older = range::rebuildable(self).is_some_and(|range| version < *range.start());
        if asked_for && (is_older || (from == 0 && broken.is_none())) {
            let message = format!("version {version} can no longer be rebuilt: {why}{}", self.rebuildable());
            return Error::new(ErrorKind::VersionNotFound, message);
        }
        Error::corrupt(LOG_DIR, format!("version {version} cannot be rebuilt: {why}"))
    }

    /// Returns a string such as `; the log can rebuild versions 3 to 7`. The string is empty if the
    /// log can rebuild no version.
    fn rebuildable(&self) -> String {
        match range::rebuildable(self) {
            Some(range) if range.start() == range.end() => format!("; the log can rebuild version {} only", range.start()),
            Some(range) => format!("; the log can rebuild versions {} to {}", range.start(), range.end()),
            None => String::new(),
        }
    }
}
