//! Credentials from a Python callable, which the store asks again before they expire.

use std::collections::HashMap;

use lakebed::{Error, ErrorKind, Result};
use lakebed_io::store::{CredentialSource, Credentials};
use pyo3::prelude::*;

/// A callable that returns options, and `expires_at` when they expire.
pub struct PyCredentials {
    source: Py<PyAny>,
}

impl PyCredentials {
    /// Of any callable without arguments.
    pub fn new(source: Py<PyAny>) -> Self {
        Self { source }
    }

    fn call(&self, py: Python<'_>) -> PyResult<Credentials> {
        let mut found: HashMap<String, Py<PyAny>> = self.source.bind(py).call0()?.extract()?;
        let expires_at_ms = match found.remove("expires_at") {
            Some(expiry) if !expiry.is_none(py) => {
                let seconds: f64 = expiry.bind(py).call_method0("timestamp")?.extract()?;
                Some((seconds * 1000.0) as i64)
            }
            _ => None,
        };
        let options = found.into_iter().map(|(key, value)| Ok((key, value.extract(py)?))).collect::<PyResult<_>>()?;
        Ok(Credentials { options, expires_at_ms })
    }
}

impl CredentialSource for PyCredentials {
    fn get(&self) -> Result<Credentials> {
        Python::attach(|py| {
            self.call(py).map_err(|error| {
                let kind = ErrorKind::Store { object: "credentials".to_owned(), retryable: false, not_found: false };
                Error::new(kind, "credentials: the function failed").with_source(error.to_string())
            })
        })
    }
}
