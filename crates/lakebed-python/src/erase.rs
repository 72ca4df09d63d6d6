//! Erase.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use pythonize::pythonize;

use crate::options::Options;
use crate::runtime::enter;
use crate::table::Table;

/// The new table, whether there is a commit, the metrics, and the versions that hold the rows.
type Erased<'py> = (Table, bool, Bound<'py, PyAny>, Bound<'py, PyAny>);

#[pymethods]
impl Table {
    fn erase<'py>(&self, py: Python<'py>, options: &Bound<'py, PyDict>) -> PyResult<Erased<'py>> {
        let erase = self.table(py)?.erase("").options(Options::of(options).rest()?);
        let outcome = enter(py, async move { erase.run().await })?;
        let table = self.sibling(py, outcome.version, outcome.snapshot)?;
        Ok((table, outcome.committed, pythonize(py, &outcome.metrics)?, pythonize(py, &outcome.older)?))
    }
}
