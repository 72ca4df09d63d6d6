//! Repairs tables, also those that cannot be opened.

use lakebed::repair::RepairAction;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pythonize::pythonize;
use serde::Serialize;

use crate::check::ShownOutcome;
use crate::error::to_py;
use crate::options::Options;
use crate::runtime::enter;
use crate::table::Table;

#[pymethods]
impl Table {
    /// Repairs the table at a location.
    #[staticmethod]
    fn repair<'py>(py: Python<'py>, options: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
        let options = Options::of(options);
        let location = Table::location_of(&options)?;
        let repair = location.table().map_err(to_py)?.repair().options(options.rest()?);
        let outcome = enter(py, async move { repair.run().await })?;
        let shown = ShownRepair {
            dry_run: outcome.is_dry_run,
            actions: &outcome.actions,
            check: ShownOutcome::of(&outcome.check),
            commits: &outcome.commits,
        };
        Ok(pythonize(py, &shown)?)
    }
}

/// The outcome in the form of Python's `RepairResult`.
#[derive(Serialize)]
struct ShownRepair<'a> {
    dry_run: bool,
    actions: &'a [RepairAction],
    check: ShownOutcome<'a>,
    commits: &'a [u64],
}
