//! From lakebed's error kinds to Python's exception classes, which `python/lakebed/errors.py` defines. What Python raised in the midst of an
//! operation passes through the core as the cause of an error ([`raised`]) and comes out as it went in.

use std::error::Error as _;

use lakebed::{Error, ErrorKind};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The exception for an error.
pub fn to_py(error: Error) -> PyErr {
    Python::attach(|py| match raised_by(&error) {
        Some(raised) => raised.clone_ref(py),
        None => raise(py, &error).unwrap_or_else(|fault| fault),
    })
}

/// What Python raised, for the way through the core.
pub fn raised(raised: PyErr) -> Error {
    Error::invalid_input("the data could not be read").with_source(raised)
}

fn raised_by(error: &Error) -> Option<&PyErr> {
    let mut cause = error.source();
    while let Some(found) = cause {
        if let Some(raised) = found.downcast_ref() {
            return Some(raised);
        }
        cause = found.source();
    }
    None
}

fn raise(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let details = PyDict::new(py);
    let class = match error.kind() {
        ErrorKind::TableNotFound => "TableNotFoundError",
        ErrorKind::TableExists => "TableExistsError",
        ErrorKind::VersionNotFound => "VersionNotFoundError",
        ErrorKind::UnsupportedFeature { features } => {
            details.set_item("features", features)?;
            "UnsupportedFeatureError"
        }
        ErrorKind::Corrupt { path } => {
            details.set_item("path", path)?;
            "CorruptTableError"
        }
        ErrorKind::SchemaMismatch => "SchemaMismatchError",
        ErrorKind::Predicate => "PredicateError",
        ErrorKind::Store { object, retryable, .. } => {
            details.set_item("object", object)?;
            details.set_item("retryable", retryable)?;
            "StoreError"
        }
        ErrorKind::ConstraintViolation => "ConstraintViolationError",
        ErrorKind::CommitConflict { kind, winner_version, retryable } => {
            details.set_item("kind", kind.name())?;
            details.set_item("winner_version", winner_version)?;
            details.set_item("retryable", retryable)?;
            "CommitConflictError"
        }
        ErrorKind::CommitUnknown { txn_id } => {
            details.set_item("txn_id", txn_id)?;
            "CommitUnknownError"
        }
        ErrorKind::ResourceExhausted => "ResourceExhaustedError",
        ErrorKind::InvalidInput => "InvalidInputError",
        ErrorKind::Internal => "LakebedError",
        other => return Ok(PyRuntimeError::new_err(format!("{error} ({other:?})"))),
    };
    let class = py.import("lakebed.errors")?.getattr(class)?;
    Ok(PyErr::from_value(class.call((error.to_string(),), Some(&details))?))
}
