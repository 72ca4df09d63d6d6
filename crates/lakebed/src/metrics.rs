//! What a scan did: counted while it runs, read when it is done.

use std::sync::atomic::{AtomicU64, Ordering};

/// What planning a scan found. A file counts once: as skipped by what skipped it first, or as kept.
#[derive(Debug, Default)]
pub struct PlanMetrics {
    /// Files that partition values ruled out.
    pub skipped_by_partition: Counter,
    /// Files that statistics ruled out.
    pub skipped_by_statistics: Counter,
    /// Files that may hold rows.
    pub kept: Counter,
    /// The sizes of the kept files.
    pub kept_bytes: Counter,
}

/// A number that only grows, counted from several threads.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Counts up.
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// The count so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
