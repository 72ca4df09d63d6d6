//! Combines the changes of several operations of one transaction into one draft.
//!
//! A later operation reads the files that an earlier one left behind. The combined draft describes
//! the difference from the version on which the transaction began. PROTOCOL "Action
//! Reconciliation": a commit contains at most one `add` and one `remove` of a path and a deletion
//! vector. Read [`Draft::then`].

use std::collections::{HashMap, HashSet};

use arrow_array::BooleanArray;

use super::draft::{Draft, Removal, VectorChange};
use crate::action::Add;
use crate::action::json::AddRef;
use crate::dv::DeletionVector;
use crate::log::builder::FileBatchBuilder;
use crate::{Error, Result};

impl Draft {
    /// Adds the changes of an operation that was planned on top of this draft. Returns the new files
    /// of this draft that the operation removes: no commit will ever name them.
    ///
    /// Change data files are collected. They describe the operations one by one, so the caller has
    /// to combine them.
    pub fn then(&mut self, later: Self) -> Result<Vec<Add>> {
        let Self { protocol, metadata, adds, restored, copied, removes, tombstones, vectors, cdc, transactions, domains } = later;
        self.tombstones.extend(tombstones);
        if !restored.is_empty() || copied.is_some() || !self.restored.is_empty() || self.copied.is_some() {
            return Err(Error::internal("a restore or a copy of another table needs a commit of its own"));
        }
        let mut own = OwnFiles::of(self);
        own.check_new(&adds)?;
        for removal in removes {
            self.removes.extend(own.remove(&self.vectors, removal)?);
        }
        for change in vectors {
            own.change(self, change);
        }
        let vanished = own.drop_removed(self);
        self.adds.extend(adds);
        self.cdc.extend(cdc);
        self.protocol = protocol.or(self.protocol.take());
        self.metadata = metadata.or(self.metadata.take());
        self.transactions.retain(|old| transactions.iter().all(|new| new.app_id != old.app_id));
        self.transactions.extend(transactions);
        self.domains.retain(|old| domains.iter().all(|new| new.domain != old.domain));
        self.domains.extend(domains);
        Ok(vanished)
    }
}

/// The files of a draft that a later operation may remove or change, by path.
struct OwnFiles {
    added: HashMap<String, usize>,
    changed: HashMap<String, usize>,
    removed_adds: HashSet<usize>,
    removed_changes: HashSet<usize>,
}

impl OwnFiles {
    fn of(draft: &Draft) -> Self {
        let added = draft.adds.iter().enumerate().map(|(place, add)| (add.path.clone(), place)).collect();
        let changed = draft.vectors.iter().enumerate().map(|(place, change)| (change.before.path.clone(), place)).collect();
        Self { added, changed, removed_adds: HashSet::new(), removed_changes: HashSet::new() }
    }

    /// Refuses files that the table may have already. Such an `add` only changes facts about its
    /// file, and the draft cannot tell whether the file is new.
    fn check_new(&self, adds: &[Add]) -> Result<()> {
        let known = |add: &&Add| !add.data_change || self.added.contains_key(&add.path) || self.changed.contains_key(&add.path);
        match adds.iter().find(known) {
            Some(add) => Err(Error::invalid_input(format!(
                "{}: the operation writes the log's entry of this file again, and such an operation needs a commit of its own: \
                 run it outside of the transaction",
                add.path
            ))),
            None => Ok(()),
        }
    }

    /// Returns the removals of files that the table had before the transaction, in the form in
    /// which it had them.
    fn remove(&mut self, changes: &[VectorChange], Removal { files, data_change }: Removal) -> Result<Vec<Removal>> {
        let mut original = FileBatchBuilder::default();
        let (mut keep, mut originals) = (Vec::with_capacity(files.len()), 0);
        for path in files.paths()?.iter() {
            let path = path.unwrap_or_default();
            if let Some(place) = self.added.get(path) {
                self.removed_adds.insert(*place);
            } else if let Some((place, change)) = self.changed.get(path).and_then(|place| Some((place, changes.get(*place)?))) {
                self.removed_changes.insert(*place);
                original.append(&AddRef::from(change.before.clone()))?;
                originals += 1;
            } else {
                keep.push(Some(true));
                continue;
            }
            keep.push(Some(false));
        }
        let mut removals = Vec::new();
        match keep.iter().filter(|keep| **keep == Some(true)).count() {
            0 => {}
            all if all == files.len() => removals.push(Removal { files, data_change }),
            _ => removals.push(Removal { files: files.filter(&BooleanArray::from(keep))?, data_change }),
        }
        if originals > 0 {
            removals.push(Removal { files: original.finish()?, data_change });
        }
        Ok(removals)
    }

    /// Sets the newest deletion vector of a file.
    fn change(&self, draft: &mut Draft, VectorChange { before, after, deleted }: VectorChange) {
        if let Some(add) = self.added.get(&before.path).and_then(|place| draft.adds.get_mut(*place)) {
            (add.stats, add.deletion_vector) = (before.stats, Some(after));
            return;
        }
        match self.changed.get(&before.path).and_then(|place| draft.vectors.get_mut(*place)) {
            Some(known) => {
                known.deleted = DeletionVector::union(&known.deleted, &deleted);
                known.after = after;
            }
            None => draft.vectors.push(VectorChange { before, after, deleted }),
        }
    }

    /// Drops the entries of files that the operation removed, and returns those that were new.
    fn drop_removed(&self, draft: &mut Draft) -> Vec<Add> {
        let mut vanished = Vec::with_capacity(self.removed_adds.len());
        let adds = std::mem::take(&mut draft.adds).into_iter().enumerate();
        for (place, add) in adds {
            if self.removed_adds.contains(&place) { vanished.push(add) } else { draft.adds.push(add) }
        }
        let vectors = std::mem::take(&mut draft.vectors).into_iter().enumerate();
        draft.vectors.extend(vectors.filter(|(place, _)| !self.removed_changes.contains(place)).map(|(_, change)| change));
        vanished
    }
}

#[cfg(test)]
mod tests;
