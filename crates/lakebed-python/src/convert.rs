//! Conversions of Parquet folders and Iceberg tables.

use lakebed::convert::ConvertOptions;
use lakebed_core::schema::arrow::{schema_from_arrow, schema_with_notes};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyString, PyTuple};
use pythonize::pythonize;

use crate::arrow::schema_capsule;
use crate::error::to_py;
use crate::file_progress::told_to;
use crate::input::schema_of;
use crate::options::Options;
use crate::runtime::enter;
use crate::table::Table;

/// The table if it exists now, the metrics, the schema, and the other fields of the result.
type Converted<'py> = (Option<Table>, Bound<'py, PyAny>, Bound<'py, PyCapsule>, Bound<'py, PyDict>);

#[pymethods]
impl Table {
    /// Converts the Parquet files or the Iceberg table at a location. The partition columns are an Arrow schema, or a
    /// string with a schema of Delta.
    #[staticmethod]
    #[pyo3(signature = (options, partition_schema = None))]
    fn convert<'py>(
        py: Python<'py>,
        options: &Bound<'py, PyDict>,
        partition_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Converted<'py>> {
        let options = Options::of(options);
        let location = Table::location_of(&options)?;
        let watcher = options.object("progress")?;
        let columns = match partition_schema {
            None => None,
            Some(text) if text.is_instance_of::<PyString>() => {
                let parsed = lakebed_core::schema::parse(&text.extract::<String>()?);
                Some(parsed.map_err(|error| to_py(error.of_caller().within("partition_schema")))?)
            }
            Some(schema) => {
                let schema = schema_of(schema)?;
                Some(schema_from_arrow(&schema).map_err(|error| to_py(error.of_caller().within("partition_schema")))?)
            }
        };
        let options: ConvertOptions = options.rest()?;
        let table = location.table().map_err(to_py)?;
        let converting = table.clone();
        let (sender, telling) = told_to(watcher);
        let outcome = enter(py, async move {
            let mut convert = converting.convert().options(options);
            if let Some(columns) = columns {
                convert = convert.partition_columns(columns);
            }
            if let Some(sender) = sender {
                convert = convert.watched_by(move |progress| _ = sender.send(progress));
            }
            convert.run().await
        });
        telling.finish(py);
        let outcome = outcome?;
        let metrics = pythonize(py, &outcome.metrics)?;
        let schema = schema_capsule(py, &schema_with_notes(&outcome.schema).map_err(to_py)?)?;
        let made = outcome.version.map(|version| Table::at(location, table, version, outcome.snapshot));
        let rest = PyDict::new(py);
        rest.set_item("committed", outcome.committed)?;
        rest.set_item("source_format", outcome.source_format.map(|format| format.to_string()))?;
        rest.set_item("partition_columns", PyTuple::new(py, outcome.partition_columns)?)?;
        rest.set_item("found_by_id", PyTuple::new(py, outcome.found_by_id)?)?;
        rest.set_item("files", PyTuple::new(py, outcome.files)?)?;
        Ok((made, metrics, schema, rest))
    }
}
