//! Optimizes tables: rewrites files without changing rows.

use std::sync::mpsc::channel;

use lakebed::optimize::{Optimize, Progress};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pythonize::pythonize;

use crate::options::Options;
use crate::runtime::enter;
use crate::table::Table;

/// The new table, the number of versions that the run committed, and its metrics.
type Optimized<'py> = (Table, u64, Bound<'py, PyAny>);
/// A partition, the paths of its files, and their size.
type Planned = (String, Vec<String>, u64);

#[pymethods]
impl Table {
    fn optimize<'py>(&self, py: Python<'py>, options: &Bound<'py, PyDict>) -> PyResult<Optimized<'py>> {
        let options = Options::of(options);
        let mut telling = None;
        let watcher = options.object("progress")?;
        let mut optimize = self.to_optimize(py, &options)?;
        if let Some(watcher) = watcher {
            // The callback runs on its own thread, so that it may use lakebed and does not delay
            // the run.
            let (sender, told) = channel();
            telling = Some(std::thread::spawn(move || told.iter().for_each(|progress| tell(&watcher, progress))));
            optimize = optimize.watched_by(move |progress| _ = sender.send(progress));
        }
        let outcome = enter(py, async move { optimize.run().await });
        if let Some(telling) = telling {
            // All progress is reported before the call returns.
            let _ = py.detach(|| telling.join());
        }
        let outcome = outcome?;
        let metrics = pythonize(py, &outcome.metrics)?;
        Ok((self.sibling(py, outcome.version, outcome.snapshot)?, outcome.commits, metrics))
    }

    fn plan_optimize(&self, py: Python<'_>, options: &Bound<'_, PyDict>) -> PyResult<Vec<Planned>> {
        let optimize = self.to_optimize(py, &Options::of(options))?;
        let groups = enter(py, async move { optimize.plan().await })?;
        Ok(groups.into_iter().map(|group| (group.partition, group.paths, group.size_bytes)).collect())
    }
}

impl Table {
    fn to_optimize(&self, py: Python<'_>, options: &Options<'_, '_>) -> PyResult<Optimize> {
        Ok(self.table(py)?.optimize().options(options.rest()?))
    }
}

/// Reports progress to Python. An error of the callback is reported and does not stop the run.
fn tell(watcher: &Py<PyAny>, progress: Progress) {
    Python::attach(|py| {
        let Progress { done_bytes, total_bytes, done_groups, total_groups } = progress;
        if let Err(error) = watcher.call1(py, (done_bytes, total_bytes, done_groups, total_groups)) {
            error.write_unraisable(py, Some(watcher.bind(py)));
        }
    });
}
