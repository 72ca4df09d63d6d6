//! Level `log`: the commits that the newest version needs, the files of checkpoints as the listing
//! shows them, and the hint.

use std::collections::{BTreeSet, HashSet};
use std::pin::pin;

use futures::{StreamExt, TryStreamExt, stream};
use lakebed_core::log::hint::Hint;
use lakebed_core::log::segment::{CheckpointFiles, ListedLogFile, checkpoints};
use lakebed_core::path::{CheckpointKind, HINT_NAME, LOG_DIR, LogKind, LogPath};
use lakebed_io::log::{self, ReadHint};
use lakebed_io::store::Store;

use super::commit_actions::CommitActions;
use super::damaged::damage;
use super::finding::{Finding, FindingKind};
use super::findings::Findings;
use super::log_lines::read_lines;
use super::progress::LevelReporter;
use crate::{Error, ErrorKind, Result};

/// The number of commits that are read at a time.
const CONCURRENCY: usize = 16;

/// The listing of a log, and the facts that follow from it.
pub(super) struct CheckedLog {
    pub(super) listed: Vec<ListedLogFile>,
    pub(super) hint: Option<Hint>,
    /// The complete checkpoints, the newest last.
    pub(super) checkpoints: Vec<CheckpointFiles>,
    /// The newest version that the listing shows.
    pub(super) newest: u64,
    /// The versions of commits that cannot be read.
    pub(super) broken: BTreeSet<u64>,
    /// The versions of commits that were read.
    pub(super) read: BTreeSet<u64>,
    /// Whether a commit was deleted after it was listed, as a cleanup does.
    pub(super) has_changed: bool,
}

impl CheckedLog {
    /// Lists the log.
    pub(super) async fn list(store: &Store, findings: &mut Findings) -> Result<Self> {
        let (listed, hint) = futures::try_join!(log::list_log(store, None), log::read_hint(store))?;
        let hint = match hint {
            ReadHint::Sound(hint) => Some(*hint),
            ReadHint::Missing => None,
            ReadHint::Unusable(reason) => {
                findings.report(Finding::new(FindingKind::HintUnreadable, reason).file(HINT_NAME));
                None
            }
        };
        let (complete, incomplete) = checkpoints(&listed, &HashSet::new());
        for path in incomplete {
            let message = "a part of the checkpoint is missing or empty";
            findings.report(Finding::new(FindingKind::CheckpointIncomplete, message).file(path.name).version(path.version));
        }
        let is_of_version = |file: &&ListedLogFile| file.path.is_commit() || matches!(file.path.kind, LogKind::Checkpoint(_));
        let Some(newest) = listed.iter().filter(is_of_version).map(|file| file.path.version).max() else {
            let message = format!("{}: there is no Delta table here (no commits in {LOG_DIR})", store.url());
            return Err(Error::new(ErrorKind::TableNotFound, message));
        };
        Ok(Self {
            listed,
            hint,
            checkpoints: complete,
            newest,
            broken: BTreeSet::new(),
            read: BTreeSet::new(),
            has_changed: false,
        })
    }

    /// Checks the listing, and reads the commits above the newest checkpoint.
    pub(super) async fn check(&mut self, store: &Store, findings: &mut Findings, reporter: &mut LevelReporter<'_>) -> Result<()> {
        self.check_gaps(findings);
        self.check_hint(findings);
        let first = self.first_needed();
        let needed: Vec<LogPath> = self.commits().filter(|path| path.version >= first).cloned().collect();
        self.read_commits(store, needed, findings, reporter).await?;
        for file in self.listed.iter().filter(|file| file.path.is_commit() && file.size == 0 && file.path.version < first) {
            self.broken.insert(file.path.version);
            findings.report(old_commit_unreadable(&file.path, "it is empty"));
        }
        Ok(())
    }

    /// Returns the first version above the newest checkpoint.
    pub(super) fn first_needed(&self) -> u64 {
        self.checkpoints.last().map_or(0, |checkpoint| checkpoint.version + 1)
    }

    /// Returns the commits that are listed, oldest first.
    pub(super) fn commits(&self) -> impl Iterator<Item = &LogPath> {
        let mut last = None;
        let commits = self.listed.iter().map(|file| &file.path).filter(|path| path.is_commit());
        // A version may have two spellings.
        commits.filter(move |path| last.replace(path.version) != Some(path.version))
    }

    /// Returns the log compactions that are listed.
    pub(super) fn compactions(&self) -> impl Iterator<Item = &LogPath> {
        self.listed.iter().map(|file| &file.path).filter(|path| matches!(path.kind, LogKind::Compaction { .. }))
    }

