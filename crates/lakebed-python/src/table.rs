//! `_lakebed.Table`: a snapshot, and the data to open it again.

use std::sync::{Arc, OnceLock};

use lakebed::location::Location;
use lakebed::table::SnapshotOptions;
use lakebed::{Env, Snapshot};
use lakebed_core::schema::arrow::schema_with_notes;
use lakebed_io::store::{absolute_location, url_without_secrets};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

use crate::arrow::schema_capsule;
use crate::credentials::PyCredentials;
use crate::error::to_py;
use crate::json::{json_to_py, to_json};
use crate::options::Options;
use crate::owned::Remade;
use crate::runtime::enter;

/// A snapshot for Python.
#[pyclass(module = "lakebed._lakebed", frozen)]
pub struct Table {
    location: Arc<TableLocation>,
    version: u64,
    /// The table's id in this version, once it is known. A forked child that opens the table again
    /// must find the same id.
    id: OnceLock<String>,
    /// Whether the handle reads the pending state of a transaction. No other process has it.
    in_transaction: bool,
    opened: Remade<Opened>,
}

/// A snapshot belongs to the process that opened it: connections and their threads do not survive a fork.
#[derive(Clone)]
struct Opened {
    /// Knows the newest version that this handle has written or seen.
    table: lakebed::Table,
    /// The snapshot. If it could not be opened before, it is opened when it is needed.
    snapshot: Option<Snapshot>,
}

/// The location of a table and its credentials.
pub struct TableLocation {
    /// Its URL is absolute, so that a handle means the same table after the process changes its
    /// working folder.
    location: Location,
    credentials: Option<Arc<PyCredentials>>,
}

impl TableLocation {
    fn uri(&self) -> &str {
        &self.location.uri
    }

    /// Returns the table without checking whether it exists.
    pub fn table(&self) -> lakebed::Result<lakebed::Table> {
        let mut table = lakebed::Table::at_location(self.location.clone()).with_env(Env::system());
        if let Some(credentials) = &self.credentials {
            table = table.with_credentials(credentials.clone());
        }
        table.build()
    }
}

impl Table {
    /// Creates a handle for a snapshot.
    pub fn new(location: Arc<TableLocation>, table: lakebed::Table, snapshot: Snapshot) -> Self {
        Self::at(location, table, snapshot.version(), Some(snapshot))
    }

    /// Creates a handle for a version, with its snapshot if that is known.
    pub fn at(location: Arc<TableLocation>, table: lakebed::Table, version: u64, snapshot: Option<Snapshot>) -> Self {
        let id = snapshot.as_ref().map(|snapshot| OnceLock::from(snapshot.metadata().id.clone())).unwrap_or_default();
        let in_transaction = table.is_in_transaction();
        Self { location, version, id, in_transaction, opened: Remade::new(Opened { table, snapshot }) }
    }

    /// Creates a handle for another version of the same table.
    pub fn sibling(&self, py: Python<'_>, version: u64, snapshot: Option<Snapshot>) -> PyResult<Self> {
        Ok(Self::at(self.location.clone(), self.opened(py)?.0, version, snapshot))
    }

    /// Returns the location.
    pub fn location(&self) -> Arc<TableLocation> {
        self.location.clone()
    }

    /// Returns the snapshot, opened again in a forked child.
    pub fn snapshot(&self, py: Python<'_>) -> PyResult<Snapshot> {
        self.opened(py).map(|(_, snapshot)| snapshot)
    }

    /// Returns the table at any version, if it is still the table that this handle opened.
    pub fn table(&self, py: Python<'_>) -> PyResult<lakebed::Table> {
        self.opened(py).map(|(table, snapshot)| table.only(&snapshot))
    }

    fn opened(&self, py: Python<'_>) -> PyResult<(lakebed::Table, Snapshot)> {
        if self.in_transaction {
            return self.pending(py);
        }
        let table = match self.opened.get() {
            Some(Opened { table, snapshot: Some(snapshot) }) => return Ok((table, snapshot)),
            Some(Opened { table, snapshot: None }) => table,
            None => self.location.table().map_err(to_py)?,
        };
        let (opening, version, id) = (table.clone(), self.version, self.id.get().cloned());
        let snapshot = enter(py, async move {
            match id {
                Some(id) => opening.snapshot_of(&id, version).await,
                None => opening.snapshot_at(version).await,
            }
        })?;
        self.id.get_or_init(|| snapshot.metadata().id.clone());
        self.opened.set(Opened { table: table.clone(), snapshot: Some(snapshot.clone()) });
        Ok((table, snapshot))
    }

    /// Returns the pending state of the transaction to which this handle belongs.
    fn pending(&self, py: Python<'_>) -> PyResult<(lakebed::Table, Snapshot)> {
        let elsewhere = || {
            let message = "the transaction was begun by another process, from which this process was forked later, and only that \
                           process can use it: begin another one in this process";
            to_py(lakebed::Error::invalid_input(message))
        };
        let table = self.opened.get().ok_or_else(elsewhere)?.table;
        let reading = table.clone();
        let snapshot = enter(py, async move { reading.snapshot().await })?;
        Ok((table, snapshot))
    }

    /// Returns whether the handle reads the pending state of a transaction.
    pub fn is_in_transaction(&self) -> bool {
        self.in_transaction
    }

    /// Returns the location that options name.
    pub fn location_of(options: &Options<'_, '_>) -> PyResult<Arc<TableLocation>> {
        let mut location: Location = options.part()?;
        location.uri = absolute_location(&location.uri).map_err(to_py)?;
        let credentials = options.object("credentials")?.map(PyCredentials::new).map(Arc::new);
        Ok(Arc::new(TableLocation { location, credentials }))
    }
}

