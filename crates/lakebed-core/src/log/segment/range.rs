//! The versions that the log can still rebuild, for error messages and histories.

use std::collections::{BTreeSet, HashSet};
use std::ops::RangeInclusive;

use super::listing::{ListedLogFile, SortedListing};

/// Returns the longest run of versions up to the latest one that can all be rebuilt. It returns
/// `None` if the latest one cannot be rebuilt.
///
/// A version can be rebuilt from a complete checkpoint and the commits after it, or from all
/// commits since version 0. So commits older than the earliest checkpoint count only if they reach
/// back to version 0.
pub fn reconstructible_range(listed: &[ListedLogFile]) -> Option<RangeInclusive<u64>> {
    rebuildable(&SortedListing::sort(listed, &HashSet::new()))
}

/// Returns all versions that can be rebuilt without the checkpoints named in `unusable`.
pub fn readable_versions(listed: &[ListedLogFile], unusable: &HashSet<String>) -> BTreeSet<u64> {
    let log = SortedListing::sort(listed, unusable);
    let mut readable: BTreeSet<u64> = log.checkpoints.iter().map(|checkpoint| checkpoint.version).collect();
    for &version in log.commits.keys() {
        if version.checked_sub(1).is_none_or(|before| readable.contains(&before)) {
            readable.insert(version);
        }
    }
    readable
}

pub(super) fn rebuildable(log: &SortedListing<'_>) -> Option<RangeInclusive<u64>> {
    let checkpoints: BTreeSet<u64> = log.checkpoints.iter().map(|checkpoint| checkpoint.version).collect();
    let versions: BTreeSet<u64> = checkpoints.iter().chain(log.commits.keys()).copied().collect();
    let mut run: Option<RangeInclusive<u64>> = None;
    for version in versions {
        let joins = run.as_ref().is_some_and(|run| run.end() + 1 == version);
        let stands_alone = checkpoints.contains(&version) || version == 0;
        run = match run {
            Some(run) if joins => Some(*run.start()..=version),
            _ if stands_alone => Some(version..=version),
            _ => None,
        };
    }
    run
}
