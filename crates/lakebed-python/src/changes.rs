//! Reads changes. `_lakebed.Follow` is a stream over a table, with offsets as JSON strings and
//! tasks as bytes. `_lakebed.Changes` is the table's change data feed.

use std::collections::HashMap;
use std::sync::Arc;

use lakebed::changes::{ChangesOptions, Follow as Stream, FollowOptions, Offset, ReadLimits};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict};
use serde::Deserialize;

use crate::arrow::{ArrowStream, schema_capsule};
use crate::error::to_py;
use crate::options::Options;
use crate::owned::{Owned, Remade};
use crate::runtime::enter;
use crate::scan::task_bytes;
use crate::table::{Table, TableLocation};

/// A stream for Python.
#[pyclass(module = "lakebed._lakebed", frozen)]
pub struct Follow {
    stream: Owned<Arc<Stream>>,
}

impl Follow {
    fn stream(&self) -> PyResult<Arc<Stream>> {
        self.stream.get("this stream of changes").map(Arc::clone).map_err(to_py)
    }
}

/// Delta Spark's reader options: texts by names in any case, of which [`FollowOptions`] knows some.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ReaderOptions {
    options: HashMap<String, String>,
}

#[pymethods]
impl Follow {
    /// Opens a stream of the table that the options name; `options` among them are Delta Spark's reader options.
    #[staticmethod]
    fn open(py: Python<'_>, options: &Bound<'_, PyDict>) -> PyResult<Self> {
        let options = Options::of(options);
        let table = Table::location_of(&options)?.table().map_err(to_py)?;
        let given: ReaderOptions = options.rest()?;
        let follow = FollowOptions::parse(&given.options).map_err(to_py)?;
        let stream = enter(py, async move { table.follow(follow).await })?;
        Ok(Self { stream: Owned::new(Arc::new(stream)) })
    }

    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.stream()?.schema().map_err(to_py)?)
    }

    fn delta_schema(&self) -> String {
        self.stream.look().delta_schema().to_json()
    }

    /// Returns the version of the table when the stream was opened.
    #[getter]
    fn version(&self) -> u64 {
        self.stream.look().version()
    }

    /// Returns the limits of files and bytes of a batch, from the options.
    fn limits(&self) -> (Option<u64>, Option<u64>) {
        let limits = self.stream.look().limits();
        (limits.max_files, limits.max_bytes)
    }

    fn initial_offset(&self, py: Python<'_>) -> PyResult<String> {
        let stream = self.stream()?;
        enter(py, async move { stream.initial_offset().await }).map(|offset| offset.to_string())
    }

    fn newest_offset(&self, py: Python<'_>) -> PyResult<String> {
        let stream = self.stream()?;
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
        let (stream, start) = (self.stream()?, start.map(offset).transpose()?);
        let limits = ReadLimits { max_files, max_bytes, until: until.map(offset).transpose()? };
        let end = enter(py, async move { stream.latest_offset(start.as_ref(), &limits).await })?;
        Ok(end.map(|end| end.to_string()))
    }

    fn tasks<'py>(
        &self,
        py: Python<'py>,
        start: Option<&str>,
        end: &str,
        target_task_size: u64,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let (stream, start, end) = (self.stream()?, start.map(offset).transpose()?, offset(end)?);
        let tasks = enter(py, async move { stream.tasks(start.as_ref(), &end, target_task_size).await })?;
        task_bytes(py, &tasks)
    }

    fn commit(&self, py: Python<'_>, end: &str) -> PyResult<()> {
        let (stream, end) = (self.stream()?, offset(end)?);
        enter(py, async move { stream.commit(&end).await })
    }
}

/// The change data feed of some versions for Python. Like a table, it belongs to the process that
/// opened it.
#[pyclass(module = "lakebed._lakebed", frozen)]
pub struct Changes {
    location: Arc<TableLocation>,
    versions: (u64, u64),
    /// The feed as it was requested.
    asked: Owned<lakebed::changes::Changes>,
    opened: Remade<lakebed::changes::Changes>,
}

impl Changes {
    /// Returns the feed, opened again in a forked child.
    fn feed(&self, py: Python<'_>) -> PyResult<lakebed::changes::Changes> {
        if let Some(changes) = self.opened.get() {
            return Ok(changes);
        }
        let (table, asked) = (self.location.table().map_err(to_py)?, self.asked.look().clone());
        let changes = enter(py, async move { asked.reopened(&table).await })?;
        self.opened.set(changes.clone());
        Ok(changes)
    }
}

#[pymethods]
impl Changes {
    /// Returns the first version and the last one.
    #[getter]
    fn versions(&self) -> (u64, u64) {
        self.versions
    }

    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.feed(py)?.schema().map_err(to_py)?)
    }

    fn delta_schema(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.feed(py)?.delta_schema().to_json())
    }

    fn stream(&self, py: Python<'_>) -> PyResult<ArrowStream> {
        let changes = self.feed(py)?;
        enter(py, async move { changes.stream().await }).map(ArrowStream::new)
    }

    fn plan(&self, py: Python<'_>) -> PyResult<PlannedChanges> {
        let changes = self.feed(py)?;
        let plan = enter(py, async move { changes.plan().await })?;
        Ok(PlannedChanges { plan })
    }
}

/// The files of a feed for Python.
#[pyclass(module = "lakebed._lakebed", frozen)]
pub struct PlannedChanges {
    plan: lakebed::changes::PlannedChanges,
}

#[pymethods]
impl PlannedChanges {
    #[getter]
    fn size_bytes(&self) -> u64 {
        self.plan.size_bytes()
    }

    fn tasks<'py>(&self, py: Python<'py>, target_task_size: u64) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        task_bytes(py, &self.plan.tasks(target_task_size))
    }
}

#[pymethods]
impl Table {
    /// Returns the feed from one bound to another.
    fn changes(&self, py: Python<'_>, options: &Bound<'_, PyDict>) -> PyResult<Changes> {
        let options: ChangesOptions = Options::of(options).rest()?;
        let table = self.table(py)?;
        let changes = enter(py, async move { table.changes_with(options).await })?;
        let versions = (*changes.versions().start(), *changes.versions().end());
        Ok(Changes { location: self.location(), versions, asked: Owned::new(changes.clone()), opened: Remade::new(changes) })
    }
}

fn offset(text: &str) -> PyResult<Offset> {
    text.parse().map_err(to_py)
}
