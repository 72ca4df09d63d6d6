//! Which files of the log make a version: the newest complete checkpoint and the commits above it.
//!
//! Pure: the listing comes in, names go out. Checkpoints and compactions are disposable; what turned out to be broken is named in
//! `unusable`, and the plan does without it. Commits cannot be replaced: a gap among those needed is an error. Start with [`plan`].

mod range;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};

pub use range::{readable_versions, reconstructible_range};

use crate::path::{CheckpointKind, LOG_DIR, LogKind, LogPath};
use crate::{Error, ErrorKind, Result};

/// A file of the log as a store lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedLogFile {
    /// What the name says.
    pub path: LogPath,
    /// In bytes.
    pub size: u64,
    /// When it was written, in milliseconds since the epoch.
    pub modified_ms: i64,
    /// The store's mark of what is in it, without quotation marks; none where the store has no such thing.
    pub e_tag: Option<String>,
}

/// The files that make a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSegment {
    /// The version.
    pub version: u64,
    /// The state that the commits stand on.
    pub checkpoint: Option<CheckpointFiles>,
    /// The commits above the checkpoint, newest first. A compaction stands for the commits that it covers.
    pub commits: Vec<LogPath>,
    /// The newest checksum that is neither newer than the version nor older than the checkpoint.
    pub checksum: Option<LogPath>,
}

/// A complete checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointFiles {
    /// The version that it is of.
    pub version: u64,
    /// How it is named; of a multi-part checkpoint, its first part.
    pub kind: CheckpointKind,
    /// One file, or all parts in order.
    pub files: Vec<ListedLogFile>,
}

impl CheckpointFiles {
    /// The name of the file that stands for the whole; in `unusable`, it rules the whole out.
    pub fn name(&self) -> String {
        self.files.first().map_or_else(String::new, |file| file.path.name.clone())
    }
}

/// Plans how to read version `target`, or the latest one that the listing shows.
///
/// The listing may begin at any version, as long as no later file is missing; if it lacks what is needed, the error is the same as if the
/// log lacked it. Empty checkpoints, compactions and checksums count as absent, and so does everything in `unusable` but commits.
/// Whoever mistrusts compactions leaves them out of the listing.
///
/// If several checkpoints are of one version, one with a unique name is taken before a classic one, as its file actions stand in files
/// that opening need not touch; then the multi-part one of fewest parts. Among equals the last name wins.
pub fn plan(listed: &[ListedLogFile], target: Option<u64>, unusable: &HashSet<String>) -> Result<LogSegment> {
    let log = Log::sort(listed, unusable);
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

/// A listing by kinds of file.
struct Log<'a> {
    commits: BTreeMap<u64, &'a LogPath>,
    /// Complete ones, the best last.
    checkpoints: Vec<CheckpointFiles>,
    /// By the first version: the last version, and where to find it.
    compactions: HashMap<u64, Vec<(u64, &'a LogPath)>>,
    checksums: BTreeMap<u64, &'a LogPath>,
    /// One file of each checkpoint that is not usable as a whole, the newest last.
    broken_checkpoints: Vec<&'a LogPath>,
}

impl<'a> Log<'a> {
    fn sort(listed: &'a [ListedLogFile], unusable: &HashSet<String>) -> Self {
        let mut log = Log {
            commits: BTreeMap::new(),
            checkpoints: Vec::new(),
            compactions: HashMap::new(),
            checksums: BTreeMap::new(),
            broken_checkpoints: Vec::new(),
        };
        let mut groups: BTreeMap<Rank<'a>, Vec<&'a ListedLogFile>> = BTreeMap::new();
        for file in listed {
            let path = &file.path;
            let usable = file.size > 0 && !unusable.contains(&path.name);
            match path.kind {
                LogKind::Commit => {
                    // Of two spellings of one version, the one with twenty digits sorts first.
                    log.commits.entry(path.version).or_insert(path);
                }
                LogKind::Checkpoint(kind) => groups.entry(Rank::of(path, kind)).or_default().push(file),
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

    /// The latest version that left a trace. Broken checkpoints count: a version whose commit is lost must not go unnoticed.
    fn latest(&self) -> Option<u64> {
        let commit = self.commits.keys().next_back().copied();
        let checkpoint = self.checkpoints.last().map(|checkpoint| checkpoint.version);
        commit.max(checkpoint).max(self.broken_checkpoints.last().map(|path| path.version))
    }

    /// The first run of versions in `from..=to` that have no commit.
    fn first_gap(&self, from: u64, to: u64) -> Option<(u64, u64)> {
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

    /// The commits of `from..=to`, newest first, as few files as compactions allow.
    fn cover(&self, from: u64, to: u64) -> Vec<LogPath> {
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
        // A clean-up takes the oldest versions and may have stopped halfway: what is older than all that holds together is gone.
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

/// What tells one checkpoint from another, the better one greater.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Rank<'a> {
    version: u64,
    form: Form<'a>,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Form<'a> {
    MultiPart(std::cmp::Reverse<u32>),
    Classic,
    Uuid(&'a str),
}

impl<'a> Rank<'a> {
    fn of(path: &'a LogPath, kind: CheckpointKind) -> Self {
        let form = match kind {
            CheckpointKind::MultiPart { parts, .. } => Form::MultiPart(std::cmp::Reverse(parts)),
            CheckpointKind::Classic => Form::Classic,
            CheckpointKind::Uuid { .. } => Form::Uuid(&path.name),
        };
        Self { version: path.version, form }
    }
}

/// The files of one checkpoint, if none is missing, empty or unusable.
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