    /// Reads commits, and reports those that cannot be read.
    pub(super) async fn read_commits(
        &mut self,
        store: &Store,
        commits: Vec<LogPath>,
        findings: &mut Findings,
        reporter: &mut LevelReporter<'_>,
    ) -> Result<()> {
        let first = self.first_needed();
        let reading = commits.into_iter().map(|path| async move {
            let read = damage(read_commit(store, &path).await)?;
            Ok::<_, Error>((path, read))
        });
        let mut reading = pin!(stream::iter(reading).buffered(CONCURRENCY));
        while let Some((path, read)) = reading.try_next().await? {
            self.read.insert(path.version);
            reporter.add(1);
            let error =
                match read {
                    Err(error) => error,
                    Ok(repeated) => {
                        // Readers that begin with the checkpoint do not read older commits.
                        let repeated = repeated.filter(|_| path.version >= first);
                        findings.extend(repeated.map(|what| {
                            Finding::new(FindingKind::CommitContradictory, what).file(&path.name).version(path.version)
                        }));
                        continue;
                    }
                };
            self.has_changed |= error.is_not_found();
            self.broken.insert(path.version);
            findings.report(match path.version >= first {
                true => Finding::new(FindingKind::CommitUnreadable, error.message()).file(&path.name).version(path.version),
                false => old_commit_unreadable(&path, error.message()),
            });
        }
        Ok(())
    }

    fn check_gaps(&self, findings: &mut Findings) {
        let first = self.first_needed();
        let commits: Vec<u64> = self.commits().map(|path| path.version).collect();
        let mut gaps: Vec<(u64, u64)> = commits
            .iter()
            .zip(commits.iter().skip(1))
            .filter(|(one, next)| *one + 1 < **next)
            .map(|(one, next)| (one + 1, next - 1))
            .collect();
        match commits.first() {
            // Commits above the checkpoint, or all commits, begin too late.
            Some(oldest) if *oldest > first => gaps.insert(0, (first, oldest - 1)),
            // The commit of the newest version is missing, and only a checkpoint shows it.
            None if self.checkpoints.is_empty() => gaps.push((0, self.newest)),
            _ => {}
        }
        if let Some(last) = commits.last().filter(|last| **last < self.newest && self.newest >= first) {
            gaps.push((last + 1, self.newest));
        }
        for (from, to) in gaps {
            let kind = if to >= first { FindingKind::CommitMissing } else { FindingKind::OldCommitMissing };
            let message = match from == to {
                true => format!("the commit of version {from} is missing"),
                false => format!("the commits of versions {from} to {to} are missing"),
            };
            findings.report(Finding::new(kind, message).file(LogPath::commit(from).name).version(from));
        }
    }

    fn check_hint(&self, findings: &mut Findings) {
        let Some(hint) = &self.hint else { return };
        let wrong = |message: String| Finding::new(FindingKind::HintWrong, message).file(HINT_NAME).version(hint.version);
        let named: Vec<&CheckpointFiles> =
            self.checkpoints.iter().filter(|checkpoint| checkpoint.version == hint.version).collect();
        if named.is_empty() {
            let message = format!("it names a checkpoint of version {}, but there is no complete one", hint.version);
            return findings.report(wrong(message));
        }
        let parts = |checkpoint: &CheckpointFiles| match checkpoint.kind {
            CheckpointKind::MultiPart { parts, .. } => Some(parts),
            _ => None,
        };
        if let Some(wanted) = hint.parts.filter(|wanted| named.iter().all(|checkpoint| parts(checkpoint).unwrap_or(1) != *wanted))
        {
            let message = format!("it names a checkpoint of version {} in {wanted} parts, but there is none", hint.version);
            return findings.report(wrong(message));
        }
        if let Some(newest) = self.checkpoints.last().filter(|newest| newest.version > hint.version) {
            let message =
                format!("it names the checkpoint of version {}, but there is one of version {}", hint.version, newest.version);
            findings.report(Finding::new(FindingKind::HintOutdated, message).file(HINT_NAME).version(hint.version));
        }
    }
}

fn old_commit_unreadable(path: &LogPath, message: &str) -> Finding {
    Finding::new(FindingKind::OldCommitUnreadable, message).file(&path.name).version(path.version)
}

/// Reads a commit and parses each of its lines. Returns the first action that it has twice, in words.
async fn read_commit(store: &Store, path: &LogPath) -> Result<Option<String>> {
    let actions = read_lines(store, std::slice::from_ref(path), CommitActions::default(), CommitActions::take).await?;
    Ok(actions.repeated)
}
