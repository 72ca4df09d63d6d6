//! What another transaction committed meanwhile, as far as conflicts go.

use std::collections::HashMap;

use arrow_array::BooleanArray;

use crate::Result;
use crate::action::json::{AddRef, FileLine, Line, Part, each_line};
use crate::action::{Action, Add, CommitInfo, DeletionVectorDescriptor, DomainMetadata, Metadata, Protocol, SetTransaction};
use crate::log::builder::FileBatchBuilder;
use crate::log::files::{FileBatch, FileKey};

use super::reads::path_key;

/// A commit that was there first.
#[derive(Debug, Clone)]
pub struct Winner {
    /// The version that it made.
    pub version: u64,
    /// If it set one.
    pub protocol: Option<Protocol>,
    /// If it set some.
    pub metadata: Option<Metadata>,
    /// How far applications have come.
    pub transactions: Vec<SetTransaction>,
    /// Configuration by name.
    pub domains: Vec<DomainMetadata>,
    /// What it tells about itself.
    pub info: Option<CommitInfo>,
    /// The files with rows that the table did not have before.
    pub added: Vec<FileBatch>,
    /// The removed files by path.
    removed: HashMap<FileKey, Removed>,
    /// Files that it gave another deletion vector.
    changed: HashMap<FileKey, Add>,
}

/// A file that was removed.
#[derive(Debug, Clone)]
struct Removed {
    vector: Option<DeletionVectorDescriptor>,
    data_change: bool,
}

impl Winner {
    /// What the lines of a commit say.
    pub fn read<'a>(version: u64, parts: impl IntoIterator<Item = Part<'a>>) -> Result<Self> {
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
        };
        let mut added = Adding::default();
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
        winner.changed.retain(|key, _| removed.contains_key(key));
        // A file that is put back has no rows that it did not have before.
        winner.added = added.finish(|path| removed.contains_key(&path_key(path)))?;
        Ok(winner)
    }

    /// Files whose rows come from others of this commit, or were there before, bring nothing new.
    fn add(&mut self, add: AddRef<'_>, added: &mut Adding) -> Result<()> {
        if add.deletion_vector.is_some() {
            self.changed.insert(path_key(&add.path), add.clone().into());
        }
        if add.data_change { added.append(&add) } else { Ok(()) }
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

    /// The paths, as keys, of the files whose rows it removed or changed. Those of files that were only rearranged are not among them:
    /// their rows are in the table as before.
    pub(super) fn keys_of_changed_rows(&self) -> impl Iterator<Item = &FileKey> {
        let only_rearranged = self.added.is_empty() && self.removed.values().all(|removed| !removed.data_change);
        self.removed.keys().filter(move |_| !only_rearranged)
    }

    /// Whether it removed this file, be it to put it back with another deletion vector.
    pub fn removes(&self, path: &str) -> bool {
        self.removed.contains_key(&path_key(path))
    }

    /// The file as this commit left it, if all it did to it was to delete rows.
    pub fn changed(&self, path: &str) -> Option<&Add> {
        self.changed.get(&path_key(path))
    }

    /// The deletion vector that the file had before this commit removed it.
    pub fn removed_vector(&self, path: &str) -> Option<&DeletionVectorDescriptor> {
        self.removed.get(&path_key(path))?.vector.as_ref()
    }

    /// Whether it says that it read nothing.
    pub fn is_blind_append(&self) -> bool {
        let said = self.info.as_ref().and_then(|info| info.0.get("isBlindAppend"));
        said.is_some_and(|said| said.as_bool() == Some(true) || said.as_str() == Some("true"))
    }
}

/// Batches of files on their way.
#[derive(Default)]
struct Adding {
    batch: FileBatchBuilder,
    rows: usize,
    full: Vec<FileBatch>,
}

impl Adding {
    fn append(&mut self, add: &AddRef<'_>) -> Result<()> {
        if self.batch.is_full() {
            self.full.push(std::mem::take(&mut self.batch).finish()?);
            self.rows = 0;
        }
        self.rows += 1;
        self.batch.append(add)
    }

    /// The files without those that are to be left out.
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
