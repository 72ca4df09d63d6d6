//! The files that a run of commits added: their actions, or the ranges of the log that hold the
//! actions.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::BooleanArray;

use crate::error::Result;
use crate::log::files::{FileBatch, FileKey};

/// A range of whole lines in a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitRange {
    /// The name of the commit's file.
    pub name: Arc<str>,
    /// The bytes of the range in the file.
    pub bytes: Range<u64>,
    /// The number of lines of the file that come before the range.
    pub lines_before: usize,
}

/// Files that commits added.
#[derive(Debug, Clone)]
pub struct AddedFiles {
    pub(super) keys: Vec<FileKey>,
    pub(super) actions: Actions,
}

#[derive(Debug, Clone)]
pub(super) enum Actions {
    /// The actions, in the order of the keys.
    Kept(FileBatch),
    /// The ranges that hold the actions, among other actions, newest first.
    InLog(Arc<[CommitRange]>),
}

impl AddedFiles {
    pub(super) fn kept(files: FileBatch, keys: Vec<FileKey>) -> Self {
        Self { keys, actions: Actions::Kept(files) }
    }

    /// Creates the files with these keys. Their actions are in these ranges of commits.
    pub(super) fn in_log(keys: Vec<FileKey>, ranges: Vec<CommitRange>) -> Self {
        Self { keys, actions: Actions::InLog(ranges.into()) }
    }

    /// Returns the files that are not hidden. It returns `None` if all are hidden.
    pub(super) fn shown(&self, is_hidden: impl Fn(&FileKey) -> bool) -> Result<Option<Self>> {
        let shown: BooleanArray = self.keys.iter().map(|key| Some(!is_hidden(key))).collect();
        if shown.true_count() == self.keys.len() {
            return Ok(Some(self.clone()));
        }
        if !shown.has_true() {
            return Ok(None);
        }
        let keys = self.keys.iter().zip(shown.values()).filter(|(_, shown)| *shown).map(|(key, _)| *key).collect();
        let actions = match &self.actions {
            Actions::Kept(files) => Actions::Kept(files.filter(&shown)?),
            Actions::InLog(ranges) => Actions::InLog(Arc::clone(ranges)),
        };
        Ok(Some(Self { keys, actions }))
    }

    /// Returns the keys of the files.
    pub fn keys(&self) -> impl Iterator<Item = FileKey> + '_ {
        self.keys.iter().copied()
    }

    /// Returns the ranges that must be read to get the actions. There are none if the actions are
    /// kept.
    pub fn ranges(&self) -> &[CommitRange] {
        match &self.actions {
            Actions::Kept(_) => &[],
            Actions::InLog(ranges) => ranges,
        }
    }
}
