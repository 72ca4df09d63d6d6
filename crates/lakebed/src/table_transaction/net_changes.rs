//! The net change of the rows of a table over several operations, for the change data feed.
//!
//! A row is known by its values, as bytes. Rows with the same values cannot be told apart in a feed,
//! so it does not matter which of them an operation changed.
//!
//! The rows are divided into buckets by their values. If all of them take more than the limit, they go
//! to a temporary file, and the rows of one bucket at a time come back. So the memory that is needed is
//! the limit, or more if very many rows have the same values. Begin with [`NetChanges::new`].

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::row_log::{Row, RowFile, RowLog, RowPair};
use crate::Result;

/// The number of buckets. A bucket of a hundred million small rows still fits into memory.
pub(super) const BUCKETS: usize = 64;

/// The net changes so far, and the changes of the current operation.
#[derive(Debug)]
pub(super) struct NetChanges {
    buckets: Vec<Bucket>,
    file: RowFile,
    limit_bytes: u64,
    /// The rows in memory, by estimate.
    used_bytes: u64,
}

/// The changes of the rows of a bucket.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct BucketChanges {
    pub(super) deleted: Vec<Row>,
    pub(super) inserted: Vec<Row>,
    /// Rows before and after the update.
    pub(super) updated: Vec<(Row, Row)>,
}

/// The rows with the same hash.
#[derive(Debug, Default)]
struct Bucket {
    /// The rows that the table did not have before. Each has the origin of every row with its
    /// values: the row that it replaced, or `None` if it was inserted.
    new: BTreeMap<Row, Vec<Option<Row>>>,
    /// Further rows of that kind, each with its origin. They are moved to `new` when it is searched.
    unsorted: RowLog,
    /// The rows of the table before the transaction that are gone.
    deleted: RowLog,
    /// The rows that leave by the current operation. A row that was updated has the row after it.
    leaving: RowLog,
    /// The rows that come by the current operation, each with its origin.
    coming: RowLog,
}

impl NetChanges {
    /// Returns no changes. The rows in memory will take about this many bytes at most.
    pub(super) fn new(limit_bytes: u64) -> Self {
        let buckets = (0..BUCKETS).map(|_| Bucket::default()).collect();
        Self { buckets, file: RowFile::default(), limit_bytes, used_bytes: 0 }
    }

