//! Options as Python hands them over: one dictionary for each operation.
//!
//! What is under a key is taken with [`Options::get`]; [`Options::done`] refuses keys that nobody took, so that a mistake on either side of
//! the extension does not vanish.

use std::cell::RefCell;
use std::collections::BTreeSet;

use lakebed::Error;
use pyo3::exceptions::{PyTypeError, PyUnicodeEncodeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::to_py;

/// The options of one operation.
pub struct Options<'a, 'py> {
    given: &'a Bound<'py, PyDict>,
    taken: RefCell<BTreeSet<String>>,
}

impl<'a, 'py> Options<'a, 'py> {
    /// Those of a dictionary, of which none is taken yet.
    pub fn of(given: &'a Bound<'py, PyDict>) -> Self {
        Self { given, taken: RefCell::default() }
    }

    /// The value under a key, if it is there and not None.
    pub fn get<T>(&self, key: &str) -> PyResult<Option<T>>
    where
        T: for<'v> FromPyObject<'v, 'py, Error: Into<PyErr>>,
    {
        self.taken.borrow_mut().insert(key.to_owned());
        match self.given.get_item(key)? {
            Some(value) if !value.is_none() => {
                let found: PyResult<T> = value.extract().map_err(Into::into);
                found.map(Some).map_err(|error| named(self.given.py(), key, &error))
            }
            _ => Ok(None),
        }
    }

    /// Refuses what nobody took.
    pub fn done(&self) -> PyResult<()> {
        let taken = self.taken.borrow();
        for key in self.given.keys() {
            let key: String = key.extract()?;
            if !taken.contains(&key) {
                return Err(PyTypeError::new_err(format!("{key} is no option of this operation")));
            }
        }
        Ok(())
    }
}

/// An argument that is text, with its name for messages.
pub fn text(name: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    value.extract().map_err(|error| named(value.py(), name, &error))
}

/// The same error with the name of the option. Text that Rust cannot hold is one more thing that makes no sense: Python's own error for it
/// takes more than a message.
fn named(py: Python<'_>, key: &str, error: &PyErr) -> PyErr {
    if error.is_instance_of::<PyUnicodeEncodeError>(py) {
        return to_py(Error::invalid_input(format!("{key}: it holds bytes that are not UTF-8 ({})", error.value(py))));
    }
    let message = format!("{key}: {}", error.value(py));
    PyErr::from_type(error.get_type(py), message)
}
