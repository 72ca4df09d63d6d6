//! The progress of a check.

use std::sync::Arc;

use serde::Serialize;

use super::options::Level;

/// The progress of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CheckProgress {
    /// The level that is running.
    pub level: Level,
    /// The things that this level has checked: commits (`log`, `history`), or files of the table.
    pub done: u64,
    /// The number of all things that this level checks, if it is known.
    pub total: Option<u64>,
}

/// The function that is called with the progress.
pub type CheckWatcher = Arc<dyn Fn(CheckProgress) + Send + Sync>;

/// Counts the finished work of one level and reports it.
pub(super) struct LevelReporter<'a> {
    watcher: Option<&'a CheckWatcher>,
    progress: CheckProgress,
}

impl<'a> LevelReporter<'a> {
    /// Reports the beginning of a level.
    pub(super) fn begin(watcher: Option<&'a CheckWatcher>, level: Level, total: Option<u64>) -> Self {
        let reporter = Self { watcher, progress: CheckProgress { level, done: 0, total } };
        reporter.report();
        reporter
    }

    /// Adds finished work.
    pub(super) fn add(&mut self, done: u64) {
        if done > 0 {
            self.progress.done += done;
            self.report();
        }
    }

    fn report(&self) {
        if let Some(watcher) = self.watcher {
            watcher(self.progress);
        }
    }
}
