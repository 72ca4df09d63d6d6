//! A run of consecutive commits, folded into one.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::added_files::{AddedFiles, CommitRange};
use crate::action::json::{CommitLines, FileLine, Line, each_line};
use crate::action::{Action, CommitInfo, DomainMetadata, Metadata, Protocol, SetTransaction};
use crate::error::Result;
use crate::log::builder::FileBatchBuilder;
use crate::log::files::FileKey;
use crate::stats::are_complete_in;

/// The size above which parts of commits are folded in pieces, so that no string column comes near
/// Arrow's limit of 2 GiB.
const PIECE_BYTES: usize = 16 << 20;

/// A run of consecutive commits, folded into one.
#[derive(Debug, Default)]
pub struct Layer {
    /// The newest protocol, if one was set.
    pub protocol: Option<Protocol>,
    /// The newest metadata, if some was set.
    pub metadata: Option<Metadata>,
    /// The newest transaction of each application.
    pub transactions: BTreeMap<String, SetTransaction>,
    /// The newest action of each domain. Removed domains are included, because they hide older
    /// ones.
    pub domains: BTreeMap<String, DomainMetadata>,
    /// The `commitInfo` of the newest commit.
    pub commit_info: Option<CommitInfo>,
    /// The added files. The newest batch comes first, and inside a batch the oldest commit comes
    /// first.
    pub(super) added: Vec<AddedFiles>,
    pub(super) seen: HashSet<FileKey>,
    /// Whether a commit removed a file.
    pub(super) removes_files: bool,
}

/// Folds commits into a layer, newest first. Many small commits share a batch of files.
struct Fold {
    layer: Layer,
    /// The actions of the current batch. `None` if only their keys are kept.
    adds: Option<FileBatchBuilder>,
    /// The number of adds in the current batch.
    rows: usize,
    /// The adds of each part that was read, without those that a later action undid.
    alive: Vec<Vec<(usize, FileKey)>>,
}

impl Fold {
    /// Reads lines that are older than all lines read before.
    fn read(&mut self, part: CommitLines<'_>) -> Result<()> {
        if self.adds.as_ref().is_some_and(FileBatchBuilder::is_full) {
            self.end_batch()?;
        }
        // The last add of each file, or `None` if a remove follows it.
        let mut last: HashMap<FileKey, Option<usize>> = HashMap::new();
        let mut others = Layer::default();
        each_line(part, |line| {
            match line {
                Line::File(FileLine::Add(add)) => {
                    let id = add.deletion_vector.as_ref().map(|dv| dv.unique_id());
                    last.insert(FileKey::new(&add.path, id.as_deref()), Some(self.rows));
                    if let Some(adds) = &mut self.adds {
                        adds.append(&add)?;
                    }
                    self.rows += 1;
                }
                Line::File(FileLine::Remove(remove)) => {
                    let id = remove.deletion_vector.as_ref().map(|dv| dv.unique_id());
                    last.insert(FileKey::new(&remove.path, id.as_deref()), None);
                    others.removes_files = true;
                }
                Line::Other(action) => others.set(action),
                Line::Nothing => {}
            }
            Ok(())
        })?;
        // Only the lines of a single commit have a `commitInfo`.
        if let Some(adds) = &mut self.adds {
            adds.end_commit(others.commit_info.as_ref().is_some_and(are_complete_in));
        }
        let added = last.iter().filter_map(|(key, row)| row.map(|row| (row, *key)));
        let mut alive: Vec<(usize, FileKey)> = added.filter(|(_, key)| !self.layer.seen.contains(key)).collect();
        alive.sort_unstable();
        self.alive.push(alive);
        self.layer.seen.extend(last.into_keys());
        self.layer.adopt_below(others);
        Ok(())
    }

    fn end_batch(&mut self) -> Result<()> {
        self.rows = 0;
        let alive = std::mem::take(&mut self.alive);
        let (positions, keys): (Vec<usize>, Vec<FileKey>) = alive.into_iter().rev().flatten().unzip();
        let Some(adds) = &mut self.adds else {
            if !keys.is_empty() {
                self.layer.added.push(AddedFiles::in_log(keys, Vec::new()));
            }
            return Ok(());
        };
        let files = std::mem::take(adds).finish()?;
        if !keys.is_empty() {
            let as_they_are = positions.iter().copied().eq(0..files.len());
            let files = if as_they_are { files } else { files.take(&positions)? };
            self.layer.added.push(AddedFiles::kept(files, keys));
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Layer> {
        self.end_batch()?;
        Ok(self.layer)
    }
}

impl Layer {
    /// Folds commits or parts of commits, which must come newest first.
    pub fn fold<'a>(newest_first: impl IntoIterator<Item = CommitLines<'a>>) -> Result<Self> {
        Self::fold_into(Some(FileBatchBuilder::default()), newest_first)
    }

    /// Folds commits or parts of commits, which must come newest first. Of the files, only the keys
    /// are kept, and the ranges of the log from which the actions can be read again, newest first.
    /// This is for large commits.
    pub fn fold_keys<'a>(newest_first: impl IntoIterator<Item = CommitLines<'a>>, ranges: Vec<CommitRange>) -> Result<Self> {
        let mut layer = Self::fold_into(None, newest_first)?;
        let keys: Vec<FileKey> = layer.added.drain(..).flat_map(|added| added.keys).collect();
        if !keys.is_empty() {
            layer.added.push(AddedFiles::in_log(keys, ranges));
        }
        Ok(layer)
    }

    fn fold_into<'a>(adds: Option<FileBatchBuilder>, newest_first: impl IntoIterator<Item = CommitLines<'a>>) -> Result<Self> {
        let mut fold = Fold { layer: Layer::default(), adds, rows: 0, alive: Vec::new() };
        for part in newest_first {
            // Later lines are newer.
            for piece in part.pieces(PIECE_BYTES).into_iter().rev() {
                fold.read(piece)?;
            }
        }
        fold.finish()
    }

    /// Puts this layer on top of an older one. The cost depends on the smaller layer, unless both
    /// touch the same files.
    pub fn above(mut self, mut older: Layer) -> Result<Self> {
        if self.seen.is_disjoint(&older.seen) {
            self.added.append(&mut older.added);
        } else {
            for added in &older.added {
                self.added.extend(added.shown(|key| self.seen.contains(key))?);
            }
        }
        if self.seen.len() < older.seen.len() {
            std::mem::swap(&mut self.seen, &mut older.seen);
        }
        self.seen.extend(older.seen.drain());
        self.adopt_below(older);
        Ok(self)
    }

    /// Adopts an action. If a commit has two actions for one subject, the later one wins.
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

    /// Adopts everything except files from an older layer.
    fn adopt_below(&mut self, older: Layer) {
        self.removes_files |= older.removes_files;
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
