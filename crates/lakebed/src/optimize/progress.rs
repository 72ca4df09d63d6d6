//! How far an operation has come.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How far an operation has come. Bytes are those of the files that are written anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What is done.
    pub done_bytes: u64,
    /// What is to be done.
    pub total_bytes: u64,
    /// Groups of files that are written.
    pub done_groups: u64,
    /// All groups.
    pub total_groups: u64,
}

/// Who is told.
pub type Watcher = Arc<dyn Fn(Progress) + Send + Sync>;

/// Counts what is done, and tells it.
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

    /// So much more was done.
    pub(super) fn add_bytes(&self, bytes: u64) {
        self.done_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.tell();
    }

    /// One more group is written.
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
