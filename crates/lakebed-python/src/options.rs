//! Options that Python passes as one dictionary for each operation.
//!
//! lakebed has one struct for the options of a verb. [`Options::rest`] reads this struct, and
//! [`Options::get`] reads a single value. [`Options::rest`] and [`Options::done`] refuse unknown keys, so
//! a misspelled option is an error.

use std::cell::RefCell;
use std::collections::BTreeSet;

use lakebed::Error;
use pyo3::exceptions::{PyException, PyTypeError, PyUnicodeEncodeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pythonize::Depythonizer;
use serde::de::DeserializeOwned;

use crate::error::to_py;

/// The options of one operation.
pub struct Options<'a, 'py> {
    given: &'a Bound<'py, PyDict>,
    taken: RefCell<BTreeSet<String>>,
}

impl<'a, 'py> Options<'a, 'py> {
    /// Wraps a dictionary of which no option has been read.
    pub fn of(given: &'a Bound<'py, PyDict>) -> Self {
        Self { given, taken: RefCell::default() }
    }

    /// Returns the value of a key, if it is present and not None.
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

    /// Reads all options that [`Self::get`] did not read as one struct. None means that an option is not given.
    pub fn rest<T: DeserializeOwned>(&self) -> PyResult<T> {
        let (py, taken) = (self.given.py(), self.taken.borrow());
        let rest = PyDict::new(py);
        for (key, value) in self.given {
            if !value.is_none() && !taken.contains(key.extract::<&str>()?) {
                rest.set_item(key, value)?;
            }
        }
        serde_path_to_error::deserialize(&mut Depythonizer::from_object(&rest)).map_err(|error| {
            let (key, error) = (error.path().to_string(), PyErr::from(error.into_inner()));
            unfit(py, &key, &error)
        })
    }

    /// Refuses options that have not been read.
    pub fn done(&self) -> PyResult<()> {
        let taken = self.taken.borrow();
        for key in self.given.keys() {
            let key: String = key.extract()?;
            if !taken.contains(&key) {
                return Err(PyTypeError::new_err(format!("{key} is not an option of this operation")));
            }
        }
        Ok(())
    }
}

/// Reads an argument that must be a string. `name` is its name in messages.
pub fn text(name: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    value.extract().map_err(|error| named(value.py(), name, &error))
}

/// The error for an option that no field takes, or that does not fit its field.
fn unfit(py: Python<'_>, key: &str, error: &PyErr) -> PyErr {
    // serde's errors arrive as plain exceptions. Python's own errors have a class that describes
    // the fault.
    if !error.get_type(py).is(py.get_type::<PyException>()) {
        return named(py, key, error);
    }
    let message = error.value(py).to_string();
    match message.strip_prefix("unknown field `").and_then(|rest| rest.split_once('`')) {
        Some((unknown, _)) => PyTypeError::new_err(format!("{unknown} is not an option of this operation")),
        None => to_py(Error::invalid_input(format!("{key}: {message}"))),
    }
}

/// Returns the same error with the name of the option. A string that Rust cannot hold is an invalid
/// value, too. It is handled here because Python's own error for it takes more than a message.
fn named(py: Python<'_>, key: &str, error: &PyErr) -> PyErr {
    if error.is_instance_of::<PyUnicodeEncodeError>(py) {
        return to_py(Error::invalid_input(format!("{key}: it holds bytes that are not UTF-8 ({})", error.value(py))));
    }
    let message = format!("{key}: {}", error.value(py));
    PyErr::from_type(error.get_type(py), message)
}
