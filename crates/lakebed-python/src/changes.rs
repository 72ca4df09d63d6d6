//! What tells of changes: `_lakebed.Follow`, the way of a stream through a table with offsets as JSON text and tasks as bytes, and the
//! methods of `_lakebed.Table` that read its change data feed.

use std::collections::HashMap;
use std::sync::Arc;

use lakebed::changes::{Changes, Follow as Stream, FollowOptions, Offset, ReadLimits};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict};

use crate::arrow::{ArrowStream, schema_capsule};
use crate::error::to_py;
use crate::runtime::enter;
use crate::scan::task_bytes;
use crate::table::{Table, optional};

/// A stream for Python.
#[pyclass(module = "lakebed._lakebed", frozen)]
pub struct Follow {
    stream: Arc<Stream>,
}

#[pymethods]
impl Follow {
    /// Opens a stream of the table that the options name; `options` among them are Delta Spark's reader options.
    #[staticmethod]
    fn open(py: Python<'_>, options: &Bound<'_, PyDict>) -> PyResult<Self> {
        let table = Table::place_of(options)?.table().map_err(to_py)?;
        let told: HashMap<String, String> = optional(options, "options")?.unwrap_or_default();
        let told = FollowOptions::parse(&told).map_err(to_py)?;
        let stream = enter(py, async move { table.follow(told).await })?;
        Ok(Self { stream: Arc::new(stream) })
    }

    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.stream.schema().map_err(to_py)?)
    }

    fn delta_schema(&self) -> String {
        self.stream.delta_schema().to_json()
    }

    /// Files and bytes of a batch, as the options say.
    fn limits(&self) -> (Option<u64>, Option<u64>) {
        let limits = self.stream.limits();
        (limits.max_files, limits.max_bytes)
    }

    fn initial_offset(&self, py: Python<'_>) -> PyResult<String> {
        let stream = Arc::clone(&self.stream);
        enter(py, async move { stream.initial_offset().await }).map(|offset| offset.to_string())
    }

    fn newest_offset(&self, py: Python<'_>) -> PyResult<String> {
        let stream = Arc::clone(&self.stream);
        enter(py, async move { stream.newest_offset().await }).map(|offset| offset.to_string())
    }

    #[pyo3(signature = (start = None, max_files = None, max_bytes = None, until = None))]
    fn latest_offset(
        &self,
        py: Python<'_>,
        start: Option<&str>,
        max_files: Option<u64>,
        max_bytes: Option<u64>,
        until: Option<&str>,
    ) -> PyResult<Option<String>> {
        let (stream, start) = (Arc::clone(&self.stream), start.map(offset).transpose()?);
        let limits = ReadLimits { max_files, max_bytes, until: until.map(offset).transpose()? };
        let end = enter(py, async move { stream.latest_offset(start.as_ref(), &limits).await })?;
        Ok(end.map(|end| end.to_string()))
    }

    fn tasks<'py>(
        &self,
        py: Python<'py>,
        start: Option<&str>,
        end: &str,
        target_size_bytes: u64,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let (stream, start, end) = (Arc::clone(&self.stream), start.map(offset).transpose()?, offset(end)?);
        let tasks = enter(py, async move { stream.tasks(start.as_ref(), &end, target_size_bytes).await })?;
        task_bytes(py, &tasks)
    }

    fn commit(&self, py: Python<'_>, end: &str) -> PyResult<()> {
        let (stream, end) = (Arc::clone(&self.stream), offset(end)?);
        enter(py, async move { stream.commit(&end).await })
    }
}

impl Table {
    /// The feed of the versions `start` to `end`, which is this one unless it is given.
    fn feed(&self, py: Python<'_>, options: &Bound<'_, PyDict>) -> PyResult<Changes> {
        let (start, end): (Option<u64>, Option<u64>) = (optional(options, "start")?, optional(options, "end")?);
        let versions = start.unwrap_or_default()..=end.unwrap_or(self.version());
        let table = self.table(py)?;
        let mut changes = enter(py, async move { table.changes(versions).await })?;
        if let Some(columns) = optional::<Vec<String>>(options, "columns")? {
            changes = changes.select(columns);
        }
        if let Some(filter) = optional::<String>(options, "where")? {
            changes = changes.filter(filter);
        }
        Ok(changes)
    }
}

#[pymethods]
impl Table {
    fn changes_schema<'py>(&self, py: Python<'py>, options: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.feed(py, options)?.schema().map_err(to_py)?)
    }

    fn changes(&self, py: Python<'_>, options: &Bound<'_, PyDict>) -> PyResult<ArrowStream> {
        let changes = self.feed(py, options)?;
        enter(py, async move { changes.stream().await }).map(ArrowStream::new)
    }

    fn changes_tasks<'py>(
        &self,
        py: Python<'py>,
        options: &Bound<'py, PyDict>,
        target_size_bytes: u64,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let changes = self.feed(py, options)?;
        task_bytes(py, &enter(py, async move { changes.tasks(target_size_bytes).await })?)
    }
}

fn offset(text: &str) -> PyResult<Offset> {
    text.parse().map_err(to_py)
}
