//! Changes the definition of a table.

use arrow::datatypes::Field;
use arrow::ffi::FFI_ArrowSchema;
use lakebed::alter::{AlterChange, NewColumn};
use lakebed_core::schema::StructType;
use lakebed_core::schema::arrow::{schema_from_arrow, schema_with_notes};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

use crate::arrow::schema_capsule;
use crate::error::to_py;
use crate::input::no_columns;
use crate::json::json_to_py;
use crate::options::{Options, argument};
use crate::runtime::enter;
use crate::table::Table;

#[pymethods]
impl Table {
    /// Makes changes in one commit.
    fn alter(&self, py: Python<'_>, changes: &Bound<'_, PyAny>, options: &Bound<'_, PyDict>) -> PyResult<Table> {
        let changes: Vec<AlterChange> = argument("changes", changes)?;
        let alter = self.table(py)?.alter().options(Options::of(options).rest()?);
        let alter = changes.into_iter().fold(alter, |alter, change| alter.change(change));
        let outcome = enter(py, async move { alter.run().await })?;
        self.sibling(py, outcome.version, outcome.snapshot)
    }
}

/// Returns the type of an object with `__arrow_c_schema__`, in the form of schemas in the log.
#[pyfunction]
pub fn delta_type<'py>(py: Python<'py>, data_type: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let capsule = data_type.call_method0("__arrow_c_schema__")?.cast_into::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(c"arrow_schema"))?.cast::<FFI_ArrowSchema>();
    // SAFETY: a capsule of this name holds a schema, and lives until this function ends.
    #[expect(unsafe_code, reason = "the Arrow PyCapsule interface hands pointers over")]
    let field = Field::try_from(unsafe { pointer.as_ref() }).map_err(|error| to_py(no_columns(&error)))?;
    let schema = arrow::datatypes::Schema::new(vec![field.with_name("column").with_nullable(true)]);
    let schema = schema_from_arrow(&schema).map_err(to_py)?;
    let found = schema.fields.first().map(|field| field.data_type.to_json_value());
    json_to_py(py, &found.unwrap_or_default())
}

/// Returns the schema with one column, as a new table needs it.
#[pyfunction]
pub fn column_schema<'py>(py: Python<'py>, column: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyCapsule>> {
    let column: NewColumn = argument("column", column)?;
    let field = column.field(&column.name).map_err(|error| to_py(error.within(format!("column {}", column.name))))?;
    schema_capsule(py, &schema_with_notes(&StructType { fields: vec![field] }).map_err(to_py)?)
}
