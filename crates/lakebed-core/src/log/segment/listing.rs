//! A listing of the log, sorted by kinds of file, with the complete checkpoints.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::path::{CheckpointKind, LogKind, LogPath};

/// A file of the log as a store lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedLogFile {
    /// The parsed name.
    pub path: LogPath,
    /// The size in bytes.
    pub size: u64,
    /// The modification time in milliseconds since the epoch.
    pub modified_ms: i64,
    /// The store's ETag without quotation marks. `None` if the store has no ETags.
    pub e_tag: Option<String>,
}

/// A complete checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointFiles {
    /// The version of the checkpoint.
    pub version: u64,
    /// The kind of the checkpoint's name. For a multi-part checkpoint, it is the kind of its first
    /// part.
    pub kind: CheckpointKind,
    /// One file, or all parts in order.
    pub files: Vec<ListedLogFile>,
}

impl CheckpointFiles {
    /// Returns the name of the first file. If `unusable` contains this name, the whole checkpoint
    /// is excluded.
    pub fn name(&self) -> String {
        self.files.first().map_or_else(String::new, |file| file.path.name.clone())
    }
}

/// A listing by kinds of file.
pub(super) struct SortedListing<'a> {
    pub(super) commits: BTreeMap<u64, &'a LogPath>,
    /// The complete checkpoints, sorted so that the best is last.
    pub(super) checkpoints: Vec<CheckpointFiles>,
    /// The last version and the path of each compaction, by its first version.
    compactions: HashMap<u64, Vec<(u64, &'a LogPath)>>,
    pub(super) checksums: BTreeMap<u64, &'a LogPath>,
    /// One file of each unusable checkpoint, sorted so that the newest is last.
    pub(super) broken_checkpoints: Vec<&'a LogPath>,
}

impl<'a> SortedListing<'a> {
    pub(super) fn sort(listed: &'a [ListedLogFile], unusable: &HashSet<String>) -> Self {
        let mut log = SortedListing {
            commits: BTreeMap::new(),
            checkpoints: Vec::new(),
            compactions: HashMap::new(),
            checksums: BTreeMap::new(),
            broken_checkpoints: Vec::new(),
        };
        let mut groups: BTreeMap<CheckpointRank<'a>, Vec<&'a ListedLogFile>> = BTreeMap::new();
        for file in listed {
            let path = &file.path;
            let usable = file.size > 0 && !unusable.contains(&path.name);
            match path.kind {
                LogKind::Commit => {
                    // If a version has two spellings, the one with twenty digits sorts first.
                    log.commits.entry(path.version).or_insert(path);
                }
                LogKind::Checkpoint(kind) => groups.entry(CheckpointRank::of(path, kind)).or_default().push(file),
                LogKind::Compaction { end } if usable => log.compactions.entry(path.version).or_default().push((end, path)),
                LogKind::Checksum if usable => {
                    log.checksums.insert(path.version, path);
                }
                LogKind::Compaction { .. } | LogKind::Checksum => {}
            }
        }
        for files in groups.into_values() {
            match complete(&files, unusable) {
                Some(checkpoint) => log.checkpoints.push(checkpoint),
                None => log.broken_checkpoints.extend(files.first().map(|file| &file.path)),
            }
        }
        log
    }

    /// Returns the latest version that the listing shows. Broken checkpoints count, because the
    /// loss of a commit must be noticed.
    pub(super) fn latest(&self) -> Option<u64> {
        let commit = self.commits.keys().next_back().copied();
        let checkpoint = self.checkpoints.last().map(|checkpoint| checkpoint.version);
        commit.max(checkpoint).max(self.broken_checkpoints.last().map(|path| path.version))
    }

    /// Returns the first run of versions in `from..=to` that have no commit.
    pub(super) fn first_gap(&self, from: u64, to: u64) -> Option<(u64, u64)> {
        if from > to {
            return None;
        }
        let mut expected = from;
        for &version in self.commits.range(from..=to).map(|(version, _)| version) {
            if version != expected {
                return Some((expected, version - 1));
            }
            expected += 1;
        }
        (expected <= to).then_some((expected, to))
    }

    /// Returns the commits of `from..=to`, newest first. Compactions are used to get as few files
    /// as possible.
    pub(super) fn cover(&self, from: u64, to: u64) -> Vec<LogPath> {
        let mut files = Vec::new();
        let mut next = from;
        while next <= to {
            let fitting = self.compactions.get(&next).into_iter().flatten().filter(|(end, _)| *end > next && *end <= to);
            let (end, path) = match fitting.max_by_key(|(end, _)| *end) {
                Some((end, path)) => (*end, Some(*path)),
                None => (next, self.commits.get(&next).copied()),
            };
            files.extend(path.cloned());
            next = end + 1;
        }
        files.reverse();
        files
    }
}

/// The order of checkpoints. A better checkpoint is greater.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct CheckpointRank<'a> {
    version: u64,
    form: CheckpointForm<'a>,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum CheckpointForm<'a> {
    MultiPart(std::cmp::Reverse<u32>),
    Classic,
    Uuid(&'a str),
}

impl<'a> CheckpointRank<'a> {
    fn of(path: &'a LogPath, kind: CheckpointKind) -> Self {
        let form = match kind {
            CheckpointKind::MultiPart { parts, .. } => CheckpointForm::MultiPart(std::cmp::Reverse(parts)),
            CheckpointKind::Classic => CheckpointForm::Classic,
            CheckpointKind::Uuid { .. } => CheckpointForm::Uuid(&path.name),
        };
        Self { version: path.version, form }
    }
}

/// Returns the files of one checkpoint, if none is missing, empty or unusable.
fn complete(files: &[&ListedLogFile], unusable: &HashSet<String>) -> Option<CheckpointFiles> {
    if files.iter().any(|file| file.size == 0 || unusable.contains(&file.path.name)) {
        return None;
    }
    let part_of = |file: &ListedLogFile| match file.path.kind {
        LogKind::Checkpoint(CheckpointKind::MultiPart { part, .. }) => part,
        _ => 1,
    };
    let mut files: Vec<ListedLogFile> = files.iter().map(|&file| file.clone()).collect();
    files.sort_by_key(part_of);
    files.dedup_by_key(|file| part_of(file));
    let LogPath { version, kind: LogKind::Checkpoint(kind), .. } = files.first()?.path else { return None };
    let parts = match kind {
        CheckpointKind::MultiPart { parts, .. } => usize::try_from(parts).ok()?,
        CheckpointKind::Classic | CheckpointKind::Uuid { .. } => 1,
    };
    (files.len() == parts).then_some(CheckpointFiles { version, kind, files })
}
