//! Schemas in PyCapsules, and errors of arrow about them.

use arrow::datatypes::{Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::ffi::FFI_ArrowSchema;
use lakebed::Error;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::error::to_py;

/// The schema of an object with `__arrow_c_schema__`.
pub fn schema_of(schema: &Bound<'_, PyAny>) -> PyResult<SchemaRef> {
    let capsule = schema.call_method0("__arrow_c_schema__")?.cast_into::<PyCapsule>()?;
    schema_in(&capsule)
}

/// The schema in a capsule.
pub fn schema_in(capsule: &Bound<'_, PyCapsule>) -> PyResult<SchemaRef> {
    let pointer = capsule.pointer_checked(Some(c"arrow_schema"))?.cast::<FFI_ArrowSchema>();
    // SAFETY: a capsule of this name holds a schema, and lives until this function ends.
    #[expect(unsafe_code, reason = "the Arrow PyCapsule interface hands pointers over")]
    let schema = Schema::try_from(unsafe { pointer.as_ref() }).map_err(|error| to_py(no_columns(&error)))?;
    Ok(schema.into())
}

/// The error for a schema that is not a list of named columns, or has a type that arrow does not know.
pub fn no_columns(error: &ArrowError) -> Error {
    Error::invalid_input(format!("the data does not have named columns, as a table or a batch has: {}", text_of(error)))
}

/// The text of an arrow error, without the name of its kind.
pub fn text_of(error: &ArrowError) -> String {
    match error {
        ArrowError::CDataInterface(text)
        | ArrowError::InvalidArgumentError(text)
        | ArrowError::SchemaError(text)
        | ArrowError::NotYetImplemented(text) => text.clone(),
        other => other.to_string(),
    }
}
