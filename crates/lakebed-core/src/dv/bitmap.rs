//! The set of deleted rows, with the operations that scans and writers need.

use std::ops::{Range, RangeInclusive};

use roaring::RoaringTreemap;

/// The deleted rows of one data file, by row index.
///
/// A row index counts from 0 over the whole file, independent of the row groups and pages that a
/// scan skips.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeletionVector {
    pub(super) rows: RoaringTreemap,
}

impl DeletionVector {
    /// Creates a vector that deletes no row.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of deleted rows.
    pub fn len(&self) -> u64 {
        self.rows.len()
    }

    /// Returns whether no row is deleted.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns whether this row is deleted.
    pub fn contains(&self, row: u64) -> bool {
        self.rows.contains(row)
    }

    /// Returns the last deleted row. Callers compare it with the number of rows in the file.
    pub fn last(&self) -> Option<u64> {
        self.rows.max()
    }

    /// Returns the deleted rows in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.rows.iter()
    }

    /// Deletes one more row. Returns false if the row was already deleted.
    pub fn insert(&mut self, row: u64) -> bool {
        self.rows.insert(row)
    }

    /// Deletes more rows, which must be in ascending order. Runs of consecutive rows are cheap.
    pub fn insert_ascending(&mut self, rows: impl IntoIterator<Item = u64>) {
        let mut rows = rows.into_iter();
        let Some(mut first) = rows.next() else { return };
        let mut last = first;
        for row in rows {
            if row != last + 1 {
                self.insert_run(first..=last);
                first = row;
            }
            last = row;
        }
        self.insert_run(first..=last);
    }

    fn insert_run(&mut self, run: RangeInclusive<u64>) {
        match run.start() == run.end() {
            true if self.rows.try_push(*run.start()).is_ok() => {}
            _ => {
                self.rows.insert_range(run);
            }
        }
    }

    /// Returns the rows that either vector deletes.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self { rows: &self.rows | &other.rows }
    }

    /// Returns the rows that this vector deletes and the other does not.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        Self { rows: &self.rows - &other.rows }
    }

    /// Returns the rows below `rows` that this vector does not delete.
    #[must_use]
    pub fn complement(&self, rows: u64) -> Self {
        let mut all = RoaringTreemap::new();
        all.insert_range(0..rows);
        Self { rows: all - &self.rows }
    }

    /// Returns whether no row is deleted by both vectors.
    pub fn is_disjoint(&self, other: &Self) -> bool {
        self.rows.is_disjoint(&other.rows)
    }

    /// Returns the number of deleted rows in this range.
    pub fn deleted_in(&self, rows: Range<u64>) -> u64 {
        if rows.is_empty() { 0 } else { self.rows.range_cardinality(rows) }
    }

    /// Returns the runs of deleted rows in this range, ascending and disjoint.
    pub fn deleted_ranges(&self, rows: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        self.rows.bitmaps().filter_map(move |(key, bitmap)| clip(key, &rows).map(|low| (key, bitmap.range(low)))).flat_map(
            |(key, mut bits)| {
                std::iter::from_fn(move || bits.next_range())
                    .map(move |run| join(key, *run.start())..join(key, *run.end()).saturating_add(1))
            },
        )
    }

    /// Returns the runs of rows in this range that are not deleted, ascending and disjoint. The
    /// cost depends on the number of runs, and not on the number of rows.
    pub fn kept_ranges(&self, rows: Range<u64>) -> Vec<Range<u64>> {
        let mut kept = Vec::new();
        let mut from = rows.start;
        for deleted in self.deleted_ranges(rows.clone()) {
            if from < deleted.start {
                kept.push(from..deleted.start);
            }
            from = deleted.end;
        }
        if from < rows.end {
            kept.push(from..rows.end);
        }
        kept
    }
}

impl FromIterator<u64> for DeletionVector {
    fn from_iter<I: IntoIterator<Item = u64>>(rows: I) -> Self {
        Self { rows: rows.into_iter().collect() }
    }
}

/// Returns the part of `rows` in the bucket `key`, as lower 32 bits.
fn clip(key: u32, rows: &Range<u64>) -> Option<std::ops::RangeInclusive<u32>> {
    let last = rows.end.checked_sub(1).filter(|last| rows.start <= *last)?;
    let (first_key, last_key) = (high(rows.start), high(last));
    if key < first_key || key > last_key {
        return None;
    }
    let from = if key == first_key { low(rows.start) } else { 0 };
    let to = if key == last_key { low(last) } else { u32::MAX };
    Some(from..=to)
}

fn high(row: u64) -> u32 {
    (row >> 32) as u32
}

fn low(row: u64) -> u32 {
    (row & u64::from(u32::MAX)) as u32
}

fn join(key: u32, low: u32) -> u64 {
    (u64::from(key) << 32) | u64::from(low)
}
