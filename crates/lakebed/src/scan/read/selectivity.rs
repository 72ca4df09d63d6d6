//! Counts how many of the tested rows match, because the best way to read a piece depends on it.

use std::sync::atomic::{AtomicU64, Ordering};

/// The number of rows that must be tested before their share of matches is used.
const ENOUGH_TESTED: u64 = 50_000;
/// From this percentage of matches on, it is cheaper to decode all columns at once and to drop rows
/// afterwards.
const MANY_MATCHES: u64 = 30;

/// The share of rows that match the condition, as far as rows have been tested.
#[derive(Default)]
pub(super) struct Selectivity {
    tested_rows: AtomicU64,
    matching_rows: AtomicU64,
}

impl Selectivity {
    /// Counts tested and matching rows.
    pub(super) fn count(&self, tested: u64, matching: u64) {
        self.tested_rows.fetch_add(tested, Ordering::Relaxed);
        self.matching_rows.fetch_add(matching, Ordering::Relaxed);
    }

    /// Returns whether so many rows match that it does not pay to decode the columns of the
    /// condition first.
    pub(super) fn matches_many(&self) -> bool {
        let (tested, matching) = (self.tested_rows.load(Ordering::Relaxed), self.matching_rows.load(Ordering::Relaxed));
        tested >= ENOUGH_TESTED && matching.saturating_mul(100) >= tested.saturating_mul(MANY_MATCHES)
    }
}
