//! Conversions of Parquet folders and Iceberg tables.

use lakebed::convert::ConvertOptions;
use lakebed_core::schema::arrow::{schema_from_arrow, schema_with_notes};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyString};
use pythonize::pythonize;

use crate::arrow::schema_capsule;
use crate::error::to_py;
use crate::file_progress::told_to;
use crate::input::schema_of;
use crate::options::Options;
use crate::runtime::enter;
use crate::table::Table;

/// The table if it exists now, the format of the source if it was converted, whether the table was
/// made, the metrics, the schema, the partition columns and the files.
type Converted<'py> = (Option<Table>, Option<String>, bool, Bound<'py, PyAny>, Bound<'py, PyCapsule>, Vec<String>, Vec<String>);

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
        let format = outcome.source_format.map(|format| format.to_string());
        Ok((made, format, outcome.committed, metrics, schema, outcome.partition_columns, outcome.files))
    }
}
