//! The progress of work that goes through many data files, such as a clone.

use std::sync::{Arc, Mutex, PoisonError};

/// The progress of work that goes through many data files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileProgress {
    /// The number of files that are done.
    pub done_files: u64,
    /// The number of all files.
    pub total_files: u64,
    /// The bytes of the files that are done.
    pub done_bytes: u64,
    /// The bytes of all files.
    pub total_bytes: u64,
}

/// The function that is called with the progress.
pub(crate) type Watcher = Arc<dyn Fn(FileProgress) + Send + Sync>;

/// Counts the finished files and reports them.
pub(crate) struct Reporter {
    watcher: Option<Watcher>,
    progress: Mutex<FileProgress>,
}

impl Reporter {
    pub(crate) fn new(watcher: Option<Watcher>, total_files: u64, total_bytes: u64) -> Self {
        let progress = FileProgress { total_files, total_bytes, ..FileProgress::default() };
        if let Some(watcher) = &watcher {
            watcher(progress);
        }
        Self { watcher, progress: Mutex::new(progress) }
    }

    pub(crate) fn done(&self, bytes: u64) {
        let Some(watcher) = &self.watcher else { return };
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        progress.done_files += 1;
        progress.done_bytes += bytes;
        // The lock is held, so that the numbers never go back.
        watcher(*progress);
    }
}
