//! The progress of an operation.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The progress of an operation. The bytes are those of the files that are rewritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The bytes that are done.
    pub done_bytes: u64,
    /// The bytes of all files.
    pub total_bytes: u64,
    /// The number of groups that are written.
    pub done_groups: u64,
    /// The number of all groups.
    pub total_groups: u64,
}

/// The function that is called with the progress.
pub type Watcher = Arc<dyn Fn(Progress) + Send + Sync>;

/// Counts the finished work and reports it.
pub(super) struct Reporter {
    watcher: Option<Watcher>,
    total_bytes: u64,
    total_groups: u64,
    done_bytes: AtomicU64,
    done_groups: AtomicU64,
}

impl Reporter {
    pub(super) fn new(watcher: Option<Watcher>, total_bytes: u64, total_groups: u64) -> Self {
        Self { watcher, total_bytes, total_groups, done_bytes: AtomicU64::new(0), done_groups: AtomicU64::new(0) }
    }

    /// Adds finished bytes.
    pub(super) fn add_bytes(&self, bytes: u64) {
        self.done_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.tell();
    }

    /// Counts one more finished group.
    pub(super) fn end_group(&self) {
        self.done_groups.fetch_add(1, Ordering::Relaxed);
        self.tell();
    }

    fn tell(&self) {
        if let Some(watcher) = &self.watcher {
            watcher(Progress {
                done_bytes: self.done_bytes.load(Ordering::Relaxed).min(self.total_bytes),
                total_bytes: self.total_bytes,
                done_groups: self.done_groups.load(Ordering::Relaxed),
                total_groups: self.total_groups,
            });
        }
    }
}
