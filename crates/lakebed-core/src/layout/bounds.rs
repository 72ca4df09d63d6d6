//! Bounds between the keys of a sample.

pub(super) fn sorted<K: Ord>(mut keys: Vec<K>) -> Vec<K> {
    keys.sort_unstable();
    keys
}

/// Returns the distinct keys of sorted keys. If there are more than `most`, it returns the keys of
/// rows at even distances. These include every value that many rows have.
pub(super) fn bounds_of<K: Copy + PartialEq>(mut sorted: Vec<K>, most: usize) -> Vec<K> {
    let distinct = sorted.chunk_by(|one, other| one == other).count();
    if distinct > most {
        sorted = (0..most).filter_map(|place| sorted.get(place * sorted.len() / most).copied()).collect();
    }
    sorted.dedup();
    sorted.shrink_to_fit();
    sorted
}
