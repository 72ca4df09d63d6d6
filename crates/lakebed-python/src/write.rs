//! What writes: making tables and writing rows.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use lakebed::create::{CreateMode, NewTable};
use lakebed::transaction::{Application, Batch, CommitSettings};
use lakebed::write::{
    OnLossy, Part, PlannedWrite, SchemaMode, WriteMetrics, WriteMode, WriteOptions, WriteOutcome, WriteTask, WrittenFiles,
    write_files_at,
};
use lakebed::{Error, Result};
use lakebed_core::schema::arrow::schema_from_arrow;
use lakebed_io::parquet::write::Codec;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::background::after_commit;
use crate::credentials::PyCredentials;
use crate::error::to_py;
use crate::input::{schema_of, stream_of};
use crate::options::Options;
use crate::runtime::enter;
use crate::table::Table;

#[pymethods]
impl Table {
    /// Makes a table.
    #[staticmethod]
    fn create(py: Python<'_>, options: &Bound<'_, PyDict>, schema: &Bound<'_, PyAny>) -> PyResult<Self> {
        let options = Options::of(options);
        let place = Table::place_of(&options)?;
        let schema = schema_of(schema)?;
        let new = NewTable {
            schema: schema_from_arrow(&schema).map_err(to_py)?,
            partition_by: options.get("partition_by")?.unwrap_or_default(),
            cluster_by: options.get("cluster_by")?.unwrap_or_default(),
            properties: options.get("properties")?.unwrap_or_default(),
            constraints: options.get("constraints")?.unwrap_or_default(),
            name: options.get("name")?,
            description: options.get("description")?,
        };
        let mode = create_mode(options.get::<String>("mode")?.as_deref()).map_err(to_py)?;
        let settings = CommitSettings { user_metadata: options.get("user_metadata")?, ..CommitSettings::default() };
        options.done()?;
        let table = place.table().map_err(to_py)?;
        let making = table.clone();
        let snapshot = enter(py, async move { making.create(new).mode(mode).settings(settings).run().await })?;
        Ok(Table::new(place, table, snapshot))
    }

    /// Writes rows to a place.
    #[staticmethod]
    fn write(
        py: Python<'_>,
        options: &Bound<'_, PyDict>,
        data: &Bound<'_, PyAny>,
    ) -> PyResult<(Self, bool, HashMap<&'static str, u64>)> {
        let options = Options::of(options);
        let place = Table::place_of(&options)?;
        let table = place.table().map_err(to_py)?;
        let outcome = write_to(py, table.clone(), &options, data)?;
        after_commit(&table, outcome.snapshot.as_ref());
        let (is_committed, metrics) = (outcome.is_committed, metrics(&outcome.metrics));
        Ok((Table::at(place, table, outcome.version, outcome.snapshot), is_committed, metrics))
    }

    /// Writes rows to this table.
    fn write_rows(
        &self,
        py: Python<'_>,
        options: &Bound<'_, PyDict>,
        data: &Bound<'_, PyAny>,
    ) -> PyResult<(Self, bool, HashMap<&'static str, u64>)> {
        let outcome = write_to(py, self.table(py)?, &Options::of(options), data)?;
        after_commit(&self.table(py)?, outcome.snapshot.as_ref());
        let (is_committed, metrics) = (outcome.is_committed, metrics(&outcome.metrics));
        Ok((self.sibling(py, outcome.version, outcome.snapshot)?, is_committed, metrics))
    }

