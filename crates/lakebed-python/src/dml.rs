//! Changes rows: delete, update and merge.

use lakebed::dml::merge::{Merge, MergeKey, MergeOptions, MergeSource as Source};
use lakebed::dml::{ChangeOutcome, DeleteOptions, UpdateOptions};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pythonize::pythonize;

use crate::background::after_commit;
use crate::input::stream_of;
use crate::options::{Options, argument};
use crate::owned::Owned;
use crate::runtime::enter;
use crate::scan::explained;
use crate::table::Table;

/// The new table, whether the operation committed, and its metrics.
type Changed<'py> = (Table, bool, Bound<'py, PyAny>);

#[pymethods]
impl Table {
    fn delete_rows<'py>(&self, py: Python<'py>, options: &Bound<'py, PyDict>) -> PyResult<Changed<'py>> {
        let options = Options::of(options);
        let mut given: DeleteOptions = options.part()?;
        given.change = options.rest()?;
        let delete = self.table(py)?.delete().options(given);
        let outcome = enter(py, async move { delete.run().await })?;
        self.changed(py, outcome)
    }

    fn update_rows<'py>(&self, py: Python<'py>, options: &Bound<'py, PyDict>) -> PyResult<Changed<'py>> {
        let options = Options::of(options);
        let mut given: UpdateOptions = options.part()?;
        given.change = options.rest()?;
        let update = self.table(py)?.update().options(given);
        let outcome = enter(py, async move { update.run().await })?;
        self.changed(py, outcome)
    }

    fn merge_rows<'py>(&self, py: Python<'py>, options: &Bound<'py, PyDict>, source: &MergeSource) -> PyResult<Changed<'py>> {
        let merge = self.merge(py, options, source)?;
        let outcome = enter(py, async move { merge.run().await })?;
        self.changed(py, outcome)
    }

    fn explain_merge<'py>(
        &self,
        py: Python<'py>,
        options: &Bound<'py, PyDict>,
        source: &MergeSource,
    ) -> PyResult<Bound<'py, PyDict>> {
        let merge = self.merge(py, options, source)?;
        let explanation = enter(py, async move { merge.explain().await })?;
        let found = PyDict::new(py);
        found.set_item("scan", explained(py, explanation.scan)?)?;
        let key = |key: MergeKey| (key.target, key.source, key.null_safe, key.prunes);
        found.set_item("keys", explanation.keys.into_iter().map(key).collect::<Vec<_>>())?;
        found.set_item("source_rows", explanation.source_rows)?;
        found.set_item("source_parts", explanation.source_parts)?;
        found.set_item("spilled_bytes", explanation.spilled_bytes)?;
        found.set_item("by_deletion_vectors", explanation.by_deletion_vectors)?;
        found.set_item("records_changes", explanation.records_changes)?;
        Ok(found)
    }
}

/// The rows of a merge's source for Python.
#[pyclass(module = "lakebed._lakebed", frozen)]
pub struct MergeSource {
    /// Rows that are in memory, or in a file that a forked child reads as well.
    source: Owned<Source>,
}

#[pymethods]
impl MergeSource {
    /// Reads all rows.
    #[staticmethod]
    fn read(py: Python<'_>, data: &Bound<'_, PyAny>, on_lossy: &Bound<'_, PyAny>) -> PyResult<Self> {
        let on_lossy = argument("on_lossy", on_lossy)?;
        let data = stream_of(data, on_lossy)?;
        enter(py, async move { Source::read_with(data, on_lossy).await }).map(|source| Self { source: Owned::new(source) })
    }

    /// Returns the number of rows.
    #[getter]
    fn rows(&self) -> u64 {
        self.source.look().rows()
    }
}

impl Table {
    fn merge(&self, py: Python<'_>, options: &Bound<'_, PyDict>, source: &MergeSource) -> PyResult<Merge> {
        let options = Options::of(options);
        let mut given: MergeOptions = options.part()?;
        given.change = options.rest()?;
        Ok(self.table(py)?.merge(source.source.look(), "").options(given))
    }

    fn changed<'py>(&self, py: Python<'py>, outcome: ChangeOutcome) -> PyResult<Changed<'py>> {
        after_commit(&self.table(py)?, outcome.snapshot.as_ref());
        let (committed, metrics) = (outcome.committed, pythonize(py, &outcome.metrics)?);
        Ok((self.sibling(py, outcome.version, outcome.snapshot)?, committed, metrics))
    }
}
