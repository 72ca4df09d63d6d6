//! Restore.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use pythonize::pythonize;

use crate::options::Options;
use crate::runtime::enter;
use crate::table::Table;

#[pymethods]
impl Table {
    /// Returns the new table, the version to which it went back, whether there is a commit, and the
    /// metrics.
    fn restore<'py>(&self, py: Python<'py>, options: &Bound<'py, PyDict>) -> PyResult<(Table, u64, bool, Bound<'py, PyAny>)> {
        let restore = self.table(py)?.restore().options(Options::of(options).rest()?);
        let outcome = enter(py, async move { restore.run().await })?;
        let table = self.sibling(py, outcome.version, outcome.snapshot)?;
        Ok((table, outcome.restored_version, outcome.committed, pythonize(py, &outcome.metrics)?))
    }
}
