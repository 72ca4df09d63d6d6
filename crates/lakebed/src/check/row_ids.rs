//! Finds row ids that several rows have. The memory does not depend on the number of rows: ids are
//! compared in windows, and each window but the first reads the ids once more.

use std::collections::HashMap;
use std::ops::Range;

use arrow_array::Int64Array;

/// The number of ids of a window. A bit for each takes 128 MiB.
const WINDOW: u64 = 1 << 30;
/// The number of ids of a block of bits. Blocks without ids take no memory.
const BLOCK: u64 = 1 << 16;
const WORD: u64 = 64;

/// The ids of a window that were seen.
pub(super) struct SeenRowIds {
    window: Range<u64>,
    blocks: HashMap<u64, Vec<u64>>,
    /// The greatest id that was seen in or above the window.
    greatest: u64,
}

impl SeenRowIds {
    /// Returns the first window.
    pub(super) fn first() -> Self {
        Self { window: 0..WINDOW, blocks: HashMap::new(), greatest: 0 }
    }

    /// Returns the window after this one, if there are ids above this one.
    pub(super) fn next(self) -> Option<Self> {
        let window = self.window.end..self.window.end.saturating_add(WINDOW);
        (self.greatest >= window.start).then(|| Self { window, blocks: HashMap::new(), greatest: self.greatest })
    }

    /// Adds ids, and returns the first that was there already.
    pub(super) fn add(&mut self, ids: &Int64Array) -> Option<i64> {
        let mut repeated = None;
        for id in ids.iter().flatten() {
            if !self.insert(id.unsigned_abs()) {
                repeated.get_or_insert(id);
            }
        }
        repeated
    }

    fn insert(&mut self, id: u64) -> bool {
        self.greatest = self.greatest.max(id);
        if !self.window.contains(&id) {
            return true;
        }
        let block = self.blocks.entry(id / BLOCK).or_insert_with(|| vec![0; (BLOCK / WORD) as usize]);
        let bit = 1 << (id % WORD);
        match block.get_mut((id % BLOCK / WORD) as usize) {
            Some(word) => {
                let is_new = *word & bit == 0;
                *word |= bit;
                is_new
            }
            None => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_ids_are_found_in_every_window() {
        let ids = Int64Array::from(vec![Some(0), Some(65_535), Some(65_536), None, Some(WINDOW as i64 + 5)]);
        let mut seen = SeenRowIds::first();
        assert_eq!(seen.add(&ids), None);
        assert_eq!(seen.add(&Int64Array::from(vec![1, 65_536, 0])), Some(65_536));
        let mut second = seen.next().unwrap();
        assert_eq!(second.add(&ids), None);
        assert_eq!(second.add(&Int64Array::from(vec![0, WINDOW as i64 + 5])), Some(WINDOW as i64 + 5));
        assert!(second.next().is_none());
    }
}
