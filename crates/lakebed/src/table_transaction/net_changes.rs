//! The net change of the rows of a table over several operations, for the change data feed.
//!
//! A row is known by its values. Rows with the same values cannot be told apart in a feed, so it
//! does not matter which of them an operation changed.

use std::collections::BTreeMap;

/// The net changes so far.
#[derive(Debug)]
pub(super) struct NetChanges<R> {
    /// The rows of the table before the transaction that are gone.
    deleted: Vec<R>,
    /// The rows that the table did not have before. Each has the origin of every row with its
    /// values: the row that it replaced, or `None` if it was inserted.
    new: BTreeMap<R, Vec<Option<R>>>,
}

/// The changes of one operation. All of them are changes of the rows before it.
#[derive(Debug)]
pub(super) struct OperationChanges<R> {
    pub(super) deleted: Vec<R>,
    pub(super) inserted: Vec<R>,
    /// Rows before and after the update.
    pub(super) updated: Vec<(R, R)>,
}

impl<R> Default for NetChanges<R> {
    fn default() -> Self {
        Self { deleted: Vec::new(), new: BTreeMap::new() }
    }
}

impl<R> Default for OperationChanges<R> {
    fn default() -> Self {
        Self { deleted: Vec::new(), inserted: Vec::new(), updated: Vec::new() }
    }
}

impl<R: Ord + Clone> NetChanges<R> {
    /// Adds the changes of the next operation.
    pub(super) fn then(&mut self, operation: OperationChanges<R>) {
        let OperationChanges { deleted, inserted, updated } = operation;
        // An update may give a row the values of another row that the same operation changes. So all
        // rows leave before any new one comes.
        for row in deleted {
            match self.take(&row) {
                None => self.deleted.push(row),
                Some(None) => {}
                Some(Some(first)) => self.deleted.push(first),
            }
        }
        let mut after: Vec<(R, Option<R>)> = Vec::with_capacity(updated.len() + inserted.len());
        for (before, now) in updated {
            let origin = self.take(&before).unwrap_or(Some(before));
            after.push((now, origin));
        }
        after.extend(inserted.into_iter().map(|row| (row, None)));
        for (row, origin) in after {
            self.new.entry(row).or_default().push(origin);
        }
    }

    /// Returns all changes together.
    pub(super) fn finish(self) -> OperationChanges<R> {
        let mut net = OperationChanges { deleted: self.deleted, ..OperationChanges::default() };
        for (row, origins) in self.new {
            for origin in origins {
                match origin {
                    Some(first) => net.updated.push((first, row.clone())),
                    None => net.inserted.push(row.clone()),
                }
            }
        }
        net
    }

    /// Takes out a row that the table did not have before the transaction, and returns its origin.
    fn take(&mut self, row: &R) -> Option<Option<R>> {
        let origins = self.new.get_mut(row)?;
        let origin = origins.pop();
        if origins.is_empty() {
            self.new.remove(row);
        }
        origin
    }
}

#[cfg(test)]
mod tests;
