//! Creates tables and writes rows.

use std::collections::HashMap;
use std::sync::Arc;

use lakebed::Result;
use lakebed::create::CreateOptions;
use lakebed::dml::Effects;
use lakebed::dml::write::{PlannedWrite, WriteOptions, WriteOutcome, WriteTask, write_files_at};
use lakebed::write::PartNumber;
use lakebed_core::schema::arrow::schema_from_arrow;
use lakebed_io::store::StoreOptions;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use pythonize::pythonize;

use crate::background::after_commit;
use crate::credentials::PyCredentials;
use crate::error::to_py;
use crate::input::{schema_of, stream_of};
use crate::options::Options;
use crate::runtime::enter;
use crate::table::Table;

#[pymethods]
impl Table {
    /// Creates a table.
    #[staticmethod]
    fn create(py: Python<'_>, options: &Bound<'_, PyDict>, schema: &Bound<'_, PyAny>) -> PyResult<Self> {
        let options = Options::of(options);
        let location = Table::location_of(&options)?;
        let schema = schema_of(schema)?;
        let schema = schema_from_arrow(&schema).map_err(to_py)?;
        let options: CreateOptions = options.rest()?;
        let table = location.table().map_err(to_py)?;
        let making = table.clone();
        let snapshot = enter(py, async move { making.create(schema).options(options).run().await })?;
        Ok(Table::new(location, table, snapshot))
    }

    /// Writes rows to a location.
    #[staticmethod]
    fn write<'py>(
        py: Python<'py>,
        options: &Bound<'_, PyDict>,
        data: &Bound<'_, PyAny>,
    ) -> PyResult<(Self, bool, Bound<'py, PyAny>)> {
        let options = Options::of(options);
        let location = Table::location_of(&options)?;
        let table = location.table().map_err(to_py)?;
        let outcome = write_to(py, table.clone(), &options, data)?;
        after_commit(&table, outcome.snapshot.as_ref());
        let (committed, metrics) = (outcome.committed, pythonize(py, &outcome.metrics)?);
        Ok((Table::at(location, table, outcome.version, outcome.snapshot), committed, metrics))
    }

    /// Writes rows to this table.
    fn write_rows<'py>(
        &self,
        py: Python<'py>,
        options: &Bound<'_, PyDict>,
        data: &Bound<'_, PyAny>,
    ) -> PyResult<(Self, bool, Bound<'py, PyAny>)> {
        let outcome = write_to(py, self.table(py)?, &Options::of(options), data)?;
        after_commit(&self.table(py)?, outcome.snapshot.as_ref());
        let (committed, metrics) = (outcome.committed, pythonize(py, &outcome.metrics)?);
        Ok((self.sibling(py, outcome.version, outcome.snapshot)?, committed, metrics))
    }

    /// Plans a write whose files other processes write. Returns the data for these processes and
    /// the data for the caller, or the table if there is nothing to do. If both are `None`, the
    /// plan depends on the number of rows: the caller counts them and plans again.
    #[staticmethod]
    fn plan_write<'py>(
        py: Python<'py>,
        options: &Bound<'py, PyDict>,
        schema: &str,
    ) -> PyResult<(Option<Bound<'py, PyDict>>, Option<Self>)> {
        let options = Options::of(options);
        let location = Table::location_of(&options)?;
        let table = location.table().map_err(to_py)?;
        let schema = lakebed_core::schema::parse(schema).map_err(|error| to_py(error.of_caller()))?;
        let options: WriteOptions = options.rest()?;
        let planning = table.clone();
        match enter(py, async move { planning.plan_write(schema, options).await })? {
            PlannedWrite::Done(outcome) => Ok((None, Some(Table::at(location, table, outcome.version, outcome.snapshot)))),
            PlannedWrite::CountRows => Ok((None, None)),
            PlannedWrite::Task(task) => {
                let found = PyDict::new(py);
                found.set_item("task", PyBytes::new(py, &task.to_bytes().map_err(to_py)?))?;
                found.set_item("partition_columns", task.partition_columns())?;
                found.set_item("numbers_rows", task.numbers_rows().map_err(to_py)?)?;
                found.set_item("optimize_write", task.property("delta.autoOptimize.optimizeWrite"))?;
                Ok((Some(found), None))
            }
        }
    }

    /// Commits the files that were written for a task. The options are those of the plan. Only
    /// `txn` may be new.
    #[staticmethod]
    fn commit_write<'py>(
        py: Python<'py>,
        options: &Bound<'_, PyDict>,
        task: &[u8],
        written: Vec<Vec<u8>>,
    ) -> PyResult<(Self, bool, Bound<'py, PyAny>)> {
        let options = Options::of(options);
        let location = Table::location_of(&options)?;
        let table = location.table().map_err(to_py)?;
        let mut task = WriteTask::from_bytes(task).map_err(to_py)?;
        if let Some(txn) = options.rest::<WriteOptions>()?.txn {
            task = task.with_txn(txn);
        }
        let committing = table.clone();
        let outcome = enter(py, async move { committing.commit_write(task, files_of(&written)?).await })?;
        after_commit(&table, outcome.snapshot.as_ref());
        let (committed, metrics) = (outcome.committed, pythonize(py, &outcome.metrics)?);
        Ok((Table::at(location, table, outcome.version, outcome.snapshot), committed, metrics))
    }

    /// Deletes the files that were written for a task that is not committed. The options are those
    /// of the plan.
    #[staticmethod]
    fn abort_write(py: Python<'_>, options: &Bound<'_, PyDict>, written: Vec<Vec<u8>>) -> PyResult<()> {
        let options = Options::of(options);
        let table = Table::location_of(&options)?.table().map_err(to_py)?;
        options.rest::<WriteOptions>()?;
        enter(py, async move {
            table.abort_write(files_of(&written)?).await;
            Ok(())
        })
    }
}

/// Writes the rows of one part of a write and returns its files. The part is its number and the
/// number of parts.
#[pyfunction]
#[pyo3(signature = (task, part, data, storage_options, credentials))]
pub fn write_files<'py>(
    py: Python<'py>,
    task: &[u8],
    part: (u64, u64),
    data: &Bound<'py, PyAny>,
    storage_options: HashMap<String, String>,
    credentials: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let task = WriteTask::from_bytes(task).map_err(to_py)?;
    let credentials = credentials.map(|source| Arc::new(PyCredentials::new(source)) as _);
    let options = StoreOptions { options: storage_options, credentials, ..StoreOptions::default() };
    let (data, part) = (stream_of(data, task.on_lossy())?, PartNumber { number: part.0, of: part.1 });
    let written = enter(py, async move { write_files_at(&task, part, data, options).await?.to_bytes() })?;
    Ok(PyBytes::new(py, &written))
}

fn files_of(written: &[Vec<u8>]) -> Result<Vec<Effects>> {
    written.iter().map(|bytes| Effects::from_bytes(bytes)).collect()
}

fn write_to(py: Python<'_>, table: lakebed::Table, options: &Options<'_, '_>, data: &Bound<'_, PyAny>) -> PyResult<WriteOutcome> {
    let options: WriteOptions = options.rest()?;
    let data = stream_of(data, options.on_lossy)?;
    enter(py, async move { table.write(data).options(options).run().await })
}
