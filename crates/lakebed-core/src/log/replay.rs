//! Action reconciliation of commits: the files in the table, from the newest commit to the oldest.
//!
//! A [`Layer`] is a run of consecutive commits, folded into one. A snapshot is a stack of layers
//! above a checkpoint. [`Layers::visible_files`] returns the files that the commits added and did
//! not remove, and [`Layers::hides`] says whether the commits removed or replaced a file of the
//! checkpoint. PROTOCOL "Action Reconciliation": the newest action for (path, dv id) wins, and rows
//! of a checkpoint are older than all commits.

mod added_files;
mod layer;
mod load;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use added_files::{AddedFiles, CommitRange};
pub use layer::Layer;

use super::files::FileKey;
use crate::action::{DomainMetadata, SetTransaction};
use crate::error::Result;

/// Layers above a checkpoint, newest first. Cloning and adding a layer are cheap.
#[derive(Debug, Clone, Default)]
pub struct Layers(Vec<Arc<Layer>>);

impl Layers {
    /// Creates a stack of one layer.
    pub fn new(layer: Layer) -> Self {
        Self(vec![Arc::new(layer)])
    }

    /// Returns the stack with a newer layer on top.
    #[must_use]
    pub fn with_newer(&self, layer: Layer) -> Self {
        let mut layers = Vec::with_capacity(self.0.len() + 1);
        layers.push(Arc::new(layer));
        layers.extend(self.0.iter().cloned());
        Self(layers)
    }

    /// Returns the number of layers. A reader pays one look-up per layer and file.
    pub fn depth(&self) -> usize {
        self.0.len()
    }

    /// Returns the files that these commits added and that are still in the table, oldest commit
    /// first.
    pub fn visible_files(&self) -> impl Iterator<Item = Result<AddedFiles>> + '_ {
        self.0.iter().enumerate().rev().flat_map(|(depth, layer)| {
            let newer = self.0.get(..depth).unwrap_or_default();
            let is_hidden = |key: &FileKey| newer.iter().any(|layer| layer.seen.contains(key));
            layer.added.iter().rev().filter_map(move |added| added.shown(is_hidden).transpose())
        })
    }

    /// Returns whether no commit touched a file, so nothing in a checkpoint is hidden.
    pub fn hides_nothing(&self) -> bool {
        self.0.iter().all(|layer| layer.seen.is_empty())
    }

    /// Returns whether one of these commits removed a file, so that there may be tombstones.
    pub fn remove_files(&self) -> bool {
        self.0.iter().any(|layer| layer.removes_files)
    }

    /// Returns whether these commits removed or replaced a file of the checkpoint below them.
    pub fn hides(&self, key: &FileKey) -> bool {
        self.0.iter().any(|layer| layer.seen.contains(key))
    }

    /// Returns the keys of the files that these commits touched. A key may come once for each layer.
    pub fn touched(&self) -> impl Iterator<Item = FileKey> + '_ {
        self.0.iter().flat_map(|layer| layer.seen.iter().copied())
    }

    /// Returns the last writes of applications, as far as these commits have them.
    pub fn transactions(&self) -> BTreeMap<String, SetTransaction> {
        let oldest_first = self.0.iter().rev();
        oldest_first.flat_map(|layer| layer.transactions.iter().map(|(name, txn)| (name.clone(), txn.clone()))).collect()
    }

    /// Returns the metadata domains that these commits set or removed.
    pub fn domains(&self) -> BTreeMap<String, DomainMetadata> {
        let oldest_first = self.0.iter().rev();
        oldest_first.flat_map(|layer| layer.domains.iter().map(|(name, domain)| (name.clone(), domain.clone()))).collect()
    }

    /// Returns the number of files that these commits touched. A file counts once for each layer
    /// that touched it.
    pub fn touched_files(&self) -> usize {
        self.0.iter().map(|layer| layer.seen.len()).sum()
    }

    /// Returns the newest value that a layer has.
    pub fn newest<'a, T>(&'a self, get: impl Fn(&'a Layer) -> Option<&'a T>) -> Option<&'a T> {
        self.0.iter().find_map(|layer| get(layer))
    }
}
