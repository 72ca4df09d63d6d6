//! What changes rows: deleting, updating, merging.

use std::collections::HashMap;

use lakebed::dml::{ChangeMetrics, ChangeOptions, ChangeOutcome};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::to_py;
use crate::runtime::enter;
use crate::table::{Table, optional};
use crate::write::patience;

/// The table afterwards, whether anything was committed, and what was done.
type Changed = (Table, bool, HashMap<&'static str, u64>);

#[pymethods]
impl Table {
    fn delete_rows(&self, py: Python<'_>, options: &Bound<'_, PyDict>) -> PyResult<Changed> {
        let mut delete = self.table(py)?.delete().options(change_options(options)?);
        if let Some(filter) = optional::<String>(options, "where")? {
            delete = delete.filter(filter);
        }
        let outcome = enter(py, async move { delete.run().await })?;
        self.changed(py, outcome)
    }

    fn update_rows(&self, py: Python<'_>, options: &Bound<'_, PyDict>) -> PyResult<Changed> {
        let mut update = self.table(py)?.update().options(change_options(options)?);
        for (column, expression) in optional::<Vec<(String, String)>>(options, "set")?.unwrap_or_default() {
            update = update.set(column, expression);
        }
        if let Some(filter) = optional::<String>(options, "where")? {
            update = update.filter(filter);
        }
        let outcome = enter(py, async move { update.run().await })?;
        self.changed(py, outcome)
    }
}

impl Table {
    fn changed(&self, py: Python<'_>, outcome: ChangeOutcome) -> PyResult<Changed> {
        let (is_committed, metrics) = (outcome.is_committed, metrics(&outcome.metrics));
        Ok((self.sibling(py, outcome.version, outcome.snapshot)?, is_committed, metrics))
    }
}

fn change_options(options: &Bound<'_, PyDict>) -> PyResult<ChangeOptions> {
    let seconds: Option<f64> = optional(options, "timeout")?;
    Ok(ChangeOptions {
        application: optional(options, "txn")?,
        user_metadata: optional(options, "user_metadata")?,
        target_file_size_bytes: optional(options, "target_file_size")?,
        patience: seconds.map(patience).transpose().map_err(to_py)?,
        retries: optional(options, "retry")?.unwrap_or(true),
    })
}

fn metrics(metrics: &ChangeMetrics) -> HashMap<&'static str, u64> {
    let known = metrics.deleted_rows.map(|rows| ("deleted_rows", rows));
    let all = [
        ("updated_rows", metrics.updated_rows),
        ("inserted_rows", metrics.inserted_rows),
        ("copied_rows", metrics.copied_rows),
        ("source_rows", metrics.source_rows),
        ("added_files", metrics.added_files),
        ("added_bytes", metrics.added_bytes),
        ("removed_files", metrics.removed_files),
        ("removed_bytes", metrics.removed_bytes),
        ("change_files", metrics.change_files),
        ("vectors_added", metrics.vectors_added),
        ("vectors_updated", metrics.vectors_updated),
        ("vectors_removed", metrics.vectors_removed),
        ("scanned_files", metrics.scanned_files),
        ("scanned_bytes", metrics.scanned_bytes),
        ("skipped_by_partition", metrics.skipped_by_partition),
        ("skipped_by_statistics", metrics.skipped_by_statistics),
        ("spilled_bytes", metrics.spilled_bytes),
        ("peak_memory_bytes", metrics.peak_memory_bytes),
        ("conflicts", metrics.conflicts),
    ];
    all.into_iter().chain(known).collect()
}
