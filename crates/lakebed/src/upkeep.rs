//! What follows a commit and never fails it: the checksum of the version, a checkpoint when one is due, the end of what is out of date.
//!
//! [`Snapshot::after_commit`] does all of it; each step can be asked for alone.

use bytes::Bytes;
use lakebed_core::action::json::CommitLines;
use lakebed_core::log::checksum::{FileChanges, Successor, VersionChecksum};
use lakebed_core::path::{LogKind, LogPath, checksum_name, commit_name};
use lakebed_io::log::{self, ReadHint};

use crate::checkpoint::CheckpointOutcome;
use crate::cleanup::CleanupOutcome;
use crate::{Error, Result, Snapshot};

/// A checkpoint is due ahead of time when commits since the last one touched so many files: to read the table means to read them all.
const BUSY_FILES: u64 = 50_000;

/// Of a large table, when they touched one in so many of its files: its checkpoint costs more.
const BUSY_SHARE: u64 = 4;

/// Where the table does not say how many commits lie between two checkpoints: so many, and as many again for each so many files. A writer
/// pays for a checkpoint by the file, readers for the commits since the last one by the commit.
const INTERVAL: u64 = 10;
const FILES_PER_INTERVAL: u64 = 4_000;
const LONGEST_INTERVAL: u64 = 100;

/// The commit that made a snapshot.
#[derive(Debug, Clone)]
pub struct NewCommit {
    /// All lines of its file.
    pub lines: Bytes,
    /// What its writer knows of the files that it adds and removes.
    pub changes: FileChanges,
    /// The checksum of the version before, if it is at hand.
    pub previous: Option<VersionChecksum>,
}

/// What was done after a commit.
#[derive(Debug, Default)]
pub struct UpkeepOutcome {
    /// The checksum of the version, if it can be known.
    pub checksum: Option<VersionChecksum>,
    /// The checkpoint, if one was due.
    pub checkpoint: Option<CheckpointOutcome>,
    /// What was cleaned up, if a checkpoint was written.
    pub cleanup: Option<CleanupOutcome>,
    /// What went wrong. The commit stands, and whoever comes next makes good for it.
    pub problems: Vec<Error>,
}

impl Snapshot {
    /// Does what should follow the commit that made this version. What goes wrong is told, and else without consequence.
    pub async fn after_commit(&self, commit: &NewCommit) -> UpkeepOutcome {
        let mut outcome = UpkeepOutcome::default();
        let mut problems = Vec::new();
        outcome.checksum = noted(self.put_next_checksum(commit).await, &mut problems).flatten();
        let touched = count_lines(&commit.lines);
        let files = outcome.checksum.as_ref().map_or_else(|| self.known_files(), files_of);
        if noted(self.is_due(touched, files).await, &mut problems).unwrap_or(false) {
            outcome.checkpoint = noted(self.checkpoint_and_checksum(&mut outcome.checksum).await, &mut problems);
        }
        if outcome.checkpoint.is_some() && self.properties().expired_log_cleanup && self.is_clean_up_due() {
            outcome.cleanup = noted(self.clean_up_log().await, &mut problems);
        }
        for problem in &problems {
            let (table, version) = (self.url(), self.version());
            tracing::warn!(table, version, "{table}: version {version} was committed, but its upkeep met a problem: {problem}");
        }
        UpkeepOutcome { problems, ..outcome }
    }

    /// Writes the checksum of this version, made out of that of the version before and the commit; nothing if it cannot be known.
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
        let Some(checksum) = next.finish() else { return Ok(None) };
        log::put_checksum(self.store(), self.version(), &checksum).await?;
        Ok(Some(checksum))
    }

    /// The checksum of a version, if its file is there and sound.
    async fn read_checksum_of(&self, version: u64) -> Result<Option<VersionChecksum>> {
        let path = LogPath { version, kind: LogKind::Checksum, name: checksum_name(version) };
        match log::read_checksum(self.store(), &path).await {
            Ok(checksum) => Ok(Some(checksum)),
            Err(error) if error.is_not_found() || error.is_corrupt() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether a checkpoint of this version is due, whose commit has so many actions.
    ///
    /// One is every `delta.checkpointInterval` versions; if that is unset every 10, up to 100 for tables of many files. One is before that
    /// when the commits since the last one touched many files, and after it when nobody wrote the one that was due; for these it is looked
    /// first whether somebody has.
    pub async fn is_checkpoint_due(&self, actions: u64) -> Result<bool> {
        self.is_due(actions, self.known_files()).await
    }

    /// The same of a table with so many files.
    async fn is_due(&self, actions: u64, files: u64) -> Result<bool> {
        let interval = self.properties().checkpoint_interval.unwrap_or_else(|| usual_interval(files));
        if self.version() == 0 {
            return Ok(false);
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

    /// How many files the table has, if its checksum tells.
    fn known_files(&self) -> u64 {
        self.checksum().map_or(0, files_of)
    }

    /// Writes a checkpoint and, if the commit alone did not tell the checksum, the one that the checkpoint makes known.
    async fn checkpoint_and_checksum(&self, checksum: &mut Option<VersionChecksum>) -> Result<CheckpointOutcome> {
        let outcome = self.checkpoint().await?;
        if checksum.is_none()
            && let Some(known) = &outcome.checksum
        {
            log::put_checksum(self.store(), self.version(), known).await?;
            *checksum = Some(known.clone());
        }
        Ok(outcome)
    }
}

fn files_of(checksum: &VersionChecksum) -> u64 {
    u64::try_from(checksum.num_files).unwrap_or(0)
}

fn usual_interval(files: u64) -> u64 {
    (INTERVAL * (1 + files / FILES_PER_INTERVAL)).min(LONGEST_INTERVAL)
}

/// The value, or its error among the problems.
fn noted<T>(result: Result<T>, problems: &mut Vec<Error>) -> Option<T> {
    result.map_err(|error| problems.push(error)).ok()
}

fn count_lines(lines: &[u8]) -> u64 {
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
