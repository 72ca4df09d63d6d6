//! Measures the health of tables.

use pyo3::prelude::*;
use pythonize::pythonize;

use crate::runtime::enter;
use crate::table::Table;

#[pymethods]
impl Table {
    fn health<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let snapshot = self.snapshot(py)?;
        let health = enter(py, async move { snapshot.health().await })?;
        Ok(pythonize(py, &health)?)
    }
}
