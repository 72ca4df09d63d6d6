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
    /// The newest batch first; inside a batch the oldest commit is first.
    files: Vec<(PackedFiles, Vec<FileKey>)>,
    seen: HashSet<FileKey>,
}

/// Commits on their way into a layer, part by part, newest first. Many small ones share a batch of files.
#[derive(Default)]
pub struct Fold {
    layer: Layer,
    adds: FileBatchBuilder,
    /// Several commits as a whole, or a part of one; by the first add of their first commit.
    batches: Vec<(usize, PackedFiles)>,
    /// How many adds are in batches.
    packed: usize,
    /// Of all adds so far.
    keys: Vec<FileKey>,
    /// Of the adds of commits that have ended, whether they hold in the end.
    alive: Vec<bool>,
    /// The first add of each commit.
    starts: Vec<usize>,
    commit: Commit,
}

/// What the commit that is being read says.
#[derive(Default)]
struct Commit {
    /// The add that is alive at this point, or none after a remove.
    last: HashMap<FileKey, Option<usize>>,
    others: Layer,
}

impl Fold {
    /// Below what a layer holds already.
    pub fn onto(layer: Layer) -> Self {
        Self { layer, starts: vec![0], ..Self::default() }
    }

    /// Reads the next lines of a commit.
    pub fn read(&mut self, part: Part<'_>) -> Result<()> {
        each_line(part, |line| {
            match line {
                Line::File(FileLine::Add(add)) => {
                    let id = add.deletion_vector.as_ref().map(|dv| dv.unique_id());
                    let key = FileKey::new(&add.path, id.as_deref());
                    self.commit.last.insert(key, Some(self.keys.len()));
                    if self.adds.is_full() {
                        self.pack()?;
                    }
                    self.adds.append(&add)?;
                    self.keys.push(key);
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
        if self.packed > self.commit_start() {
            self.pack()?;
        }
        let Commit { last, others } = std::mem::take(&mut self.commit);
        for (row, key) in self.keys.iter().enumerate().skip(self.alive.len()) {
            self.alive.push(last.get(key) == Some(&Some(row)) && !self.layer.seen.contains(key));
        }
        self.starts.push(self.keys.len());
        self.layer.seen.extend(last.into_keys());
        self.layer.adopt_below(others);
        Ok(())
    }

    /// Puts the adds so far into batches: those of earlier commits, and those of the one that is being read.
    fn pack(&mut self) -> Result<()> {
        let files = std::mem::take(&mut self.adds).finish()?;
        let (first, commit_start) = (self.packed, self.commit_start());
        self.packed = first + files.len();
        let earlier = commit_start.saturating_sub(first).min(files.len());
        for (start, part) in [(first, 0..earlier), (commit_start, earlier..files.len())] {
            if !part.is_empty() {
                self.batches.push((start, PackedFiles::new(files.slice(part.start, part.len()))?));
            }
        }
        Ok(())
    }

    fn commit_start(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }

    /// The layer of all commits that have ended.
    pub fn finish(mut self) -> Result<Layer> {
        self.pack()?;
        let (mut end, mut of_last, mut group) = (0, None, self.layer.files.len());
        for (first, files) in self.batches {
            // The parts of one commit stand in order when all is read from the end.
            if of_last != Some(first) {
                (of_last, group) = (Some(first), self.layer.files.len());
            }
            let rows = end..end + files.len();
            end = rows.end;
            // Of the commits in the batch, the oldest comes first.
            let within = |start: &usize| (*start).clamp(rows.start, rows.end) - rows.start;
            let commits = self.starts.iter().zip(self.starts.iter().skip(1)).map(|(start, end)| within(start)..within(end));
            let alive = self.alive.get(rows.clone()).unwrap_or_default();
            let kept: Vec<usize> = commits.rev().flatten().filter(|row| alive.get(*row) == Some(&true)).collect();
            if kept.is_empty() {
                continue;
            }
            let keys = self.keys.get(rows).unwrap_or_default();
            let keys = kept.iter().filter_map(|row| keys.get(*row)).copied().collect();
            let files =
                if kept.iter().copied().eq(0..files.len()) { files } else { PackedFiles::new(files.unpack()?.take(&kept)?)? };
            self.layer.files.insert(group, (files, keys));
        }
        Ok(self.layer)
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