    /// Plans a write whose files other processes write: what they must know and what the caller should, or the table if there is nothing to do.
    /// Both None: only the number of rows can tell. Count them and plan again.
    #[staticmethod]
    fn plan_write<'py>(
        py: Python<'py>,
        options: &Bound<'py, PyDict>,
        schema: &str,
    ) -> PyResult<(Option<Bound<'py, PyDict>>, Option<Self>)> {
        let options = Options::of(options);
        let place = Table::place_of(&options)?;
        let table = place.table().map_err(to_py)?;
        let schema = lakebed_core::schema::parse(schema).map_err(|error| to_py(error.of_caller()))?;
        let options = write_options(&options)?;
        let planning = table.clone();
        match enter(py, async move { planning.plan_write(schema, options).await })? {
            PlannedWrite::Done(outcome) => Ok((None, Some(Table::at(place, table, outcome.version, outcome.snapshot)))),
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

    /// Commits what was written for a task. The options are those of the plan, of which `txn` may come only now.
    #[staticmethod]
    fn commit_write(
        py: Python<'_>,
        options: &Bound<'_, PyDict>,
        task: &[u8],
        written: Vec<Vec<u8>>,
    ) -> PyResult<(Self, bool, HashMap<&'static str, u64>)> {
        let options = Options::of(options);
        let place = Table::place_of(&options)?;
        let table = place.table().map_err(to_py)?;
        let mut task = WriteTask::from_bytes(task).map_err(to_py)?;
        if let Some(application) = write_options(&options)?.application {
            task = task.with_application(application);
        }
        let committing = table.clone();
        let outcome = enter(py, async move { committing.commit_write(task, files_of(&written)?).await })?;
        after_commit(&table, outcome.snapshot.as_ref());
        let (is_committed, metrics) = (outcome.is_committed, metrics(&outcome.metrics));
        Ok((Table::at(place, table, outcome.version, outcome.snapshot), is_committed, metrics))
    }

    /// Deletes what was written for a task that is not to be committed. The options are those of the plan.
    #[staticmethod]
    fn abort_write(py: Python<'_>, options: &Bound<'_, PyDict>, written: Vec<Vec<u8>>) -> PyResult<()> {
        let options = Options::of(options);
        let table = Table::place_of(&options)?.table().map_err(to_py)?;
        write_options(&options)?;
        enter(py, async move {
            table.abort_write(files_of(&written)?).await;
            Ok(())
        })
    }
}

/// Writes the rows of one part of a write and tells the files.
#[pyfunction]
#[pyo3(signature = (task, part, parts, data, storage_options, credentials))]
pub fn write_files<'py>(
    py: Python<'py>,
    task: &[u8],
    part: u64,
    parts: u64,
    data: &Bound<'py, PyAny>,
    storage_options: HashMap<String, String>,
    credentials: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let task = WriteTask::from_bytes(task).map_err(to_py)?;
    let credentials = credentials.map(|source| Arc::new(PyCredentials::new(source)) as _);
    let (data, part) = (stream_of(data, task.on_lossy())?, Part { number: part, of: parts });
    let written = enter(py, async move { write_files_at(&task, part, data, storage_options, credentials).await?.to_bytes() })?;
    Ok(PyBytes::new(py, &written))
}

fn files_of(written: &[Vec<u8>]) -> Result<Vec<WrittenFiles>> {
    written.iter().map(|bytes| WrittenFiles::from_bytes(bytes)).collect()
}

fn write_to(py: Python<'_>, table: lakebed::Table, options: &Options<'_, '_>, data: &Bound<'_, PyAny>) -> PyResult<WriteOutcome> {
    let options = write_options(options)?;
    let data = stream_of(data, options.on_lossy)?;
    enter(py, async move { table.write(data).options(options).run().await })
}

/// For ever is as long as nobody waits.
pub fn patience(seconds: f64) -> Result<Duration> {
    const LONGEST_S: f64 = 1e9;
    match seconds >= 0.0 {
        true => Ok(Duration::from_secs_f64(seconds.min(LONGEST_S))),
        false => Err(Error::invalid_input(format!("timeout={seconds}: it must be a number of seconds, 0 or more"))),
    }
}

/// The last options that are taken: no other may be left.
fn write_options(options: &Options<'_, '_>) -> PyResult<WriteOptions> {
    let text = |key: &str| options.get::<String>(key);
    let seconds: Option<f64> = options.get("timeout")?;
    let found = WriteOptions {
        mode: write_mode(text("mode")?.as_deref()).map_err(to_py)?,
        replace_where: text("where")?,
        dynamic_partitions: dynamic_partitions(text("partitions")?.as_deref()).map_err(to_py)?,
        schema: schema_mode(text("schema")?.as_deref()).map_err(to_py)?,
        partition_by: options.get("partition_by")?,
        cluster_by: options.get("cluster_by")?,
        properties: options.get("properties")?.unwrap_or_default(),
        application: application(options)?,
        user_metadata: text("user_metadata")?,
        target_file_size_bytes: options.get("target_file_size")?,
        codec: text("compression")?.map(|name| codec(&name)).transpose().map_err(to_py)?,
        row_group_rows: options.get("row_group_rows")?,
        bloom_columns: options.get("bloom_columns")?.unwrap_or_default(),
        on_lossy: on_lossy(text("on_lossy")?.as_deref()).map_err(to_py)?,
        patience: seconds.map(patience).transpose().map_err(to_py)?,
    };
    options.done()?;
    Ok(found)
}

