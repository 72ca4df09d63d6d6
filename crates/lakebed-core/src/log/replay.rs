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
use super::packed::PackedFiles;
use crate::action::json::{FileLine, Line, Part, each_line};
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
    files: Vec<(PackedFiles, Vec<FileKey>)>,
    seen: HashSet<FileKey>,
}

/// One commit on its way into a layer, part by part.
#[derive(Default)]
pub struct Fold {
    adds: FileBatchBuilder,
    batches: Vec<PackedFiles>,
    /// Of all adds.
    keys: Vec<FileKey>,
    /// The row of the add that is alive at this point of the commit, or none after a remove.
    last: HashMap<FileKey, Option<usize>>,
    others: Layer,
}

impl Fold {
    /// Reads the next lines.
    pub fn read(&mut self, part: Part<'_>) -> Result<()> {
        each_line(part, |line| {
            match line {
                Line::File(FileLine::Add(add)) => {
                    let id = add.deletion_vector.as_ref().map(|dv| dv.unique_id());
                    let key = FileKey::new(&add.path, id.as_deref());
                    self.last.insert(key, Some(self.keys.len()));
                    if self.adds.is_full() {
                        self.batches.push(PackedFiles::new(std::mem::take(&mut self.adds).finish()?)?);
                    }
                    self.adds.append(&add)?;
                    self.keys.push(key);
                }
                Line::File(FileLine::Remove(remove)) => {
                    let id = remove.deletion_vector.as_ref().map(|dv| dv.unique_id());
                    self.last.insert(FileKey::new(&remove.path, id.as_deref()), None);
                }
                Line::Other(action) => self.others.set(action),
                Line::Nothing => {}
            }
            Ok(())
        })
    }
}

impl Layer {
    /// Folds one commit below those folded so far: commits come newest first.
    pub fn fold_older(&mut self, commit: &[u8], name: &str) -> Result<()> {
        let mut fold = Fold::default();
        fold.read(Part::whole(commit, name))?;
        self.adopt_older(fold)
    }

    /// The same of a commit that was read in parts.
    pub fn adopt_older(&mut self, fold: Fold) -> Result<()> {
        let Fold { adds, mut batches, keys, last, others } = fold;
        batches.push(PackedFiles::new(adds.finish()?)?);
        self.adopt_files(batches, &keys, &last)?;
        self.seen.extend(last.into_keys());
        self.adopt_below(others);
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

    fn adopt_files(&mut self, batches: Vec<PackedFiles>, keys: &[FileKey], last: &HashMap<FileKey, Option<usize>>) -> Result<()> {
        let alive: Vec<bool> =
            keys.iter().enumerate().map(|(row, key)| last.get(key) == Some(&Some(row)) && !self.seen.contains(key)).collect();
        let mut end = keys.len();
        for batch in batches.into_iter().rev() {
            let rows = end.saturating_sub(batch.len())..end;
            end = rows.start;
            let (Some(keys), Some(alive)) = (keys.get(rows.clone()), alive.get(rows)) else { continue };
            if alive.iter().all(|&alive| alive) && !alive.is_empty() {
                self.files.push((batch, keys.to_vec()));
            } else if alive.contains(&true) {
                let (files, keys) = select(&batch.unpack()?, keys, alive)?;
                self.files.push((PackedFiles::new(files)?, keys));
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
    pub fn visible_files(&self) -> impl Iterator<Item = Result<FileBatch>> + '_ {
        self.0.iter().enumerate().rev().flat_map(|(depth, layer)| {
            let newer = self.0.get(..depth).unwrap_or_default();
            layer.files.iter().rev().filter_map(move |(files, keys)| visible(files, keys, newer).transpose())
        })
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

/// Those of the files that no newer layer removed or replaced.
fn visible(files: &PackedFiles, keys: &[FileKey], newer: &[Arc<Layer>]) -> Result<Option<FileBatch>> {
    let alive: Vec<bool> = keys.iter().map(|key| !newer.iter().any(|layer| layer.seen.contains(key))).collect();
    if alive.iter().all(|&alive| alive) {
        files.unpack().map(Some)
    } else if alive.contains(&true) {
        Ok(Some(select(&files.unpack()?, keys, &alive)?.0))
    } else {
        Ok(None)
    }
}

fn select(batch: &FileBatch, keys: &[FileKey], alive: &[bool]) -> Result<(FileBatch, Vec<FileKey>)> {
    let kept = keys.iter().zip(alive).filter(|(_, alive)| **alive).map(|(key, _)| *key).collect();
    Ok((batch.filter(&BooleanArray::from(alive.to_vec()))?, kept))
}

#[cfg(test)]
mod tests;
