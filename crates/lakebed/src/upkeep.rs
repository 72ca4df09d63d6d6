//! Upkeep after a commit: writes the checksum of the version, a checkpoint when one is due, deletes
//! log files that are out of date, and updates symlink manifests. A failure of upkeep never fails the commit.
//!
//! [`Snapshot::after_commit`] does all of it; each step can also be called alone.

use bytes::Bytes;
use lakebed_core::action::json::CommitLines;
use lakebed_core::commit::copied::CopiedFiles;
use lakebed_core::log::checksum::{FileChanges, Successor, VersionChecksum};
use lakebed_core::path::{LogKind, LogPath, checksum_name, commit_name};
use lakebed_io::log::{self, ReadHint};
use serde::{Deserialize, Serialize};

use crate::checkpoint::{CheckpointAhead, CheckpointOutcome};
use crate::cleanup::CleanupOutcome;
use crate::symlink_manifest::ManifestOutcome;
use crate::{Error, Result, Snapshot};

/// A checkpoint is due early when the commits since the last one touched this many files, because
/// every reader has to read all these actions.
const BUSY_FILES: u64 = 50_000;

/// In a large table, a checkpoint is due early only when the commits touched one of this many
/// files, because its checkpoint costs more.
const BUSY_SHARE: u64 = 4;

/// The number of commits between two checkpoints if the table does not set it: `INTERVAL`, and as
/// many again for each `FILES_PER_INTERVAL` files. For a writer, the cost of a checkpoint grows
/// with the number of files. For readers, the cost grows with the number of commits since the last
/// checkpoint.
const INTERVAL: u64 = 10;
const FILES_PER_INTERVAL: u64 = 4_000;
const LONGEST_INTERVAL: u64 = 100;

/// Whether a checkpoint and a cleanup of the log may follow a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UpkeepOptions {
    /// Whether a checkpoint is written if one is due. A later commit makes up for it.
    pub checkpoint: bool,
    /// Whether log files that are out of date are deleted after a checkpoint. `None` leaves it to
    /// `delta.enableExpiredLogCleanup`.
    pub clean_up_log: Option<bool>,
}

impl Default for UpkeepOptions {
    fn default() -> Self {
        Self { checkpoint: true, clean_up_log: None }
    }
}

/// The commit that created a snapshot.
#[derive(Debug, Clone)]
pub struct NewCommit {
    /// The lines of the commit file, without those of copied files.
    pub lines: Bytes,
    /// The files that the commit takes over from another table.
    pub copied: Option<CopiedFiles>,
    /// The writer's knowledge about the files that the commit adds and removes.
    pub changes: FileChanges,
    /// The checksum of the version before, if it is known.
    pub previous: Option<VersionChecksum>,
}

impl NewCommit {
    /// Returns the number of files that the commit takes over from another table.
    fn copied_files(&self) -> u64 {
        self.copied.as_ref().map_or(0, CopiedFiles::count)
    }
}

/// The result of the upkeep after a commit.
#[derive(Debug, Default)]
pub struct UpkeepOutcome {
    /// The checksum of the version, if it can be computed.
    pub checksum: Option<VersionChecksum>,
    /// The checkpoint, if one was due.
    pub checkpoint: Option<CheckpointOutcome>,
    /// The result of the cleanup, if a checkpoint was written.
    pub cleanup: Option<CleanupOutcome>,
    /// The symlink manifests, if the table has them.
    pub manifests: Option<ManifestOutcome>,
    /// The errors of the upkeep. The commit is valid, and a later commit makes up for the failed
    /// upkeep.
    pub problems: Vec<Error>,
}

impl Snapshot {
    /// Does the upkeep that follows the commit of this version. Errors are returned and logged, and
    /// have no other effect.
    pub async fn after_commit(&self, commit: &NewCommit, options: UpkeepOptions) -> UpkeepOutcome {
        self.after_commit_with(commit, None, options).await
    }

    /// Does the upkeep, with a checkpoint of this version that was begun before the commit.
    pub(crate) async fn after_commit_with(
        &self,
        commit: &NewCommit,
        ahead: Option<Box<CheckpointAhead>>,
        options: UpkeepOptions,
    ) -> UpkeepOutcome {
        let mut outcome = UpkeepOutcome::default();
        let mut problems = Vec::new();
        outcome.checksum = noted(self.put_next_checksum(commit).await, &mut problems).flatten();
        let touched = count_lines(&commit.lines) + commit.copied_files();
        let files = outcome.checksum.as_ref().map_or_else(|| self.known_files(), files_of);
        if options.checkpoint && noted(self.is_due(touched, files).await, &mut problems).unwrap_or(false) {
            let begun = ahead.map(|ahead| (ahead, commit));
            let writing = Box::pin(self.checkpoint_and_checksum(begun, &mut outcome.checksum));
            outcome.checkpoint = noted(writing.await, &mut problems);
        } else if let Some(ahead) = ahead {
            ahead.abort().await;
        }
        let cleans_up = options.clean_up_log.unwrap_or(self.properties().expired_log_cleanup);
        if outcome.checkpoint.is_some() && cleans_up && self.is_clean_up_due() {
            outcome.cleanup = noted(self.clean_up_log().await, &mut problems);
        }
        if self.properties().symlink_manifest {
            outcome.manifests = noted(self.update_symlink_manifest(&commit.lines).await, &mut problems);
        }
        for problem in &problems {
            let (table, version) = (self.url(), self.version());
            tracing::warn!(table, version, "{table}: version {version} was committed, but its upkeep failed: {problem}");
        }
        UpkeepOutcome { problems, ..outcome }
    }

