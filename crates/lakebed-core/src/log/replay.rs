//! Action reconciliation of commits: who is in the table, newest commit first.
//!
//! A [`Layer`] is what a run of consecutive commits says, folded into one. A snapshot is a stack of layers above a checkpoint:
//! [`Layers::visible_files`] gives the files that the commits left alive, [`Layers::hides`] tells which rows of the checkpoint they undid.
//! PROTOCOL "Action Reconciliation": the newest action for (path, dv id) wins; rows of a checkpoint are older than all commits.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

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
    /// The newest batch first; inside a batch the oldest commit is first.
    files: Vec<(PackedFiles, Vec<FileKey>)>,
    seen: HashSet<FileKey>,
}

/// Commits on their way into a layer, part by part, newest first. Many small ones share a batch of files.
#[derive(Default)]
pub struct Fold {
    layer: Layer,
    /// The files of commits that have ended, and behind them those of the one that is being read.
    adds: FileBatchBuilder,
    /// Of each commit that has ended, the rows of `adds` that hold.
    ended: Vec<Vec<(usize, FileKey)>>,
    ended_rows: usize,
    commit: Commit,
}

/// What the commit that is being read says.
#[derive(Default)]
struct Commit {
    /// Of all its adds.
    keys: Vec<FileKey>,
    /// The add that is alive at this point, or none after a remove.
    last: HashMap<FileKey, Option<usize>>,
    /// The first of its files, if it is large.
    parts: Vec<PackedFiles>,
    others: Layer,
}

impl Fold {
    /// Below what a layer holds already.
    pub fn onto(layer: Layer) -> Self {
        Self { layer, ..Self::default() }
    }

    /// Reads the next lines of a commit.
    pub fn read(&mut self, part: Part<'_>) -> Result<()> {
        each_line(part, |line| {
            match line {
                Line::File(FileLine::Add(add)) => {
                    if self.adds.is_full() {
                        self.begin_batch()?;
                    }
                    let id = add.deletion_vector.as_ref().map(|dv| dv.unique_id());
                    let key = FileKey::new(&add.path, id.as_deref());
                    self.commit.last.insert(key, Some(self.commit.keys.len()));
                    self.commit.keys.push(key);
                    self.adds.append(&add)?;
                }
                Line::File(FileLine::Remove(remove)) => {
                    let id = remove.deletion_vector.as_ref().map(|dv| dv.unique_id());
                    self.commit.last.insert(FileKey::new(&remove.path, id.as_deref()), None);
                }
                Line::Other(action) => self.commit.others.set(action),
                Line::Nothing => {}
            }
            Ok(())
        })
    }

    /// The commit has been read; the next one is older.
    pub fn end_commit(&mut self) -> Result<()> {
        let Commit { keys, last, mut parts, others } = std::mem::take(&mut self.commit);
        let holds = |row: usize, key: &FileKey| last.get(key) == Some(&Some(row)) && !self.layer.seen.contains(key);
        let mut rows: Vec<(usize, FileKey)> =
            keys.iter().enumerate().filter(|(row, key)| holds(*row, key)).map(|(row, key)| (row, *key)).collect();
        if parts.is_empty() {
            self.ended.push(rows.into_iter().map(|(row, key)| (self.ended_rows + row, key)).collect());
            self.ended_rows += keys.len();
        } else {
            parts.push(PackedFiles::new(std::mem::take(&mut self.adds).finish()?)?);
            let mut end = keys.len();
            for part in parts.into_iter().rev() {
                let start = end - part.len();
                let own = rows.split_off(rows.partition_point(|(row, _)| *row < start));
                let (positions, keys): (Vec<usize>, Vec<FileKey>) = own.into_iter().map(|(row, key)| (row - start, key)).unzip();
                self.layer.push_files(part, &positions, keys)?;
                end = start;
            }
        }
        self.layer.seen.extend(last.into_keys());
        self.layer.adopt_below(others);
        Ok(())
    }

    /// The layer of all commits that have ended.
    pub fn finish(mut self) -> Result<Layer> {
        let files = self.adds.finish()?;
        self.layer.push_ended(&files.slice(0, self.ended_rows), self.ended)?;
        Ok(self.layer)
    }

    /// What the batch holds of earlier commits is settled; the others are a part of the commit that is being read.
    fn begin_batch(&mut self) -> Result<()> {
        let files = std::mem::take(&mut self.adds).finish()?;
        let ended_rows = std::mem::take(&mut self.ended_rows);
        self.layer.push_ended(&files.slice(0, ended_rows), std::mem::take(&mut self.ended))?;
        if files.len() > ended_rows {
            self.commit.parts.push(PackedFiles::new(files.slice(ended_rows, files.len() - ended_rows))?);
        }
        Ok(())
    }
}

impl Layer {
    /// Folds one commit below those folded so far: commits come newest first.
    pub fn fold_older(&mut self, commit: &[u8], name: &str) -> Result<()> {
        let mut fold = Fold::onto(std::mem::take(self));
        fold.read(Part::whole(commit, name))?;
        fold.end_commit()?;
        *self = fold.finish()?;
        Ok(())
    }

    /// Adds files of several commits, of which these rows hold; the oldest commit comes first.
    fn push_ended(&mut self, files: &FileBatch, commits: Vec<Vec<(usize, FileKey)>>) -> Result<()> {
        let (positions, keys): (Vec<usize>, Vec<FileKey>) = commits.into_iter().rev().flatten().unzip();
        if !keys.is_empty() {
            self.files.push((PackedFiles::new(files.take(&positions)?)?, keys));
        }
        Ok(())
    }

    /// Adds those files at these positions, which ascend.
    fn push_files(&mut self, files: PackedFiles, positions: &[usize], keys: Vec<FileKey>) -> Result<()> {
        if keys.is_empty() {
            return Ok(());
        }
        let files = if keys.len() == files.len() { files } else { PackedFiles::new(files.unpack()?.take(positions)?)? };
        self.files.push((files, keys));
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
        files.unpack()?.filter(&alive.into()).map(Some)
    } else {
        Ok(None)
    }
}

#[cfg(test)]
mod tests;
