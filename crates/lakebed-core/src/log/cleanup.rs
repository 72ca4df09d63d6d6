//! Which files of the log may go: those of versions that nobody has to be able to read any more.
//! PROTOCOL "Metadata Cleanup".
//!
//! Pure: the listing and the age of versions come in, names go out. Nothing is given up that a
//! retained version needs: [`plan`] proves it on what would be left.

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use super::segment::{self, ListedLogFile, readable_versions};
use crate::path::{LogKind, LogPath};

/// Days begin at midnight UTC.
const DAY_MS: i64 = 86_400_000;

/// What decides about a clean-up besides the listing.
#[derive(Debug, Clone, Default)]
pub struct CleanupRules {
    /// The newest version that is older than the retention: it is the oldest one that is to stay
    /// readable.
    pub cutoff_version: u64,
    /// Up to this version checkpoints are protected: either all of them go, with their commits, or
    /// none.
    pub protected_before: u64,
    /// Checkpoints that turned out to be broken; they stay, but nothing may rely on them.
    pub unusable: HashSet<String>,
}

/// What a clean-up takes away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CleanupPlan {
    /// The oldest version that stays readable: there is a checkpoint of it.
    pub first_version: u64,
    /// The files to delete, in this order: whenever it is interrupted, all versions from one on are
    /// left.
    pub files: Vec<LogPath>,
}

/// The moment before which versions are older than the retention, cut off at midnight as in Delta
/// Spark: one clean-up a day does.
pub fn cutoff_ms(now_ms: i64, retention_ms: i64) -> i64 {
    let moment = now_ms.saturating_sub(retention_ms);
    moment.saturating_sub(moment.rem_euclid(DAY_MS))
}

/// What may be deleted; nothing if there is no checkpoint to fall back on, or nothing older than
/// it.
pub fn plan(listed: &[ListedLogFile], rules: &CleanupRules) -> Option<CleanupPlan> {
    let segment = segment::plan(listed, Some(rules.cutoff_version), &rules.unusable).ok()?;
    let first_version = segment.checkpoint.as_ref()?.version;
    // A checkpoint without its commit cannot be read by everybody.
    let has_commit = listed.iter().any(|file| file.path.is_commit() && file.path.version == first_version);
    if !has_commit || first_version < rules.protected_before {
        return None;
    }
    let (goes, stays): (Vec<&ListedLogFile>, Vec<&ListedLogFile>) =
        listed.iter().partition(|file| is_superseded(&file.path, first_version));
    let stays: Vec<ListedLogFile> = stays.into_iter().cloned().collect();
    let needed = readable_versions(listed, &rules.unusable).split_off(&first_version);
    if goes.is_empty() || !readable_versions(&stays, &rules.unusable).is_superset(&needed) {
        return None;
    }
    let mut files: Vec<LogPath> = goes.into_iter().map(|file| file.path.clone()).collect();
    // The checkpoint of a version before the commits above it, which are of no use without.
    files.sort_by_cached_key(|path| (path.version, !matches!(path.kind, LogKind::Checkpoint(_)), path.name.clone()));
    Some(CleanupPlan { first_version, files })
}

fn is_superseded(path: &LogPath, first_version: u64) -> bool {
    match path.kind {
        LogKind::Commit | LogKind::Checksum | LogKind::Checkpoint(_) => path.version < first_version,
        // Whoever begins at the checkpoint needs the commits above it.
        LogKind::Compaction { .. } => path.version <= first_version,
    }
}
