//! The files that a run of commits added: their actions, or only where these stand and which of
//! them hold.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::BooleanArray;

use crate::error::Result;
use crate::log::files::{FileBatch, FileKey};

/// Whole lines of a commit, by their place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitRange {
    /// Of the file.
    pub name: Arc<str>,
    /// In the file.
    pub bytes: Range<u64>,
    /// How many lines of the file come before these.
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
    /// In the order of the keys.
    Kept(FileBatch),
    /// Among those in these places, newest first.
    InLog(Arc<[CommitRange]>),
}

impl AddedFiles {
    pub(super) fn kept(files: FileBatch, keys: Vec<FileKey>) -> Self {
        Self { keys, actions: Actions::Kept(files) }
    }

    /// Only what tells them among the files in these places.
    pub(super) fn in_log(all: Vec<Self>, places: Vec<CommitRange>) -> Self {
        Self { keys: all.into_iter().flat_map(|added| added.keys).collect(), actions: Actions::InLog(places.into()) }
    }

    /// Those that are not hidden, if there are any.
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
            Actions::InLog(places) => Actions::InLog(Arc::clone(places)),
        };
        Ok(Some(Self { keys, actions }))
    }

    /// What tells them apart.
    pub fn keys(&self) -> impl Iterator<Item = FileKey> + '_ {
        self.keys.iter().copied()
    }

    /// What has to be read to know more of the files than their keys.
    pub fn places(&self) -> &[CommitRange] {
        match &self.actions {
            Actions::Kept(_) => &[],
            Actions::InLog(places) => places,
        }
    }
}
