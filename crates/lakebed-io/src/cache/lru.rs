//! A map with a budget in bytes. When the budget is used up, the least recently used entries are
//! removed.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// The values by their keys, with the time of their last use.
pub(super) struct Lru<K, V> {
    budget_bytes: usize,
    entries: HashMap<K, Entry<V>>,
    /// The keys by their last use, oldest first.
    uses: BTreeMap<u64, K>,
    clock: u64,
    size_bytes: usize,
}

struct Entry<V> {
    value: V,
    size_bytes: usize,
    used: u64,
}

impl<K: Clone + Eq + Hash, V: Clone> Lru<K, V> {
    pub(super) fn new(budget_bytes: usize) -> Self {
        Self { budget_bytes, entries: HashMap::new(), uses: BTreeMap::new(), clock: 0, size_bytes: 0 }
    }

    pub(super) fn find(&mut self, key: &K) -> Option<V> {
        let entry = self.entries.get_mut(key)?;
        self.clock += 1;
        self.uses.remove(&entry.used);
        entry.used = self.clock;
        self.uses.insert(self.clock, key.clone());
        Some(entry.value.clone())
    }

    /// Stores a value, unless it is larger than a quarter of the budget.
    pub(super) fn insert(&mut self, key: K, value: V, size_bytes: usize) {
        if size_bytes > self.budget_bytes / 4 {
            return;
        }
        self.remove(&key);
        self.clock += 1;
        self.uses.insert(self.clock, key.clone());
        self.entries.insert(key, Entry { value, size_bytes, used: self.clock });
        self.size_bytes += size_bytes;
        while self.size_bytes > self.budget_bytes {
            let Some((_, oldest)) = self.uses.pop_first() else { break };
            self.remove(&oldest);
        }
    }

    pub(super) fn remove(&mut self, key: &K) {
        if let Some(entry) = self.entries.remove(key) {
            self.uses.remove(&entry.used);
            self.size_bytes -= entry.size_bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the keys from 0 to 9 that are in the map.
    fn keys(lru: &Lru<u32, u32>) -> Vec<u32> {
        (0..10).filter(|key| lru.entries.contains_key(key)).collect()
    }

    #[test]
    fn least_recently_used_entries_make_way() {
        let mut lru = Lru::new(100);
        (0..4).for_each(|key| lru.insert(key, key, 25));
        assert_eq!(lru.find(&0), Some(0));
        lru.insert(4, 4, 20);
        assert_eq!(keys(&lru), [0, 2, 3, 4]);
        lru.insert(5, 5, 10);
        assert_eq!((keys(&lru), lru.size_bytes), (vec![0, 3, 4, 5], 80));
    }

    #[test]
    fn large_value_is_not_kept() {
        let mut lru = Lru::new(100);
        lru.insert(0, 0, 25);
        lru.insert(1, 1, 26);
        assert_eq!(keys(&lru), [0]);
    }

    #[test]
    fn replaced_and_removed_values_free_bytes() {
        let mut lru = Lru::new(100);
        lru.insert(0, 0, 25);
        lru.insert(0, 1, 10);
        assert_eq!((lru.find(&0), lru.size_bytes, lru.uses.len()), (Some(1), 10, 1));
        lru.remove(&0);
        assert_eq!((lru.find(&0), lru.size_bytes, lru.uses.len()), (None, 0, 0));
    }
}
