//! Drops a table feature.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use pythonize::pythonize;

use crate::options::Options;
use crate::runtime::enter;
use crate::table::Table;

#[pymethods]
impl Table {
    /// Returns the new table, the feature, the version before which checkpoints are protected, the
    /// oldest version that is left, and the metrics.
    #[expect(clippy::type_complexity, reason = "Python takes the tuple apart")]
    fn drop_feature<'py>(
        &self,
        py: Python<'py>,
        feature: String,
        options: &Bound<'py, PyDict>,
    ) -> PyResult<(Table, String, Option<u64>, Option<u64>, Bound<'py, PyAny>)> {
        let dropping = self.table(py)?.drop_feature(feature).options(Options::of(options).rest()?);
        let outcome = enter(py, async move { dropping.run().await })?;
        let table = self.sibling(py, outcome.version, outcome.snapshot)?;
        Ok((table, outcome.feature, outcome.protected_before, outcome.first_version, pythonize(py, &outcome.metrics)?))
    }
}