    /// Writes the checksum of this version, computed from the checksum of the version before and
    /// the commit. Returns None if it cannot be computed.
    pub async fn put_next_checksum(&self, commit: &NewCommit) -> Result<Option<VersionChecksum>> {
        let mut next = match (self.version().checked_sub(1), &commit.previous) {
            (None, _) => Successor::of_nothing(),
            (Some(_), Some(previous)) => Successor::of(previous, commit.changes),
            (Some(_), None) if self.is_checksum_wrong() => return Ok(None),
            (Some(before), None) => match self.read_checksum_of(before).await? {
                Some(previous) => Successor::of(&previous, commit.changes),
                None => return Ok(None),
            },
        };
        next.read(CommitLines::whole(&commit.lines, &commit_name(self.version())))?;
        if let Some(copied) = &commit.copied {
            next.add_files(copied.keys(), copied.sums());
        }
        let Some(checksum) = next.finish() else { return Ok(None) };
        log::put_checksum(self.store(), self.version(), &checksum).await?;
        Ok(Some(checksum))
    }

    /// Returns the checksum of a version, if its file exists and is sound.
    async fn read_checksum_of(&self, version: u64) -> Result<Option<VersionChecksum>> {
        let path = LogPath { version, kind: LogKind::Checksum, name: checksum_name(version) };
        match log::read_checksum(self.store(), &path).await {
            Ok(checksum) => Ok(Some(checksum)),
            Err(error) if error.is_not_found() || error.is_corrupt() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns whether a checkpoint of this version is due. The commit of the version has this many
    /// actions.
    ///
    /// A checkpoint is due every `delta.checkpointInterval` versions. If that property is unset, it
    /// is due every 10 versions, and up to every 100 versions for tables with many files. It is due
    /// earlier if the commits since the last one touched many files, which may be the first commit. It is due later if no writer
    /// wrote it when it was due. In these two cases, the hint shows first whether another writer
    /// has written one.
    pub async fn is_checkpoint_due(&self, actions: u64) -> Result<bool> {
        self.is_due(actions, self.known_files()).await
    }

    /// Returns whether a checkpoint is due in a table with this many files.
    async fn is_due(&self, actions: u64, files: u64) -> Result<bool> {
        let interval = checkpoint_interval(self, files);
        if self.version() == 0 {
            // A clone or a conversion may begin with very many files.
            return Ok(self.is_busy(actions, files));
        }
        if self.version().is_multiple_of(interval) {
            return Ok(true);
        }
        let is_overdue = self.segment().commits.len() as u64 >= interval.saturating_mul(2);
        if !is_overdue && !self.is_busy(actions, files) {
            return Ok(false);
        }
        let last = self.segment().checkpoint.as_ref().map(|checkpoint| checkpoint.version);
        Ok(match log::read_hint(self.store()).await? {
            ReadHint::Sound(hint) => last.is_some_and(|last| hint.version <= last),
            ReadHint::Missing | ReadHint::Unusable(_) => true,
        })
    }

    fn is_busy(&self, actions: u64, files: u64) -> bool {
        let touched = self.known_layers().map_or(actions, |layers| actions.max(layers.touched_files() as u64));
        touched >= BUSY_FILES.max(files / BUSY_SHARE)
    }

    /// Returns the number of files of the table according to the checksum; 0 without a checksum.
    fn known_files(&self) -> u64 {
        self.checksum().map_or(0, files_of)
    }

    /// Writes a checkpoint. If the commit alone did not determine the checksum, the checkpoint
    /// does, and the checksum is written too.
    async fn checkpoint_and_checksum(
        &self,
        begun: Option<(Box<CheckpointAhead>, &NewCommit)>,
        checksum: &mut Option<VersionChecksum>,
    ) -> Result<CheckpointOutcome> {
        let outcome = match begun {
            Some((ahead, commit)) => match self.finish_checkpoint(*ahead, &commit.lines, commit.copied_files()).await {
                Ok(outcome) => outcome,
                Err(error) => {
                    let (table, version) = (self.url(), self.version());
                    tracing::warn!(table, version, "{table}: a checkpoint could not be completed and is written anew: {error}");
                    self.checkpoint().await?
                }
            },
            None => self.checkpoint().await?,
        };
        if checksum.is_none()
            && let Some(known) = &outcome.checksum
        {
            log::put_checksum(self.store(), self.version(), known).await?;
            *checksum = Some(known.clone());
        }
        Ok(outcome)
    }
}

/// Returns after how many commits a checkpoint of a table with this many files is due.
pub(crate) fn checkpoint_interval(snapshot: &Snapshot, files: u64) -> u64 {
    snapshot.properties().checkpoint_interval.unwrap_or_else(|| usual_interval(files))
}

fn files_of(checksum: &VersionChecksum) -> u64 {
    u64::try_from(checksum.num_files).unwrap_or(0)
}

fn usual_interval(files: u64) -> u64 {
    (INTERVAL * (1 + files / FILES_PER_INTERVAL)).min(LONGEST_INTERVAL)
}

/// Returns the value, or adds the error to the problems.
fn noted<T>(result: Result<T>, problems: &mut Vec<Error>) -> Option<T> {
    result.map_err(|error| problems.push(error)).ok()
}

/// Returns the number of lines.
pub(crate) fn count_lines(lines: &[u8]) -> u64 {
    lines.iter().filter(|byte| **byte == b'\n').count() as u64
}

#[cfg(test)]
mod tests {
    use super::usual_interval;

    #[test]
    fn large_tables_have_fewer_checkpoints() {
        let found = [0, 3_999, 4_000, 12_500, 36_000, 1_000_000, u64::MAX / 20].map(usual_interval);
        assert_eq!(found, [10, 10, 20, 40, 100, 100, 100]);
    }
}
