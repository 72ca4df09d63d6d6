//! Where a caller says that a table is, and what of that may be shown and sent around.

use std::collections::HashMap;

use lakebed_io::store;
use pyo3::prelude::*;

use crate::error::to_py;
use crate::options::text;

/// The storage options that are known to hold no secret.
#[pyfunction]
pub fn options_without_secrets(options: HashMap<String, String>) -> HashMap<String, String> {
    store::options_without_secrets(&options)
}

/// The URL or path of a table without keys and signatures, absolute.
#[pyfunction]
pub fn uri_without_secrets(uri: &Bound<'_, PyAny>) -> PyResult<String> {
    store::url_without_secrets(&text("uri", uri)?).map_err(to_py)
}

/// Where a table is as the core understands it: a whole path, or the URL as it is.
#[pyfunction]
pub fn place_of(uri: &Bound<'_, PyAny>) -> PyResult<String> {
    store::absolute_location(&text("uri", uri)?).map_err(to_py)
}

/// Whether a path means another place in another process: it begins in the working folder, or with `~`.
#[pyfunction]
pub fn is_relative(uri: &Bound<'_, PyAny>) -> PyResult<bool> {
    text("uri", uri).map(|uri| store::is_relative(&uri))
}
