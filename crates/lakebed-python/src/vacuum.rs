//! Vacuum.

use std::collections::HashMap;
use std::time::Duration;

use lakebed::vacuum::{VacuumMetrics, VacuumMode, VacuumOptions};
use lakebed::write::OnLossy;
use lakebed::{Error, RecordBatchStream, Result};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrow::ArrowStream;
use crate::error::to_py;
use crate::input::stream_of;
use crate::options::Options;
use crate::runtime::enter;
use crate::table::Table;
use crate::write::word;

/// The table afterwards, what was done, and to which files.
type Vacuumed = (Table, HashMap<&'static str, u64>, ArrowStream);

#[pymethods]
impl Table {
    #[pyo3(signature = (options, inventory = None))]
    fn vacuum(&self, py: Python<'_>, options: &Bound<'_, PyDict>, inventory: Option<&Bound<'_, PyAny>>) -> PyResult<Vacuumed> {
        let mut vacuum = self.table(py)?.vacuum().options(vacuum_options(options)?);
        if let Some(objects) = inventory {
            vacuum = vacuum.inventory(stream_of(objects, OnLossy::default())?);
        }
        let outcome = enter(py, async move { vacuum.run().await })?;
        let files = RecordBatchStream::from_batches(outcome.files.schema(), vec![outcome.files]);
        Ok((self.sibling(py, outcome.version, outcome.snapshot)?, metrics(&outcome.metrics), ArrowStream::new(files)))
    }
}

fn vacuum_options(options: &Bound<'_, PyDict>) -> PyResult<VacuumOptions> {
    let options = Options::of(options);
    let mode: Option<String> = options.get("mode")?;
    let hours: Option<f64> = options.get("retention_hours")?;
    let defaults = VacuumOptions::default();
    let found = VacuumOptions {
        mode: word("mode", mode.as_deref(), &[("full", VacuumMode::Full), ("lite", VacuumMode::Lite)]).map_err(to_py)?,
        retention: hours.map(retention).transpose().map_err(to_py)?,
        enforce_retention: options.get("enforce_retention")?.unwrap_or(defaults.enforce_retention),
        dry_run: options.get("dry_run")?.unwrap_or(defaults.dry_run),
        log_commits: options.get("log_commits")?.unwrap_or(defaults.log_commits),
        user_metadata: options.get("user_metadata")?,
    };
    options.done()?;
    Ok(found)
}

fn retention(hours: f64) -> Result<Duration> {
    let refused = || Error::invalid_input(format!("retention_hours={hours}: must be a number of hours, 0 or more"));
    Duration::try_from_secs_f64(hours * 3600.0).map_err(|_| refused())
}

fn metrics(metrics: &VacuumMetrics) -> HashMap<&'static str, u64> {
    HashMap::from([
        ("listed_files", metrics.listed_files),
        ("listed_folders", metrics.listed_folders),
        ("young_files", metrics.young_files),
        ("found_files", metrics.found_files),
        ("found_bytes", metrics.found_bytes),
        ("deleted_files", metrics.deleted_files),
        ("deleted_bytes", metrics.deleted_bytes),
        ("missing_files", metrics.missing_files),
        ("deleted_folders", metrics.deleted_folders),
    ])
}
