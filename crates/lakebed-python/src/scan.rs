//! The methods of `_lakebed.Table` that read rows or files, and tasks.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use lakebed::Scan;
use lakebed::scan::{Explanation, ScanTask};
use lakebed_io::store::StoreOptions;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict};

use crate::arrow::{ArrowStream, schema_capsule};
use crate::credentials::PyCredentials;
use crate::error::to_py;
use crate::options::Options;
use crate::runtime::enter;
use crate::table::Table;

impl Table {
    /// Returns the scan. In a transaction, the commit then depends on the rows that it reads.
    fn planned(&self, py: Python<'_>, options: &Bound<'_, PyDict>) -> PyResult<Scan> {
        if self.is_in_transaction() {
            let (table, options) = (self.table(py)?, Options::of(options).rest()?);
            return enter(py, async move { table.scan_in_transaction(options).await });
        }
        self.described(py, options)
    }

    fn described(&self, py: Python<'_>, options: &Bound<'_, PyDict>) -> PyResult<Scan> {
        Ok(self.snapshot(py)?.scan().options(Options::of(options).rest()?))
    }
}

#[pymethods]
impl Table {
    fn scan_schema<'py>(&self, py: Python<'py>, options: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.described(py, options)?.schema().map_err(to_py)?)
    }

    fn scan(&self, py: Python<'_>, options: &Bound<'_, PyDict>) -> PyResult<ArrowStream> {
        let scan = self.planned(py, options)?;
        enter(py, async move { scan.stream().await }).map(ArrowStream::new)
    }

    fn count(&self, py: Python<'_>, options: &Bound<'_, PyDict>) -> PyResult<u64> {
        let scan = self.planned(py, options)?;
        enter(py, async move { scan.count().await })
    }

    #[pyo3(signature = (options, extra = None))]
    fn files(&self, py: Python<'_>, options: &Bound<'_, PyDict>, extra: Option<&str>) -> PyResult<ArrowStream> {
        let scan = self.planned(py, options)?;
        let listing = match extra {
            None => enter(py, async move { scan.files().await }),
            Some("complete_bounds") => enter(py, async move { scan.files_with_complete_bounds().await }),
            Some("statistics") => enter(py, async move { scan.files_with_statistics().await }),
            Some(extra) => Err(PyValueError::new_err(format!("extra={extra:?}: it must be complete_bounds or statistics"))),
        };
        listing.map(ArrowStream::new)
    }

    fn tasks<'py>(
        &self,
        py: Python<'py>,
        options: &Bound<'py, PyDict>,
        target_task_size: u64,
        paths: Option<HashSet<String>>,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let scan = self.planned(py, options)?;
        let tasks = enter(py, async move {
            match paths {
                Some(paths) => scan.tasks_of(&paths, target_task_size).await,
                None => scan.tasks(target_task_size).await,
            }
        })?;
        task_bytes(py, &tasks)
    }

    fn deleted_tasks<'py>(
        &self,
        py: Python<'py>,
        options: &Bound<'py, PyDict>,
        paths: HashSet<String>,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let scan = self.planned(py, options)?;
        task_bytes(py, &enter(py, async move { scan.deleted_tasks(&paths).await })?)
    }

    fn explain<'py>(&self, py: Python<'py>, options: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyDict>> {
        let scan = self.planned(py, options)?;
        let explanation = enter(py, async move { scan.explain().await })?;
        explained(py, explanation)
    }
}

/// Converts the explanation of a scan for Python.
pub fn explained(py: Python<'_>, explanation: Explanation) -> PyResult<Bound<'_, PyDict>> {
    let found = PyDict::new(py);
    found.set_item("table", explanation.table)?;
    found.set_item("version", explanation.version)?;
    found.set_item("files", explanation.files)?;
    found.set_item("size_bytes", explanation.size_bytes)?;
    found.set_item("skipped_by_partition", explanation.skipped_by_partition)?;
    found.set_item("skipped_by_statistics", explanation.skipped_by_statistics)?;
    found.set_item("filter", explanation.filter)?;
    let mut conjuncts = Vec::with_capacity(explanation.conjuncts.len());
    for conjunct in explanation.conjuncts {
        let one = PyDict::new(py);
        one.set_item("text", conjunct.text)?;
        one.set_item("skipped_by_partition", conjunct.skipped_by_partition)?;
        one.set_item("skipped_by_statistics", conjunct.skipped_by_statistics)?;
        one.set_item("reason", conjunct.reason)?;
        conjuncts.push(one);
    }
    found.set_item("conjuncts", conjuncts)?;
    Ok(found)
}

/// Converts tasks to bytes that Python sends to other processes.
pub fn task_bytes<'py>(py: Python<'py>, tasks: &[ScanTask]) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    tasks.iter().map(|task| Ok(PyBytes::new(py, &task.to_bytes().map_err(to_py)?))).collect()
}

/// Runs a task of a scan.
#[pyfunction]
#[pyo3(signature = (task, storage_options, credentials, absolute_paths))]
pub fn read_task(
    py: Python<'_>,
    task: &[u8],
    storage_options: HashMap<String, String>,
    credentials: Option<Py<PyAny>>,
    absolute_paths: bool,
) -> PyResult<ArrowStream> {
    let task = ScanTask::from_bytes(task).map_err(to_py)?;
    let credentials = credentials.map(|source| Arc::new(PyCredentials::new(source)) as _);
    let options =
        StoreOptions { options: storage_options, credentials, allow_absolute_paths: absolute_paths, ..Default::default() };
    enter(py, async move { lakebed::scan::read_task_at(task, options).await }).map(ArrowStream::new)
}

/// Sets the memory budget of the process, and of children that it forks. Every number is accepted.
#[pyfunction]
pub fn set_memory_limit(size_bytes: u64) {
    lakebed::runtime::memory::MemoryBudget::set_limit_bytes_of_process(size_bytes);
}
