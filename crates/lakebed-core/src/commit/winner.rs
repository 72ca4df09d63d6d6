//! The facts about another transaction's commit that matter for conflicts.

use std::collections::{HashMap, HashSet};

use arrow_array::BooleanArray;

use crate::Result;
use crate::action::json::{AddRef, CommitLines, FileLine, Line, each_line};
use crate::action::{Action, Add, CommitInfo, DeletionVectorDescriptor, DomainMetadata, Metadata, Protocol, SetTransaction};
use crate::log::builder::FileBatchBuilder;
use crate::log::files::{FileBatch, FileKey};

use super::reads::path_key;

/// A commit of another transaction that came first.
#[derive(Debug, Clone)]
pub struct Winner {
    /// The version that the commit created.
    pub version: u64,
    /// The protocol, if the commit set one.
    pub protocol: Option<Protocol>,
    /// The metadata, if the commit set one.
    pub metadata: Option<Metadata>,
    /// The newest transaction identifiers of applications.
    pub transactions: Vec<SetTransaction>,
    /// Domain metadata by name.
    pub domains: Vec<DomainMetadata>,
    /// The commit's `commitInfo`.
    pub info: Option<CommitInfo>,
    /// The files with rows that the table did not have before.
    pub added: Vec<FileBatch>,
    /// The removed files by path.
    removed: HashMap<FileKey, Removed>,
    /// Files in which the commit deleted more rows.
    changed: HashMap<FileKey, Add>,
    /// Files that the commit added to the log without new rows. The table had them before, or they
    /// contain rows of other files.
    moved: HashSet<FileKey>,
}

/// A file that was removed.
#[derive(Debug, Clone)]
struct Removed {
    vector: Option<DeletionVectorDescriptor>,
    data_change: bool,
}

impl Removed {
    /// Returns whether the file is added back with more rows deleted, rather than with rows
    /// restored.
    fn loses_rows(&self, back: &Add) -> bool {
        let deleted = |vector: Option<&DeletionVectorDescriptor>| vector.map_or(0, |vector| vector.cardinality);
        deleted(back.deletion_vector.as_ref()) > deleted(self.vector.as_ref())
    }
}

