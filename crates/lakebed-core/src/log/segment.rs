//! Which files of the log make a version: the newest complete checkpoint and the commits above it.
//!
//! Pure: the listing comes in, names go out. Checkpoints and compactions are disposable; what
//! turned out to be broken is named in `unusable`, and the plan does without it. Commits cannot be
//! replaced: a gap among those needed is an error. Start with [`plan`].

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
    /// The state that the commits stand on.
    pub checkpoint: Option<CheckpointFiles>,
    /// The commits above the checkpoint, newest first. A compaction stands for the commits that it
    /// covers.
    pub commits: Vec<LogPath>,
    /// The newest checksum that is neither newer than the version nor older than the checkpoint.
    pub checksum: Option<LogPath>,
}

/// Plans how to read version `target`, or the latest one that the listing shows.
///
/// The listing may begin at any version, as long as no later file is missing; if it lacks what is
/// needed, the error is the same as if the log lacked it. Empty checkpoints, compactions and
/// checksums count as absent, and so does everything in `unusable` but commits. Whoever mistrusts
/// compactions leaves them out of the listing.
///
/// If several checkpoints are of one version, one with a unique name is taken before a classic one,
/// as its file actions stand in files that opening need not touch; then the multi-part one of
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
        // A clean-up takes the oldest versions and may have stopped halfway: what is older than all
        // that holds together is gone.
        let is_older = range::rebuildable(self).is_some_and(|range| version < *range.start());
        if asked_for && (is_older || (from == 0 && broken.is_none())) {
            let message = format!("version {version} can no longer be rebuilt: {why}{}", self.rebuildable());
            return Error::new(ErrorKind::VersionNotFound, message);
        }
        Error::corrupt(LOG_DIR, format!("version {version} cannot be rebuilt: {why}"))
    }

    /// `; the log can rebuild versions 3 to 7`, if any.
    fn rebuildable(&self) -> String {
        match range::rebuildable(self) {
            Some(range) if range.start() == range.end() => format!("; the log can rebuild version {} only", range.start()),
            Some(range) => format!("; the log can rebuild versions {} to {}", range.start(), range.end()),
            None => String::new(),
        }
    }
}
