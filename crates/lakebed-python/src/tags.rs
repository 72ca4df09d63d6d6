//! Tags, and the difference of two versions.

use lakebed::diff::VersionDifference;
use lakebed::history::HistoryEntry;
use lakebed::tags::Tag;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pythonize::pythonize;

use crate::json::json_to_py;
use crate::runtime::enter;
use crate::table::Table;

/// A tag as a tuple: its name, its version and its time in milliseconds.
type TagTuple = (String, u64, i64);

/// A commit as a tuple: its version, its time in milliseconds and its `commitInfo`.
type CommitTuple<'py> = (u64, i64, Bound<'py, PyAny>);

#[pymethods]
impl Table {
    fn tag(&self, py: Python<'_>, name: String, version: u64, replace: bool) -> PyResult<Table> {
        let table = self.table(py)?;
        let outcome = enter(py, async move { table.tag(&name, version, replace).await })?;
        self.sibling(py, outcome.version, outcome.snapshot)
    }

    fn drop_tag(&self, py: Python<'_>, name: String) -> PyResult<Table> {
        let table = self.table(py)?;
        let outcome = enter(py, async move { table.drop_tag(&name).await })?;
        self.sibling(py, outcome.version, outcome.snapshot)
    }

    /// Returns the tags of the newest version.
    fn tags(&self, py: Python<'_>) -> PyResult<Vec<TagTuple>> {
        let table = self.table(py)?;
        let tags = enter(py, async move { table.tags().await })?;
        Ok(tags.into_iter().map(|Tag { name, version, created_at_ms }| (name, version, created_at_ms)).collect())
    }

    /// Returns the difference as a dictionary, and the commits between the versions.
    fn diff<'py>(&self, py: Python<'py>, start: u64, end: u64) -> PyResult<(Bound<'py, PyDict>, Vec<CommitTuple<'py>>)> {
        let table = self.table(py)?;
        let found = enter(py, async move { table.diff(start, end).await })?;
        let VersionDifference {
            from,
            to,
            schema,
            properties,
            features_added,
            features_dropped,
            partition_columns,
            clustering_columns,
            files,
            commits,
        } = found;
        let shown = PyDict::new(py);
        shown.set_item("from_version", from)?;
        shown.set_item("to_version", to)?;
        shown.set_item("schema", pythonize(py, &schema)?)?;
        shown.set_item("properties", properties)?;
        shown.set_item("features_added", features_added)?;
        shown.set_item("features_dropped", features_dropped)?;
        shown.set_item("partition_columns", partition_columns)?;
        shown.set_item("clustering_columns", clustering_columns)?;
        shown.set_item("files", pythonize(py, &files)?)?;
        let row = |HistoryEntry { version, timestamp_ms, info }: HistoryEntry| {
            let info = json_to_py(py, &serde_json::Value::Object(info.0))?;
            Ok((version, timestamp_ms, info))
        };
        Ok((shown, commits.into_iter().map(row).collect::<PyResult<_>>()?))
    }
}
