//! Writing files anew.

use std::collections::HashMap;
use std::sync::mpsc::channel;

use lakebed::Error;
use lakebed::optimize::{Commits, Layout, Optimize, OptimizeMetrics, OptimizeOptions, Progress};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::to_py;
use crate::options::Options;
use crate::runtime::enter;
use crate::table::Table;
use crate::write::{patience, word};

/// The table afterwards, how many versions were made, what was done, the sizes of new files, and the groups by how they were clustered.
type Optimized = (Table, u64, HashMap<&'static str, u64>, Option<[u64; 5]>, HashMap<&'static str, u64>);
/// Partition, paths, and size.
type Planned = (String, Vec<String>, u64);

#[pymethods]
impl Table {
    fn optimize(&self, py: Python<'_>, options: &Bound<'_, PyDict>) -> PyResult<Optimized> {
        let options = Options::of(options);
        let mut telling = None;
        let watcher: Option<Py<PyAny>> = options.get("progress")?;
        let mut optimize = self.to_optimize(py, &options)?;
        if let Some(watcher) = watcher {
            // On a thread of its own, who is told may use lakebed, and keeps nobody waiting.
            let (sender, told) = channel();
            telling = Some(std::thread::spawn(move || told.iter().for_each(|progress| tell(&watcher, progress))));
            optimize = optimize.watched_by(move |progress| _ = sender.send(progress));
        }
        let outcome = enter(py, async move { optimize.run().await });
        if let Some(telling) = telling {
            // All is told before the call returns.
            let _ = py.detach(|| telling.join());
        }
        let outcome = outcome?;
        let metrics = outcome.metrics;
        let table = self.sibling(py, outcome.version, outcome.snapshot)?;
        let methods = metrics.methods.iter().map(|(method, groups)| (method.name(), *groups)).collect();
        Ok((table, outcome.commits, counts(&metrics), metrics.file_sizes, methods))
    }

    fn plan_optimize(&self, py: Python<'_>, options: &Bound<'_, PyDict>) -> PyResult<Vec<Planned>> {
        let optimize = self.to_optimize(py, &Options::of(options))?;
        let groups = enter(py, async move { optimize.plan().await })?;
        Ok(groups.into_iter().map(|group| (group.partition, group.paths, group.size_bytes)).collect())
    }
}

impl Table {
    /// Takes the last options: no other may be left.
    fn to_optimize(&self, py: Python<'_>, options: &Options<'_, '_>) -> PyResult<Optimize> {
        let defaults = OptimizeOptions::default();
        let table = self.table(py)?;
        let refuse = |message: String| to_py(Error::invalid_input(message).within(table.store().url()));
        let names = |key: &str| options.get::<Vec<String>>(key);
        let layout = match (names("zorder_by")?, names("cluster_by")?) {
            (None, None) => Layout::OfTable,
            (Some(names), None) => Layout::ZOrder(names),
            (None, Some(names)) => Layout::Cluster(names),
            (Some(_), Some(_)) => {
                return Err(refuse("zorder_by and cluster_by are two ways to order rows: choose one".to_owned()));
            }
        };
        let commits = [("run", Commits::PerRun), ("group", Commits::PerGroup)];
        let found = OptimizeOptions {
            filter: options.get("where")?,
            layout,
            target_file_size_bytes: options.get("target_file_size")?,
            min_files: options.get("min_files")?.unwrap_or(defaults.min_files),
            max_deleted_share: options.get("max_deleted_share")?.unwrap_or(defaults.max_deleted_share),
            full: options.get("full")?.unwrap_or(defaults.full),
            fill_statistics: options.get("fill_statistics")?.unwrap_or(defaults.fill_statistics),
            commits: word("commit", options.get::<String>("commit")?.as_deref(), &commits).map_err(to_py)?,
            user_metadata: options.get("user_metadata")?,
            patience: options.get("timeout")?.map(patience).transpose().map_err(to_py)?,
        };
        options.done()?;
        Ok(table.optimize().options(found))
    }
}

/// Tells Python how far it has come. What goes wrong there is reported, and stops nothing.
fn tell(watcher: &Py<PyAny>, progress: Progress) {
    Python::attach(|py| {
        let Progress { done_bytes, total_bytes, done_groups, total_groups } = progress;
        if let Err(error) = watcher.call1(py, (done_bytes, total_bytes, done_groups, total_groups)) {
            error.write_unraisable(py, Some(watcher.bind(py)));
        }
    });
}

fn counts(metrics: &OptimizeMetrics) -> HashMap<&'static str, u64> {
    HashMap::from([
        ("groups", metrics.groups),
        ("lost_groups", metrics.lost_groups),
        ("added_files", metrics.added_files),
        ("added_bytes", metrics.added_bytes),
        ("removed_files", metrics.removed_files),
        ("removed_bytes", metrics.removed_bytes),
        ("vectors_removed", metrics.vectors_removed),
        ("rows", metrics.rows),
        ("described_files", metrics.described_files),
        ("seen_files", metrics.seen_files),
        ("spilled_bytes", metrics.spilled_bytes),
        ("peak_memory_bytes", metrics.peak_memory_bytes),
        ("conflicts", metrics.conflicts),
    ])
}
