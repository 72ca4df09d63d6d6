//! The location of a table as the caller gives it, and the part of it that may be shown and sent to
//! others.

use std::collections::HashMap;

use lakebed_io::store;
use pyo3::prelude::*;

use crate::error::to_py;
use crate::options::text;

/// Returns the storage options that are known to hold no secret.
#[pyfunction]
pub fn options_without_secrets(options: HashMap<String, String>) -> HashMap<String, String> {
    store::options_without_secrets(&options)
}

/// Returns the URL or absolute path of a table without keys and signatures.
#[pyfunction]
pub fn uri_without_secrets(uri: &Bound<'_, PyAny>) -> PyResult<String> {
    store::url_without_secrets(&text("uri", uri)?).map_err(to_py)
}

/// Returns a location as the core understands it: an absolute path, or the unchanged URL.
#[pyfunction]
pub fn place_of(uri: &Bound<'_, PyAny>) -> PyResult<String> {
    store::absolute_location(&text("uri", uri)?).map_err(to_py)
}

/// Returns whether a path means another location in another process. Such a path is relative or
/// begins with `~`.
#[pyfunction]
pub fn is_relative(uri: &Bound<'_, PyAny>) -> PyResult<bool> {
    text("uri", uri).map(|uri| store::is_relative(&uri))
}
