//! Changes the clustering columns of a table.

use pyo3::prelude::*;

use crate::runtime::enter;
use crate::table::Table;

#[pymethods]
impl Table {
    fn cluster_by(&self, py: Python<'_>, columns: Vec<String>) -> PyResult<Table> {
        let table = self.table(py)?;
        let outcome = enter(py, async move { table.cluster_by(columns).await })?;
        self.sibling(py, outcome.version, outcome.snapshot)
    }
}
