//! What of a place may be shown and sent around.

use std::collections::HashMap;

use lakebed_io::store;
use pyo3::prelude::*;

use crate::error::to_py;

/// The storage options that are known to hold no secret.
#[pyfunction]
pub fn options_without_secrets(options: HashMap<String, String>) -> HashMap<String, String> {
    store::options_without_secrets(&options)
}

/// The URL or path of a table without keys and signatures, absolute.
#[pyfunction]
pub fn uri_without_secrets(uri: &str) -> PyResult<String> {
    store::url_without_secrets(uri).map_err(to_py)
}
