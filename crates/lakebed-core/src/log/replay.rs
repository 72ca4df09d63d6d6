//! Action reconciliation of commits: who is in the table, newest commit first.
//!
//! A [`Layer`] is what a run of consecutive commits says, folded into one. A snapshot is a stack of layers above a checkpoint:
//! [`Layers::visible_files`] gives the files that the commits left alive, [`Layers::hides`] tells which rows of the checkpoint they undid.
//! PROTOCOL "Action Reconciliation": the newest action for (path, dv id) wins; rows of a checkpoint are older than all commits.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use arrow_array::BooleanArray;

use super::builder::FileBatchBuilder;
use super::files::{FileBatch, FileKey};
use crate::action::json::{FileLine, Line, each_line};
use crate::action::{Action, CommitInfo, DomainMetadata, Metadata, Protocol, SetTransaction};
use crate::error::Result;

/// What a run of consecutive commits says.
#[derive(Debug, Default)]
pub struct Layer {
    /// The newest protocol, if one was set.
    pub protocol: Option<Protocol>,
    /// The newest metadata, if some was set.
    pub metadata: Option<Metadata>,
    /// The newest of each application.
    pub transactions: BTreeMap<String, SetTransaction>,
    /// The newest of each domain, removed ones too: they hide what is older.
    pub domains: BTreeMap<String, DomainMetadata>,
    /// Of the newest commit.
    pub commit_info: Option<CommitInfo>,
    /// The newest first, those of one commit too.
    files: Vec<(FileBatch, Vec<FileKey>)>,
    seen: HashSet<FileKey>,
}

impl Layer {
    /// Folds one commit below those folded so far: commits come newest first.
    pub fn fold_older(&mut self, commit: &[u8], name: &str) -> Result<()> {
        let (mut adds, mut batches) = (FileBatchBuilder::default(), Vec::new());
        let mut keys = Vec::new();
        // The row of the add that is alive at this point of the commit, or none after a remove.
        let mut last: HashMap<FileKey, Option<usize>> = HashMap::new();
        let mut own = Layer::default();
        each_line(commit, name, |line| {
            match line {
                Line::File(FileLine::Add(add)) => {
                    let id = add.deletion_vector.as_ref().map(|dv| dv.unique_id());
                    let key = FileKey::new(&add.path, id.as_deref());
                    last.insert(key, Some(keys.len()));
                    if adds.is_full() {
                        batches.push(std::mem::take(&mut adds).finish()?);
                    }
                    adds.append(&add)?;
                    keys.push(key);
                }
                Line::File(FileLine::Remove(remove)) => {
                    let id = remove.deletion_vector.as_ref().map(|dv| dv.unique_id());
                    last.insert(FileKey::new(&remove.path, id.as_deref()), None);
                }
                Line::Other(action) => own.set(action),
                Line::Nothing => {}
            }
            Ok(())
        })?;
        batches.push(adds.finish()?);
        self.adopt_files(&batches, &keys, &last)?;
        self.seen.extend(last.into_keys());
        self.adopt_below(own);
        Ok(())
    }

    /// The later of two actions of one commit wins.
    fn set(&mut self, action: Action) {
        match action {
            Action::Protocol(protocol) => self.protocol = Some(protocol),
            Action::Metadata(metadata) => self.metadata = Some(metadata),
            Action::SetTransaction(txn) => {
                self.transactions.insert(txn.app_id.clone(), txn);
            }
            Action::DomainMetadata(domain) => {
                self.domains.insert(domain.domain.clone(), domain);
            }
            Action::CommitInfo(info) => self.commit_info = Some(info),
            Action::Add(_) | Action::Remove(_) | Action::Cdc(_) | Action::CheckpointMetadata(_) | Action::Sidecar(_) => {}
        }
    }

    fn adopt_files(&mut self, batches: &[FileBatch], keys: &[FileKey], last: &HashMap<FileKey, Option<usize>>) -> Result<()> {
        let alive: Vec<bool> =
            keys.iter().enumerate().map(|(row, key)| last.get(key) == Some(&Some(row)) && !self.seen.contains(key)).collect();
        let mut end = keys.len();
        for batch in batches.iter().rev() {
            let rows = end.saturating_sub(batch.len())..end;
            end = rows.start;
            if let (Some(keys), Some(alive)) = (keys.get(rows.clone()), alive.get(rows))
                && alive.contains(&true)
            {
                self.files.push(select(batch, keys, alive)?);
            }
        }
        Ok(())
    }

    /// Everything but files, from something older.
    fn adopt_below(&mut self, older: Layer) {
        self.protocol = self.protocol.take().or(older.protocol);
        self.metadata = self.metadata.take().or(older.metadata);
        if self.commit_info.is_none() {
            self.commit_info = older.commit_info;
        }
        for (app_id, txn) in older.transactions {
            self.transactions.entry(app_id).or_insert(txn);
        }
        for (name, domain) in older.domains {
            self.domains.entry(name).or_insert(domain);
        }
    }
}

/// Layers above a checkpoint, newest first. Cheap to clone, and to put a new layer on.
#[derive(Debug, Clone, Default)]
pub struct Layers(Vec<Arc<Layer>>);

impl Layers {
    /// One layer.
    pub fn new(layer: Layer) -> Self {
        Self(vec![Arc::new(layer)])
    }

    /// The same with newer commits on top.
    #[must_use]
    pub fn with_newer(&self, layer: Layer) -> Self {
        let mut layers = Vec::with_capacity(self.0.len() + 1);
        layers.push(Arc::new(layer));
        layers.extend(self.0.iter().cloned());
        Self(layers)
    }

    /// How many layers: a reader pays a look-up per layer and file.
    pub fn depth(&self) -> usize {
        self.0.len()
    }

    /// The files that these commits added and that are still there, oldest commit first.
    pub fn visible_files(&self) -> Result<Vec<FileBatch>> {
        let mut visible = Vec::new();
        for (depth, layer) in self.0.iter().enumerate().rev() {
            let newer = &self.0[..depth];
            for (batch, keys) in layer.files.iter().rev() {
                let alive: Vec<bool> = keys.iter().map(|key| !newer.iter().any(|layer| layer.seen.contains(key))).collect();
                if alive.iter().all(|&alive| alive) {
                    visible.push(batch.clone());
                } else if alive.iter().any(|&alive| alive) {
                    visible.push(select(batch, keys, &alive)?.0);
                }
            }
        }
        Ok(visible)
    }

    /// Whether no commit touched any file, so that nothing in a checkpoint is hidden.
    pub fn hides_nothing(&self) -> bool {
        self.0.iter().all(|layer| layer.seen.is_empty())
    }

    /// Whether these commits removed or replaced a file of the checkpoint below them.
    pub fn hides(&self, key: &FileKey) -> bool {
        self.0.iter().any(|layer| layer.seen.contains(key))
    }

    /// The newest value that some layer has.
    pub fn newest<'a, T>(&'a self, get: impl Fn(&'a Layer) -> Option<&'a T>) -> Option<&'a T> {
        self.0.iter().find_map(|layer| get(layer))
    }
}

fn select(batch: &FileBatch, keys: &[FileKey], alive: &[bool]) -> Result<(FileBatch, Vec<FileKey>)> {
    let kept = keys.iter().zip(alive).filter(|(_, alive)| **alive).map(|(key, _)| *key).collect();
    Ok((batch.filter(&BooleanArray::from(alive.to_vec()))?, kept))
}

#[cfg(test)]
mod tests;
