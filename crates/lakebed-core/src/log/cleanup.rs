//! The files of the log that may be deleted, because no version that is kept needs them. PROTOCOL
//! "Metadata Cleanup".
//!
//! This module takes the listing and the age of versions, and returns names. It deletes nothing
//! that a retained version needs: [`plan`] checks that the files that would be left can be read.

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashSet};

use super::segment::{self, ListedLogFile, readable_versions};
use crate::path::{LogKind, LogPath, checksum_name, commit_name};

/// Days begin at midnight UTC.
const DAY_MS: i64 = 86_400_000;

/// The input of a cleanup besides the listing.
#[derive(Debug, Clone, Default)]
pub struct CleanupRules {
    /// The newest version that is older than the retention period. It is the oldest version that
    /// must stay readable.
    pub cutoff_version: u64,
    /// Checkpoints before this version are protected: either all of them are deleted with their
    /// commits, or none.
    pub protected_before: u64,
    /// Older versions that stay readable.
    pub pinned: BTreeSet<u64>,
    /// Broken checkpoints. They stay, but no version may depend on them.
    pub unusable: HashSet<String>,
}

/// The files that a cleanup deletes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CleanupPlan {
    /// The oldest version that stays readable. It has a checkpoint.
    pub first_version: u64,
    /// The files to delete, in this order. If the cleanup is interrupted, all versions from some
    /// version on can be read.
    pub files: Vec<LogPath>,
}

/// Returns the oldest moment within the retention period. As in Delta Spark, it is cut to midnight,
/// so one cleanup a day is enough. Versions before this moment are older than the retention period.
pub fn cutoff_ms(now_ms: i64, retention_ms: i64) -> i64 {
    let moment = now_ms.saturating_sub(retention_ms);
    moment.saturating_sub(moment.rem_euclid(DAY_MS))
}

/// Returns the files that may be deleted. It returns `None` if no checkpoint remains to read from,
/// or if no file is older than it.
pub fn plan(listed: &[ListedLogFile], rules: &CleanupRules) -> Option<CleanupPlan> {
    let segment = segment::plan(listed, Some(rules.cutoff_version), &rules.unusable).ok()?;
    let first_version = segment.checkpoint.as_ref()?.version;
    // Some readers cannot read a checkpoint without its commit.
    let has_commit = listed.iter().any(|file| file.path.is_commit() && file.path.version == first_version);
    if !has_commit || first_version < rules.protected_before {
        return None;
    }
    let pinned = pinned_files(listed, rules, first_version);
    let (goes, stays): (Vec<&ListedLogFile>, Vec<&ListedLogFile>) =
        listed.iter().partition(|file| is_superseded(&file.path, first_version) && !pinned.contains(&file.path.name));
    let stays: Vec<ListedLogFile> = stays.into_iter().cloned().collect();
    let readable = readable_versions(listed, &rules.unusable);
    let needed: BTreeSet<u64> =
        readable.into_iter().filter(|version| *version >= first_version || rules.pinned.contains(version)).collect();
    if goes.is_empty() || !readable_versions(&stays, &rules.unusable).is_superset(&needed) {
        return None;
    }
    let mut files: Vec<LogPath> = goes.into_iter().map(|file| file.path.clone()).collect();
    // The checkpoint of a version is deleted before the commits after it, which are useless without
    // it.
    files.sort_by_cached_key(|path| (path.version, !matches!(path.kind, LogKind::Checkpoint(_)), path.name.clone()));
    Some(CleanupPlan { first_version, files })
}

/// Returns the names of the files that make the pinned versions. A version that cannot be rebuilt
/// any more needs no file. Commits count and no compactions, because some readers ignore these.
fn pinned_files(listed: &[ListedLogFile], rules: &CleanupRules, first_version: u64) -> HashSet<String> {
    let mut names = HashSet::new();
    for &version in rules.pinned.iter().filter(|version| **version < first_version) {
        let is_compaction = |path: &LogPath| matches!(path.kind, LogKind::Compaction { .. });
        let plain: Vec<ListedLogFile> = listed.iter().filter(|file| !is_compaction(&file.path)).cloned().collect();
        let Ok(segment) = segment::plan(&plain, Some(version), &rules.unusable) else { continue };
        let begins = segment.checkpoint.as_ref().map_or(version, |checkpoint| checkpoint.version);
        if let Some(checkpoint) = segment.checkpoint {
            names.extend(checkpoint.files.into_iter().map(|file| file.path.name));
        }
        names.extend(segment.commits.into_iter().map(|path| path.name));
        // Some readers cannot read a checkpoint without its commit. The checksum makes the version
        // cheap to open.
        names.extend([commit_name(begins), checksum_name(version)]);
    }
    names
}

fn is_superseded(path: &LogPath, first_version: u64) -> bool {
    match path.kind {
        LogKind::Commit | LogKind::Checksum | LogKind::Checkpoint(_) => path.version < first_version,
        // A reader that starts at the checkpoint needs the commits after it.
        LogKind::Compaction { .. } => path.version <= first_version,
    }
}
