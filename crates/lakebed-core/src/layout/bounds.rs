//! Bounds between the keys of a sample.

pub(super) fn sorted<K: Ord>(mut keys: Vec<K>) -> Vec<K> {
    keys.sort_unstable();
    keys
}

/// Of sorted keys the distinct ones, or those of rows at even distances: a value of many rows is
/// always among these.
pub(super) fn bounds_of<K: Copy + PartialEq>(mut sorted: Vec<K>, most: usize) -> Vec<K> {
    let distinct = sorted.chunk_by(|one, other| one == other).count();
    if distinct > most {
        sorted = (0..most).filter_map(|place| sorted.get(place * sorted.len() / most).copied()).collect();
    }
    sorted.dedup();
    sorted.shrink_to_fit();
    sorted
}
