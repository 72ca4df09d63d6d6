//! Decides how many new files go into one batch. The rules are those of Delta Spark's streams; this
//! module does no I/O.
//!
//! A [`BatchWalk`] passes the initial snapshot and the commits after an offset, and keeps the last
//! position that it reached. A file is taken if there is room before it, so the first file always
//! fits. The beginning and the end of a commit take no room. If the files of a change feed commit
//! belong together, because they are change data files or differ by deletion vectors, the commit is
//! taken as a whole or not at all.

use std::ops::ControlFlow;

use super::offset::{Offset, Position};
use crate::changes::commits::FileSize;

/// The limits of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadLimits {
    /// The most files.
    pub max_files: Option<u64>,
    /// The most bytes of files. One file is always taken.
    pub max_bytes: Option<u64>,
    /// The last offset. Nothing after it is taken.
    pub until: Option<Offset>,
}

/// The properties of a change feed commit that matter for a batch.
pub(super) struct FeedCommit<'a> {
    pub(super) version: u64,
    /// The files, in order.
    pub(super) files: &'a [FileSize],
    /// Whether the files are change data files.
    pub(super) are_changes: bool,
    /// Whether the files have deletion vectors and therefore belong together.
    pub(super) have_vectors: bool,
    /// Whether none of the files counts.
    pub(super) is_skipped: bool,
    /// Whether the commit changes the schema.
    pub(super) changes_schema: bool,
}

/// The room that the limits leave.
struct BatchRoom {
    files: i128,
    bytes: i128,
    /// Whether the batch has already taken something.
    has_begun: bool,
}

impl BatchRoom {
    fn is_left(&self) -> bool {
        self.files > 0 && self.bytes > 0
    }

    fn take(&mut self, files: usize, bytes: u64) {
        self.files -= files as i128;
        self.bytes -= i128::from(bytes);
    }

    fn admit(&mut self, bytes: u64) -> bool {
        let fits = self.is_left();
        self.has_begun = true;
        self.take(1, bytes);
        fits
    }

    /// Takes all entries or none. The first commit of a batch always fits.
    fn admit_all(&mut self, entries: usize, bytes: u64) -> bool {
        let fits = !self.has_begun || (self.files >= entries as i128 && self.bytes >= i128::from(bytes));
        self.has_begun = true;
        self.take(entries, bytes);
        fits
    }
}

/// A position that a walk passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum CommitPosition {
    At(Position),
    /// After all files of the commit.
    End,
}

/// A walk from an offset onward.
pub(super) struct BatchWalk {
    start: Offset,
    until: Option<(u64, Position)>,
    room: Option<BatchRoom>,
    last: Option<(u64, CommitPosition)>,
}

impl BatchWalk {
    /// Starts a walk at an offset, with limits.
    pub(super) fn new(start: &Offset, limits: &ReadLimits) -> Self {
        let amount = |limit: Option<u64>| limit.map_or(i128::MAX, i128::from);
        let room = BatchRoom { files: amount(limits.max_files), bytes: amount(limits.max_bytes), has_begun: false };
        let is_limited = limits.max_files.is_some() || limits.max_bytes.is_some();
        Self {
            start: start.clone(),
            until: limits.until.as_ref().map(|until| (until.version, until.position)),
            room: is_limited.then_some(room),
            last: None,
        }
    }

    /// Returns whether there may be room for more.
    pub(super) fn has_room(&self) -> bool {
        self.room.as_ref().is_none_or(BatchRoom::is_left)
    }

    /// Returns whether the walk ends before this version.
    pub(super) fn is_beyond(&self, version: u64) -> bool {
        self.until.is_some_and(|until| (version, Position::Base) >= until)
    }