/// A number of an application's own, and of a batch of a stream what is known of it.
pub fn application(options: &Options<'_, '_>) -> PyResult<Option<Application>> {
    let batch = options.get::<Bound<'_, PyDict>>("batch")?.as_ref().map(batch).transpose()?;
    match (options.get("txn")?, batch) {
        (Some((id, version)), batch) => Ok(Some(Application { id, version, batch })),
        (None, None) => Ok(None),
        (None, Some(_)) => Err(to_py(Error::invalid_input("a batch goes with txn, which tells its stream and its number"))),
    }
}

fn batch(known: &Bound<'_, PyDict>) -> PyResult<Batch> {
    let known = Options::of(known);
    let found = Batch {
        query: known.get("query")?,
        offsets: known.get("offsets")?,
        rows: known.get("rows")?,
        is_trusted: known.get("trusted")?.unwrap_or(false),
    };
    known.done()?;
    Ok(found)
}

fn metrics(metrics: &WriteMetrics) -> HashMap<&'static str, u64> {
    let known = metrics.deleted_rows.map(|rows| ("deleted_rows", rows));
    let all = [
        ("files", metrics.files),
        ("output_rows", metrics.output_rows),
        ("output_bytes", metrics.output_bytes),
        ("removed_files", metrics.removed_files),
        ("removed_bytes", metrics.removed_bytes),
        ("copied_rows", metrics.copied_rows),
        ("change_files", metrics.change_files),
        ("conflicts", metrics.conflicts),
    ];
    all.into_iter().chain(known).collect()
}

/// The value that a word stands for. Upper and lower case are the same; without a word it is the first of the list.
pub fn word<T: Copy>(what: &str, given: Option<&str>, words: &[(&str, T)]) -> Result<T> {
    let first = words.first().map(|(word, _)| *word).unwrap_or_default();
    let given = given.unwrap_or(first);
    words.iter().find(|(word, _)| word.eq_ignore_ascii_case(given)).map(|(_, value)| *value).ok_or_else(|| {
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        Error::invalid_input(format!("{what}={given:?}: it must be one of {}", known.join(", ")))
    })
}

fn write_mode(given: Option<&str>) -> Result<WriteMode> {
    let words = [
        ("append", WriteMode::Append),
        ("overwrite", WriteMode::Overwrite),
        ("error", WriteMode::Error),
        ("ignore", WriteMode::Ignore),
    ];
    word("mode", given, &words)
}

fn create_mode(given: Option<&str>) -> Result<CreateMode> {
    word("mode", given, &[("error", CreateMode::Error), ("ignore", CreateMode::Ignore), ("replace", CreateMode::Replace)])
}

fn schema_mode(given: Option<&str>) -> Result<SchemaMode> {
    word("schema", given, &[("enforce", SchemaMode::Enforce), ("merge", SchemaMode::Merge), ("overwrite", SchemaMode::Overwrite)])
}

fn dynamic_partitions(given: Option<&str>) -> Result<bool> {
    word("partitions", given, &[("static", false), ("dynamic", true)])
}

pub fn on_lossy(given: Option<&str>) -> Result<OnLossy> {
    word("on_lossy", given, &[("error", OnLossy::Error), ("truncate", OnLossy::Truncate)])
}

fn codec(name: &str) -> Result<Codec> {
    Codec::parse(name).ok_or_else(|| {
        Error::invalid_input(format!("compression={name:?}: it must be none, snappy, zstd, zstd(1) to zstd(22), gzip or lz4"))
    })
}
