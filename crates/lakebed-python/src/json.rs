//! Converts JSON values to Python objects with Python's own parser, so that large numbers stay
//! exact.

use lakebed::Error;
use pyo3::prelude::*;
use serde_json::Value;

use crate::error::to_py;

/// Returns the Python object that `json.loads` returns for the value.
pub fn json_to_py<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (value.to_string(),))
}

/// Serialises any value as JSON.
pub fn to_json(value: impl Fn() -> serde_json::Result<Value>) -> PyResult<Value> {
    value().map_err(|error| to_py(Error::internal("a value that JSON cannot hold").with_source(error)))
}
