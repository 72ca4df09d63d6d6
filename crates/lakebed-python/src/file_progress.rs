//! Reports the progress of work on data files to Python.

use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use lakebed::file_progress::FileProgress;
use pyo3::prelude::*;

/// The thread that calls a function with the progress, if there is one.
pub struct Telling(Option<JoinHandle<()>>);

/// Begins to call the function with the progress that is sent. The function runs on its own thread,
/// so that it may use lakebed and does not delay the work.
pub fn told_to(watcher: Option<Py<PyAny>>) -> (Option<Sender<FileProgress>>, Telling) {
    let Some(watcher) = watcher else { return (None, Telling(None)) };
    let (sender, told) = channel();
    let telling = std::thread::spawn(move || told.iter().for_each(|progress| tell(&watcher, progress)));
    (Some(sender), Telling(Some(telling)))
}

impl Telling {
    /// Waits until all progress is reported. The sender must be gone.
    pub fn finish(self, py: Python<'_>) {
        if let Some(telling) = self.0 {
            let _ = py.detach(|| telling.join());
        }
    }
}

/// Calls the function. Its error is reported and does not stop the work.
fn tell(watcher: &Py<PyAny>, progress: FileProgress) {
    Python::attach(|py| {
        let FileProgress { done_files, total_files, done_bytes, total_bytes } = progress;
        if let Err(error) = watcher.call1(py, (done_files, total_files, done_bytes, total_bytes)) {
            error.write_unraisable(py, Some(watcher.bind(py)));
        }
    });
}
