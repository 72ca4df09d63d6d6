//! JSON values as Python objects, by Python's own parser: big numbers stay exact.

use lakebed::Error;
use pyo3::prelude::*;
use serde_json::Value;

use crate::error::to_py;

/// The Python object that `json.loads` makes of it.
pub fn json_to_py<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (value.to_string(),))
}

/// The same for anything that serialises.
pub fn to_json(value: impl Fn() -> serde_json::Result<Value>) -> PyResult<Value> {
    value().map_err(|error| to_py(Error::internal("a value that JSON cannot hold").with_source(error)))
}