    /// Returns the offset after everything that was passed; None if nothing was passed.
    pub(super) fn reached(&self) -> Option<Offset> {
        let (version, place) = self.last?;
        let (version, position, is_initial) = match place {
            // The commit is finished, so the offset is the beginning of the next version.
            CommitPosition::End => (version + 1, Position::Base, false),
            CommitPosition::At(position) => (version, position, self.start.is_initial && version == self.start.version),
        };
        Some(Offset { table_id: self.start.table_id.clone(), version, position, is_initial })
    }

    /// Passes the files of a commit, or of the initial snapshot, one by one.
    pub(super) fn pass_files(
        &mut self,
        version: u64,
        changes_schema: bool,
        sizes: impl IntoIterator<Item = u64>,
    ) -> ControlFlow<()> {
        self.pass_free(version, CommitPosition::At(Position::Base))?;
        if changes_schema {
            self.pass_free(version, CommitPosition::At(Position::SchemaChange))?;
            return ControlFlow::Break(());
        }
        for (index, size) in (0..).zip(sizes) {
            self.pass_file(version, index, size)?;
        }
        self.pass_free(version, CommitPosition::End)
    }

    /// Passes a commit of a change feed.
    pub(super) fn pass_feed_commit(&mut self, commit: &FeedCommit<'_>) -> ControlFlow<()> {
        let version = commit.version;
        if commit.changes_schema {
            return self.pass_files(version, true, []);
        }
        let counted = (0..).zip(commit.files).filter(|(_, file)| !file.is_excluded && !commit.is_skipped);
        if self.room.is_some() && (commit.are_changes || commit.have_vectors) {
            let mut entries: Vec<(CommitPosition, u64)> =
                counted.map(|(index, file)| (CommitPosition::At(Position::File(index)), file.size)).collect();
            // As in Delta Spark, the beginning and the end count here; commits with change data
            // files have neither.
            if !commit.are_changes {
                entries.insert(0, (CommitPosition::At(Position::Base), 0));
                entries.push((CommitPosition::End, 0));
            }
            return self.pass_together(version, entries);
        }
        self.pass_free(version, CommitPosition::At(Position::Base))?;
        for (index, file) in counted {
            self.pass_file(version, index, file.size)?;
        }
        self.pass_free(version, CommitPosition::End)
    }

    fn pass_together(&mut self, version: u64, mut entries: Vec<(CommitPosition, u64)>) -> ControlFlow<()> {
        entries.retain(|(place, _)| self.is_ahead(version, *place) && self.check_until(version, *place).is_continue());
        let Some((last, _)) = entries.last() else { return ControlFlow::Continue(()) };
        let bytes = entries.iter().map(|(_, size)| size).sum();
        if self.room.as_mut().is_some_and(|room| !room.admit_all(entries.len(), bytes)) {
            return ControlFlow::Break(());
        }
        self.last = Some((version, *last));
        ControlFlow::Continue(())
    }

    fn pass_file(&mut self, version: u64, index: u64, size: u64) -> ControlFlow<()> {
        let place = CommitPosition::At(Position::File(index));
        self.check_until(version, place)?;
        if !self.is_ahead(version, place) {
            return ControlFlow::Continue(());
        }
        if self.room.as_mut().is_some_and(|room| !room.admit(size)) {
            return ControlFlow::Break(());
        }
        self.last = Some((version, place));
        ControlFlow::Continue(())
    }

    fn pass_free(&mut self, version: u64, place: CommitPosition) -> ControlFlow<()> {
        self.check_until(version, place)?;
        if self.is_ahead(version, place) {
            self.room.iter_mut().for_each(|room| room.has_begun = true);
            self.last = Some((version, place));
        }
        ControlFlow::Continue(())
    }

    fn is_ahead(&self, version: u64, place: CommitPosition) -> bool {
        (version, place) > (self.start.version, CommitPosition::At(self.start.position))
    }

    fn check_until(&self, version: u64, place: CommitPosition) -> ControlFlow<()> {
        match self.until {
            Some((until, position)) if (version, place) > (until, CommitPosition::At(position)) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

#[cfg(test)]
mod tests;