#[pymethods]
impl Table {
    /// Opens a table.
    #[staticmethod]
    fn open(py: Python<'_>, options: &Bound<'_, PyDict>) -> PyResult<Self> {
        let options = Options::of(options);
        let location = Table::location_of(&options)?;
        let at: SnapshotOptions = options.rest()?;
        let table = location.table().map_err(to_py)?;
        let opening = table.clone();
        let snapshot = enter(py, async move { opening.snapshot_with(&at).await })?;
        Ok(Self::new(location, table, snapshot))
    }

    #[getter]
    fn uri(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.snapshot(py)?.url().to_owned())
    }

    /// Returns the location without secrets, for opening the table again.
    fn address(&self) -> PyResult<String> {
        if self.in_transaction {
            let message = "a transaction and what it has not committed yet cannot be pickled: pickle the table after the commit";
            return Err(to_py(lakebed::Error::invalid_input(message)));
        }
        url_without_secrets(self.location.uri()).map_err(to_py)
    }

    /// The version of the snapshot.
    #[getter]
    pub fn version(&self) -> u64 {
        self.version
    }

    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = schema_with_notes(self.snapshot(py)?.schema()).map_err(to_py)?;
        schema_capsule(py, &schema)
    }

    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let snapshot = self.snapshot(py)?;
        json_to_py(py, &to_json(|| serde_json::to_value(snapshot.metadata()))?)
    }

    fn protocol<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let snapshot = self.snapshot(py)?;
        json_to_py(py, &to_json(|| serde_json::to_value(snapshot.protocol()))?)
    }

    fn refresh(&self, py: Python<'_>) -> PyResult<Self> {
        let (table, snapshot) = self.opened(py)?;
        let refreshing = table.clone();
        let newer = enter(py, async move { refreshing.newer_than(&snapshot).await })?;
        Ok(Self::new(self.location.clone(), table, newer))
    }

    #[pyo3(signature = (limit = None))]
    fn history<'py>(&self, py: Python<'py>, limit: Option<usize>) -> PyResult<Vec<(u64, i64, Bound<'py, PyAny>)>> {
        let snapshot = self.snapshot(py)?;
        let entries = enter(py, async move { snapshot.history(limit).await })?;
        let row = |entry: lakebed::history::HistoryEntry| {
            let info = json_to_py(py, &serde_json::Value::Object(entry.info.0))?;
            Ok((entry.version, entry.timestamp_ms, info))
        };
        entries.into_iter().map(row).collect()
    }

    fn checkpoint<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let snapshot = self.snapshot(py)?;
        let outcome = enter(py, async move { snapshot.checkpoint().await })?;
        let found = PyDict::new(py);
        found.set_item("version", outcome.version)?;
        found.set_item("name", outcome.name)?;
        found.set_item("size_bytes", outcome.size_bytes)?;
        found.set_item("num_files", outcome.num_files)?;
        found.set_item("num_tombstones", outcome.num_tombstones)?;
        Ok(found)
    }

    /// Deletes files of the log that are out of date, as the newest version says.
    fn clean_up_log<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let table = self.table(py)?;
        let outcome = enter(py, async move { table.snapshot().await?.clean_up_log().await })?;
        let found = PyDict::new(py);
        found.set_item("first_version", outcome.first_version)?;
        found.set_item("log_files", outcome.log_files)?;
        found.set_item("sidecars", outcome.sidecars)?;
        found.set_item("leftovers", outcome.leftovers)?;
        Ok(found)
    }

    fn compact_log(&self, py: Python<'_>, first: u64, last: u64) -> PyResult<Option<String>> {
        let snapshot = self.snapshot(py)?;
        enter(py, async move { snapshot.compact_log(first..=last).await })
    }

    /// Writes the symlink manifests of the newest version.
    fn symlink_manifest(&self, py: Python<'_>) -> PyResult<(u64, u64)> {
        let table = self.table(py)?;
        let outcome = enter(py, async move { table.snapshot().await?.symlink_manifest().await })?;
        Ok((outcome.written, outcome.deleted))
    }

    fn transaction_version(&self, py: Python<'_>, app_id: String) -> PyResult<Option<i64>> {
        let snapshot = self.snapshot(py)?;
        enter(py, async move { snapshot.transaction_version(&app_id).await })
    }

    #[pyo3(signature = (version = None))]
    fn detail<'py>(&self, py: Python<'py>, version: Option<u64>) -> PyResult<Bound<'py, PyDict>> {
        let snapshot = match version {
            None => self.snapshot(py)?,
            Some(version) => {
                let table = self.table(py)?;
                enter(py, async move { table.snapshot_at(version).await })?
            }
        };
        let detail = enter(py, async move { snapshot.detail().await })?;
        let found = PyDict::new(py);
        found.set_item("id", detail.id)?;
        found.set_item("name", detail.name)?;
        found.set_item("description", detail.description)?;
        found.set_item("location", detail.location)?;
        found.set_item("version", detail.version)?;
        found.set_item("created_at", detail.created_at_ms)?;
        found.set_item("last_modified", detail.last_modified_ms)?;
        found.set_item("partition_columns", detail.partition_columns)?;
        found.set_item("clustering_columns", detail.clustering_columns)?;
        found.set_item("num_files", detail.num_files)?;
        found.set_item("size_bytes", detail.size_bytes)?;
        found.set_item("properties", detail.properties)?;
        let tags: Vec<_> = detail.tags.into_iter().map(|tag| (tag.name, tag.version, tag.created_at_ms)).collect();
        found.set_item("tags", tags)?;
        found.set_item("kept_versions", detail.kept_versions)?;
        found.set_item("protocol", json_to_py(py, &to_json(|| serde_json::to_value(&detail.protocol))?)?)?;
        Ok(found)
    }
}
