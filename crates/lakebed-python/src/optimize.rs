//! Writing files anew.

use std::collections::HashMap;
use std::sync::mpsc::channel;

use lakebed::Error;
use lakebed::optimize::{Commits, Layout, Optimize, OptimizeMetrics, OptimizeOptions, Progress};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::to_py;
use crate::runtime::enter;
use crate::table::{Table, optional};
use crate::write::{patience, word};

/// The table afterwards, how many versions were made, what was done, the sizes of new files, and the groups by how they were clustered.
type Optimized = (Table, u64, HashMap<&'static str, u64>, Option<[u64; 5]>, HashMap<&'static str, u64>);
/// Partition, paths, and size.
type Planned = (String, Vec<String>, u64);

#[pymethods]
impl Table {
    fn optimize(&self, py: Python<'_>, options: &Bound<'_, PyDict>) -> PyResult<Optimized> {
        let mut optimize = self.to_optimize(py, options)?;
        let mut telling = None;
        if let Some(watcher) = optional::<Py<PyAny>>(options, "progress")? {
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
        let optimize = self.to_optimize(py, options)?;
        let groups = enter(py, async move { optimize.plan().await })?;
        Ok(groups.into_iter().map(|group| (group.partition, group.paths, group.size_bytes)).collect())
    }
}

impl Table {
    fn to_optimize(&self, py: Python<'_>, options: &Bound<'_, PyDict>) -> PyResult<Optimize> {
        let defaults = OptimizeOptions::default();
        let table = self.table(py)?;
        let refuse = |message: String| to_py(Error::invalid_input(message).within(table.store().url()));
        let count = |key: &str| match optional::<i64>(options, key)? {
            Some(count) => u64::try_from(count).map(Some).map_err(|_| refuse(format!("{key}={count}: it must not be negative"))),
            None => Ok(None),
        };
        let names = |key: &str| optional::<Vec<String>>(options, key);
        let layout = match (names("zorder_by")?, names("cluster")?) {
            (None, None) => Layout::OfTable,
            (Some(names), None) => Layout::ZOrder(names),
            (None, Some(names)) => Layout::Cluster(names),
            (Some(_), Some(_)) => {
                return Err(refuse("zorder_by and cluster are two ways to order rows: choose one".to_owned()));
            }
        };
        let commits = [("run", Commits::PerRun), ("group", Commits::PerGroup)];
        let options = OptimizeOptions {
            filter: optional(options, "where")?,
            layout,
            target_file_size_bytes: count("target_size")?,
            min_files: count("min_files")?.map_or(defaults.min_files, |count| usize::try_from(count).unwrap_or(usize::MAX)),
            max_deleted_share: optional(options, "max_deleted_share")?.unwrap_or(defaults.max_deleted_share),
            full: optional(options, "full")?.unwrap_or(defaults.full),
            fill_statistics: optional(options, "fill_statistics")?.unwrap_or(defaults.fill_statistics),
            commits: word("commit", optional::<String>(options, "commit")?.as_deref(), &commits).map_err(to_py)?,
            user_metadata: optional(options, "user_metadata")?,
            patience: optional(options, "timeout")?.map(patience).transpose().map_err(to_py)?,
        };
        Ok(table.optimize().options(options))
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
