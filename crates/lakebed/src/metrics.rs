//! The metrics of a scan: counted while it runs, and read when it has ended.

use std::sync::atomic::{AtomicU64, Ordering};

/// The result of planning a scan. Each file counts once: for the first reason to skip it, or as
/// kept.
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

/// A number that only grows, counted by several threads.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds to the count.
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// Returns the count so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