impl Winner {
    /// Reads the lines of a commit.
    pub fn read<'a>(version: u64, parts: impl IntoIterator<Item = CommitLines<'a>>) -> Result<Self> {
        let mut winner = Self {
            version,
            protocol: None,
            metadata: None,
            transactions: Vec::new(),
            domains: Vec::new(),
            info: None,
            added: Vec::new(),
            removed: HashMap::new(),
            changed: HashMap::new(),
            moved: HashSet::new(),
        };
        let mut added = AddedFiles::default();
        for part in parts {
            each_line(part, |line| {
                match line {
                    Line::File(FileLine::Add(add)) => winner.add(add, &mut added)?,
                    Line::File(FileLine::Remove(remove)) => {
                        let removed = Removed { data_change: remove.data_change, vector: remove.deletion_vector.map(Into::into) };
                        winner.removed.insert(path_key(&remove.path), removed);
                    }
                    Line::Other(action) => winner.set(action),
                    Line::Nothing => {}
                }
                Ok(())
            })?;
        }
        let removed = &winner.removed;
        winner.changed.retain(|key, add| removed.get(key).is_some_and(|removed| removed.loses_rows(add)));
        // A file that only lost rows has no rows that it did not have before.
        winner.added = added.finish(|path| winner.changed.contains_key(&path_key(path)))?;
        Ok(winner)
    }

    /// Adds a file. It adds nothing new if its rows come from other files of this commit, or were
    /// in the table before.
    fn add(&mut self, add: AddRef<'_>, added: &mut AddedFiles) -> Result<()> {
        if add.deletion_vector.is_some() {
            self.changed.insert(path_key(&add.path), add.clone().into());
        }
        if add.data_change {
            return added.append(&add);
        }
        self.moved.insert(path_key(&add.path));
        Ok(())
    }

    fn set(&mut self, action: Action) {
        match action {
            Action::Protocol(protocol) => self.protocol = Some(protocol),
            Action::Metadata(metadata) => self.metadata = Some(metadata),
            Action::SetTransaction(txn) => self.transactions.push(txn),
            Action::DomainMetadata(domain) => self.domains.push(domain),
            Action::CommitInfo(info) => self.info = Some(info),
            Action::Add(_) | Action::Remove(_) | Action::Cdc(_) | Action::CheckpointMetadata(_) | Action::Sidecar(_) => {}
        }
    }

    /// Returns the keys of the files in which the commit removed or changed rows. Files that were
    /// only rearranged are not included, because their rows are in the table as before.
    pub(super) fn keys_of_changed_rows(&self) -> impl Iterator<Item = &FileKey> {
        let only_rearranged = self.added.is_empty() && self.removed.values().all(|removed| !removed.data_change);
        self.removed.keys().filter(move |_| !only_rearranged)
    }

    /// Returns whether the commit added or removed files, or changed facts about them.
    pub(super) fn changes_files(&self) -> bool {
        !self.added.is_empty() || !self.removed.is_empty() || !self.moved.is_empty()
    }

    /// Returns all files that the commit removed, as keys. Files that it also added back are
    /// included.
    pub(super) fn removed_keys(&self) -> impl Iterator<Item = &FileKey> {
        self.removed.keys()
    }

    /// Returns the files, as keys, that have rows of files that the commit removed.
    pub(super) fn moved_keys(&self) -> impl Iterator<Item = &FileKey> {
        self.moved.iter()
    }

    /// Returns whether the commit changed facts about this file and left its rows as they are.
    pub(super) fn notes(&self, path: &str) -> bool {
        self.moved.contains(&path_key(path)) && !self.removes(path)
    }

    /// Returns whether the commit removed this file, even if it added it back with another deletion
    /// vector.
    pub fn removes(&self, path: &str) -> bool {
        self.removed.contains_key(&path_key(path))
    }

    /// Returns the file as this commit left it, if the commit only deleted rows of it.
    pub fn changed(&self, path: &str) -> Option<&Add> {
        self.changed.get(&path_key(path))
    }

    /// Returns the deletion vector that the file had before this commit removed it.
    pub fn removed_vector(&self, path: &str) -> Option<&DeletionVectorDescriptor> {
        self.removed.get(&path_key(path))?.vector.as_ref()
    }

    /// Returns whether the commit states that it read nothing.
    pub fn is_blind_append(&self) -> bool {
        let said = self.info.as_ref().and_then(|info| info.0.get("isBlindAppend"));
        said.is_some_and(|said| said.as_bool() == Some(true) || said.as_str() == Some("true"))
    }
}

/// Batches of files that are being collected.
#[derive(Default)]
struct AddedFiles {
    batch: FileBatchBuilder,
    rows: usize,
    full: Vec<FileBatch>,
}

impl AddedFiles {
    fn append(&mut self, add: &AddRef<'_>) -> Result<()> {
        if self.batch.is_full() {
            self.full.push(std::mem::take(&mut self.batch).finish()?);
            self.rows = 0;
        }
        self.rows += 1;
        self.batch.append(add)
    }

    /// Returns the files without those that `is_left_out` selects.
    fn finish(mut self, is_left_out: impl Fn(&str) -> bool) -> Result<Vec<FileBatch>> {
        if self.rows > 0 {
            self.full.push(self.batch.finish()?);
        }
        let mut kept = Vec::with_capacity(self.full.len());
        for batch in self.full {
            let keep: BooleanArray = batch.paths()?.iter().map(|path| Some(!path.is_some_and(&is_left_out))).collect();
            match keep.true_count() {
                0 => {}
                all if all == batch.len() => kept.push(batch),
                _ => kept.push(batch.filter(&keep)?),
            }
        }
        Ok(kept)
    }
}

#[cfg(test)]
mod tests;