    /// Adds rows that the current operation deleted.
    pub(super) async fn delete<'r>(&mut self, rows: impl Iterator<Item = &'r [u8]>) -> Result<()> {
        for row in rows {
            self.leave(row, None);
        }
        self.spill_above_limit().await
    }

    /// Adds rows that the current operation inserted.
    pub(super) async fn insert<'r>(&mut self, rows: impl Iterator<Item = &'r [u8]>) -> Result<()> {
        for row in rows {
            self.come(RowPair { row: row.into(), other: None });
        }
        self.spill_above_limit().await
    }

    /// Adds rows that the current operation updated, as they were and as they are.
    pub(super) async fn update<'r>(&mut self, rows: impl Iterator<Item = (&'r [u8], &'r [u8])>) -> Result<()> {
        for (before, after) in rows {
            self.leave(before, Some(after));
        }
        self.spill_above_limit().await
    }

    /// Ends the current operation. An update may give a row the values of another row that the same
    /// operation changes. So all rows leave before any new one comes.
    pub(super) async fn end_operation(&mut self) -> Result<()> {
        for number in 0..self.buckets.len() {
            if self.buckets[number].leaving.is_empty() {
                continue;
            }
            self.sort(number).await?;
            let mut leaving = std::mem::take(&mut self.buckets[number].leaving);
            while let Some(pairs) = leaving.next(&self.file, &mut self.used_bytes).await? {
                for pair in pairs {
                    self.used_bytes = self.used_bytes.saturating_sub(pair.size_bytes());
                    self.move_on(number, pair);
                }
            }
            self.spill_above_limit().await?;
        }
        for bucket in &mut self.buckets {
            bucket.unsorted.append(std::mem::take(&mut bucket.coming));
        }
        Ok(())
    }

    /// Takes out all changes of a bucket together.
    pub(super) async fn take_bucket(&mut self, number: usize) -> Result<BucketChanges> {
        self.sort(number).await?;
        let mut net = BucketChanges::default();
        let Bucket { new, mut deleted, .. } = std::mem::take(&mut self.buckets[number]);
        while let Some(pairs) = deleted.next(&self.file, &mut self.used_bytes).await? {
            net.deleted.extend(pairs.into_iter().map(|pair| pair.row));
        }
        for (row, origins) in new {
            for origin in origins {
                match origin {
                    Some(first) => net.updated.push((first, row.clone())),
                    None => net.inserted.push(row.clone()),
                }
            }
        }
        Ok(net)
    }

    fn leave(&mut self, row: &[u8], after: Option<&[u8]>) {
        let pair = RowPair { row: row.into(), other: after.map(Into::into) };
        self.used_bytes += pair.size_bytes();
        self.buckets[bucket_of(row)].leaving.push(pair);
    }

    fn come(&mut self, pair: RowPair) {
        self.used_bytes += pair.size_bytes();
        self.buckets[bucket_of(&pair.row)].coming.push(pair);
    }

    /// Deletes or updates a row of a sorted bucket.
    fn move_on(&mut self, number: usize, RowPair { row, other: after }: RowPair) {
        let bucket = &mut self.buckets[number];
        let origin = take(&mut bucket.new, &row);
        if let Some(origin) = &origin {
            let gone = RowPair { row: Row::default(), other: origin.clone() };
            self.used_bytes = self.used_bytes.saturating_sub(gone.size_bytes() + row.len() as u64);
        }
        let first = origin.unwrap_or(Some(row));
        match (after, first) {
            (Some(after), first) => self.come(RowPair { row: after, other: first }),
            (None, Some(first)) => {
                let pair = RowPair { row: first, other: None };
                self.used_bytes += pair.size_bytes();
                self.buckets[number].deleted.push(pair);
            }
            // The row was inserted by the transaction.
            (None, None) => {}
        }
    }

    /// Moves the unsorted rows of a bucket to the sorted ones.
    async fn sort(&mut self, number: usize) -> Result<()> {
        let mut unsorted = std::mem::take(&mut self.buckets[number].unsorted);
        while let Some(pairs) = unsorted.next(&self.file, &mut self.used_bytes).await? {
            for RowPair { row, other } in pairs {
                self.buckets[number].new.entry(row).or_default().push(other);
            }
        }
        Ok(())
    }

    async fn spill_above_limit(&mut self) -> Result<()> {
        if self.used_bytes <= self.limit_bytes {
            return Ok(());
        }
        for bucket in &mut self.buckets {
            for (row, origins) in std::mem::take(&mut bucket.new) {
                origins.into_iter().for_each(|other| bucket.unsorted.push(RowPair { row: row.clone(), other }));
            }
            for log in [&mut bucket.unsorted, &mut bucket.deleted, &mut bucket.leaving, &mut bucket.coming] {
                log.spill(&mut self.file).await?;
            }
        }
        self.used_bytes = 0;
        Ok(())
    }
}

/// Takes out a row that the table did not have before the transaction, and returns its origin.
fn take(new: &mut BTreeMap<Row, Vec<Option<Row>>>, row: &Row) -> Option<Option<Row>> {
    let origins = new.get_mut(row)?;
    let origin = origins.pop();
    if origins.is_empty() {
        new.remove(row);
    }
    origin
}

fn bucket_of(row: &[u8]) -> usize {
    let mut hasher = DefaultHasher::new();
    row.hash(&mut hasher);
    usize::try_from(hasher.finish() % BUCKETS as u64).unwrap_or(0)
}

#[cfg(test)]
mod tests;
