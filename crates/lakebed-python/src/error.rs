//! From lakebed's error kinds to Python's exception classes, which `python/lakebed/errors.py` defines.

use lakebed::{Error, ErrorKind};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The exception for an error.
pub fn to_py(error: Error) -> PyErr {
    Python::attach(|py| raise(py, &error).unwrap_or_else(|fault| fault))
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
