//! Cuts that divide sorted keys into parts with about the same number of rows.

use std::ops::Range;

use super::search::counts;

/// The beginnings of all parts except the first. A part begins at a key and at a fraction of the
/// rows that have this key. All rows of a key are in one part, unless there are more of them than a
/// part holds.
#[derive(Debug, Clone, Default)]
pub(super) struct Cuts {
    keys: Vec<u128>,
    /// The fractions, in units of 1/2^32.
    fractions: Vec<u32>,
}

impl Cuts {
    /// Cuts this range of all sorted keys, and returns the ranges of the parts. A range may begin
    /// and end within the rows of a key. If there are more parts than rows, it may even begin and
    /// end within a row.
    pub(super) fn add(&mut self, sorted: &[u128], range: Range<f64>, parts: usize) -> Vec<Range<f64>> {
        let mut ranges = Vec::with_capacity(parts);
        let mut start = range.start;
        for part in 1..parts {
            let goal = range.start + (range.end - range.start) * part as f64 / parts as f64;
            let end = self.add_one(sorted, start, goal, (range.end - range.start) / parts as f64);
            ranges.push(start..end);
            start = end;
        }
        ranges.push(start..range.end);
        ranges
    }

    /// Adds a cut near the goal, and returns its position.
    fn add_one(&mut self, sorted: &[u128], start: f64, goal: f64, part: f64) -> f64 {
        let Some(key) = sorted.get(goal as usize) else {
            // The cut is after all rows.
            self.keys.push(u128::MAX);
            self.fractions.push(u32::MAX);
            return goal;
        };
        let first = sorted.partition_point(|other| other < key);
        let run = sorted[first..].partition_point(|other| other == key);
        let (first, end, run) = (first as f64, (first + run) as f64, run as f64);
        if run > part {
            self.keys.push(*key);
            self.fractions.push(((goal - first) / run * f64::from(u32::MAX)) as u32);
            return goal;
        }
        if first > start && goal - first <= end - goal {
            self.keys.push(*key);
            self.fractions.push(0);
            return first;
        }
        let next = sorted.get(end as usize).copied();
        self.keys.push(next.unwrap_or(u128::MAX));
        self.fractions.push(if next.is_some() { 0 } else { u32::MAX });
        end
    }

    /// Adds one cut of `others`.
    pub(super) fn copy(&mut self, others: &Self, place: usize) {
        self.keys.extend(others.keys.get(place));
        self.fractions.extend(others.fractions.get(place));
    }

    /// Returns for each row the number of cuts that are not after it.
    pub(super) fn counts(&self, keys: &[u128], fraction: impl Fn(usize) -> u32) -> Vec<u32> {
        let mut counts = counts(&self.keys, keys);
        for (row, (count, key)) in counts.iter_mut().zip(keys).enumerate() {
            // Most keys have no cut within their rows. Of the keys that are cut, most have a
            // fraction of 0, which means before their first row.
            if let Some(last) = (*count as usize).checked_sub(1)
                && self.keys[last] == *key
                && self.fractions[last] > 0
            {
                *count = self.count(0..last + 1, *key, fraction(row));
            }
        }
        counts
    }

    /// Returns the number of cuts in a range that are not after a row.
    pub(super) fn count(&self, range: Range<usize>, key: u128, fraction: u32) -> u32 {
        let keys = self.keys.get(range.clone()).unwrap_or_default();
        let start = keys.partition_point(|other| *other < key);
        let same = keys[start..].partition_point(|other| *other == key);
        let fractions = self.fractions.get(range.start + start..range.start + start + same).unwrap_or_default();
        (start + fractions.partition_point(|cut| *cut <= fraction)) as u32
    }
}
