//! Action reconciliation of commits: who is in the table, newest commit first.
//!
//! A [`Layer`] is what a run of consecutive commits says, folded into one. A snapshot is a stack of
//! layers above a checkpoint: [`Layers::visible_files`] gives the files that the commits left
//! alive, [`Layers::hides`] tells which rows of the checkpoint they undid. PROTOCOL "Action
//! Reconciliation": the newest action for (path, dv id) wins; rows of a checkpoint are older than
//! all commits.

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
    pub fn visible_files(&self) -> impl Iterator<Item = Result<AddedFiles>> + '_ {
        self.0.iter().enumerate().rev().flat_map(|(depth, layer)| {
            let newer = self.0.get(..depth).unwrap_or_default();
            let is_hidden = |key: &FileKey| newer.iter().any(|layer| layer.seen.contains(key));
            layer.added.iter().rev().filter_map(move |added| added.shown(is_hidden).transpose())
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

    /// How far applications have come, as far as these commits say.
    pub fn transactions(&self) -> BTreeMap<String, SetTransaction> {
        let oldest_first = self.0.iter().rev();
        oldest_first.flat_map(|layer| layer.transactions.iter().map(|(name, txn)| (name.clone(), txn.clone()))).collect()
    }

    /// Configuration by name, as far as these commits say, removals included.
    pub fn domains(&self) -> BTreeMap<String, DomainMetadata> {
        let oldest_first = self.0.iter().rev();
        oldest_first.flat_map(|layer| layer.domains.iter().map(|(name, domain)| (name.clone(), domain.clone()))).collect()
    }

    /// How many files these commits touched; one that several layers touched counts for each.
    pub fn touched_files(&self) -> usize {
        self.0.iter().map(|layer| layer.seen.len()).sum()
    }

    /// The newest value that some layer has.
    pub fn newest<'a, T>(&'a self, get: impl Fn(&'a Layer) -> Option<&'a T>) -> Option<&'a T> {
        self.0.iter().find_map(|layer| get(layer))
    }
}
