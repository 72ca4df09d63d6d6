//! Finds the newest files of a log on the local disk by their names. A log with many thousand files
//! need not be listed for its newest files.
//!
//! Only files that follow without a gap are found. In all other cases (a gap, many commits, a
//! checkpoint under another name) the caller lists the log.

use std::fs;
use std::path::Path as FilePath;
use std::time::UNIX_EPOCH;

use lakebed_core::error::Result;
use lakebed_core::log::segment::ListedLogFile;
use lakebed_core::path::{LOG_DIR, LogPath, checkpoint_name, checksum_name, commit_name};

use crate::store::Store;

/// The number of commits above which a listing is cheaper.
const MOST: u64 = 256;

/// The number of the newest versions for which a checksum is searched.
const CHECKSUMS: u64 = 3;

/// Returns the files of version `from` and later: its classic checkpoint, its commits and the
/// newest checksum. It returns `None` if there may be more files, or if the store is not the local
/// disk.
pub async fn find_tail(store: &Store, from: u64) -> Result<Option<Vec<ListedLogFile>>> {
    let folder = store.path_of(LOG_DIR)?;
    let Some(file) = store.local_path(&folder) else { return Ok(None) };
    store.blocking(&folder, file, move |folder| Ok(find(&folder, from))).await
}

fn find(folder: &FilePath, from: u64) -> Option<Vec<ListedLogFile>> {
    let mut found: Vec<ListedLogFile> = look(folder, &checkpoint_name(from)).into_iter().collect();
    let mut next = from;
    while let Some(commit) = look(folder, &commit_name(next)) {
        found.push(commit);
        next += 1;
        if next - from > MOST {
            return None;
        }
    }
    let last = next.checked_sub(1).filter(|_| next > from)?;
    // A listing is needed to find the files after a gap.
    if (next + 1..next + 3).any(|version| look(folder, &commit_name(version)).is_some()) {
        return None;
    }
    let versions = (from..=last).rev().take(CHECKSUMS as usize);
    found.extend(versions.filter_map(|version| look(folder, &checksum_name(version))).next());
    Some(found)
}

fn look(folder: &FilePath, name: &str) -> Option<ListedLogFile> {
    let found = fs::metadata(folder.join(name)).ok().filter(fs::Metadata::is_file)?;
    let modified = found.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let modified_ms = i64::try_from(modified.as_millis()).ok()?;
    Some(ListedLogFile { path: LogPath::parse(name)?, size: found.len(), modified_ms, e_tag: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the names that are found from a version on, given these files.
    #[track_caller]
    fn check(names: &[String], from: u64, expected: Option<&[&str]>) {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            fs::write(folder.path().join(name), "x").unwrap();
        }
        let found = find(folder.path(), from).map(|files| files.into_iter().map(|file| file.path.name).collect::<Vec<_>>());
        assert_eq!(found, expected.map(|names| names.iter().map(|name| (*name).to_owned()).collect()));
    }

    fn commits(versions: impl IntoIterator<Item = u64>) -> Vec<String> {
        versions.into_iter().map(commit_name).collect()
    }

    #[test]
    fn tail_includes_newest_checksum() {
        let mut names = commits(8..=11);
        names.extend([checkpoint_name(10), checksum_name(9), checksum_name(10)]);
        let expected = [
            "00000000000000000010.checkpoint.parquet",
            "00000000000000000010.json",
            "00000000000000000011.json",
            "00000000000000000010.crc",
        ];
        check(&names, 10, Some(&expected));
        check(&names, 11, Some(&["00000000000000000011.json"]));
    }

    #[test]
    fn gap_or_early_end_needs_listing() {
        check(&commits([5, 6, 8]), 5, None);
        check(&commits([5, 6, 9]), 5, None);
        check(&commits(0..=4), 5, None);
        check(&commits(0..=300), 1, None);
        check(&[], 0, None);
    }
}
