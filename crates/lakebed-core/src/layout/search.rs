//! Binary search for many keys at once.

use std::hint::select_unpredictable;

/// The number of keys that are searched together, so that the processor waits for all their loads
/// at the same time.
const LANES: usize = 16;

/// Returns for each key the number of sorted bounds that are not above it.
pub(super) fn counts<K: Copy + Ord + Default>(bounds: &[K], keys: &[K]) -> Vec<u32> {
    let mut counts = Vec::with_capacity(keys.len());
    for keys in keys.chunks(LANES) {
        let mut lanes = [K::default(); LANES];
        for (lane, key) in lanes.iter_mut().zip(keys) {
            *lane = *key;
        }
        let found = lanes_counts(bounds, &lanes);
        counts.extend(found.iter().take(keys.len()).map(|count| *count as u32));
    }
    counts
}

/// Searches several keys without a branch that depends on a key, because the processor could not
/// predict such a branch.
fn lanes_counts<K: Copy + Ord>(bounds: &[K], keys: &[K; LANES]) -> [usize; LANES] {
    let mut counts = [0; LANES];
    // The count of each key is between the count so far and `left` more.
    let mut left = bounds.len();
    while left > 1 {
        let half = left / 2;
        for (count, key) in counts.iter_mut().zip(keys) {
            *count = select_unpredictable(bounds[*count + half - 1] <= *key, *count + half, *count);
        }
        left -= half;
    }
    if left == 1 {
        for (count, key) in counts.iter_mut().zip(keys) {
            *count += usize::from(bounds[*count] <= *key);
        }
    }
    counts
}
