//! The tasks of a batch with a known end: files of the initial snapshot and of the commits between
//! two offsets.

use super::Follow;
use super::offset::{Offset, Position};
use super::schema::check_table;
use crate::changes::commits::{NONE, lost};
use crate::changes::feed::changed_files;
use crate::scan::balance::balanced;
use crate::scan::{ChangeType, FileChange, ScanFile, ScanTask};
use crate::{Error, Result};

impl Follow {
    /// Returns the content of a batch, in tasks of about this many bytes of files: everything after
    /// `start` up to `end`. Without `start`, the batch begins at the beginning of the stream.
    pub async fn tasks(&self, start: Option<&Offset>, end: &Offset, target_task_size_bytes: u64) -> Result<Vec<ScanTask>> {
        check_table(self.snapshot.url(), &end.table_id, self.table_id())?;
        if start == Some(end) {
            return Ok(Vec::new());
        }
        let begin = self.begin_of_batch(start, end).await?;
        check_table(self.snapshot.url(), &begin.table_id, self.table_id())?;
        end.check_follows(&begin)?;
        self.check_start(&begin).await?;
        let mut files = Vec::new();
        if begin.is_initial {
            files = self.files_of_snapshot(&begin, end).await?;
        }
        if !end.is_initial {
            self.add_files_of_commits(&begin, end, &mut files).await?;
        }
        let task = |files| ScanTask { spec: self.spec.clone(), files };
        Ok(balanced(files, target_task_size_bytes).into_iter().map(task).collect())
    }

    /// Returns the beginning of a batch. If the first batch is read again, the table may have newer
    /// versions than at the first time. The batch then begins before its end all the same.
    async fn begin_of_batch(&self, start: Option<&Offset>, end: &Offset) -> Result<Offset> {
        let begin = match start {
            Some(start) => start.clone(),
            None => self.initial_offset().await?,
        };
        let is_fresh = begin.is_initial && begin.position == Position::Base;
        let is_behind =
            (begin.version, begin.position) >= (end.version, end.position) || (end.is_initial && begin.version != end.version);
        if !is_fresh || !is_behind {
            return Ok(begin);
        }
        let version = if end.is_initial { Some(end.version) } else { end.version.checked_sub(1) };
        match version {
            Some(version) => Ok(Offset { version, ..begin }),
            None => Err(Error::invalid_input(format!("a batch cannot end at {end}: nothing comes before it"))),
        }
    }

    async fn files_of_snapshot(&self, begin: &Offset, end: &Offset) -> Result<Vec<ScanFile>> {
        let all = self.initial_files(begin.version).await?;
        let last = if end.is_initial { behind(end.position) } else { all.len() };
        let mut files = all.files(behind(begin.position)..last)?;
        if let Some(exclude) = &self.options.exclude {
            files.retain(|file| !exclude.is_match(&file.path));
        }
        if self.options.read_change_feed {
            let change = FileChange {
                change_type: ChangeType::Insert,
                version: begin.version,
                timestamp_ms: self.commit_time_ms(begin.version).await?,
            };
            files.iter_mut().for_each(|file| file.change = Some(change));
        }
        Ok(files)
    }

    async fn commit_time_ms(&self, version: u64) -> Result<i64> {
        match self.commits(version..=version, NONE).next().await? {
            Some(commit) => Ok(commit.timestamp_ms()),
            None => Err(lost(self.snapshot.store(), version)),
        }
    }

    async fn add_files_of_commits(&self, begin: &Offset, end: &Offset, files: &mut Vec<ScanFile>) -> Result<()> {
        let first = if begin.is_initial { begin.version + 1 } else { begin.version };
        // At its beginning, an offset includes nothing of its version.
        let last = if end.position == Position::Base { end.version.checked_sub(1) } else { Some(end.version) };
        let Some(last) = last.filter(|last| first <= *last) else { return Ok(()) };
        let keep = (begin.version, behind(begin.position))..(end.version, behind(end.position));
        let mut commits = self.commits(first..=last, keep);
        while let Some(commit) = commits.next().await? {
            let is_skipped = self.check_commit(&commit).await?;
            if self.options.read_change_feed {
                files.extend(changed_files(commit)?);
            } else if !is_skipped {
                files.extend(commit.files.kept.into_iter().map(|kept| kept.file));
            }
        }
        // A batch must contain everything that its end offset includes.
        if commits.version() <= last && !self.options.tolerate_data_loss {
            return Err(lost(self.snapshot.store(), commits.version()));
        }
        Ok(())
    }
}

/// Returns the index of the first file after a position.
fn behind(position: Position) -> u64 {
    match position {
        Position::File(index) => index.saturating_add(1),
        Position::Base | Position::SchemaChange | Position::AfterSchemaChange => 0,
    }
}
