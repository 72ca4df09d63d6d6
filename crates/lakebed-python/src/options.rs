//! Options that Python passes as one dictionary for each operation.
//!
//! lakebed has one struct for the options of a verb, and [`Options::rest`] reads it. Some options
//! belong to another struct, such as those of the location: [`Options::part`] reads them before. Only
//! values that stay Python objects are read one by one. An unknown key is refused, so a misspelled
//! option is an error.

use std::cell::RefCell;
use std::collections::BTreeSet;

use lakebed::Error;
use pyo3::exceptions::{PyException, PyTypeError, PyUnicodeEncodeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pythonize::{Depythonizer, PythonizeError};
use serde::de::{DeserializeOwned, Deserializer, Error as _, Visitor};

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

    /// Returns a value that stays a Python object, if it is present and not None.
    pub fn object(&self, key: &str) -> PyResult<Option<Py<PyAny>>> {
        self.taken.borrow_mut().insert(key.to_owned());
        Ok(self.given.get_item(key)?.filter(|value| !value.is_none()).map(Bound::unbind))
    }

    /// Reads the options that are fields of a struct, and leaves the others for [`Self::rest`].
    pub fn part<T: DeserializeOwned>(&self) -> PyResult<T> {
        read(self.given.py(), KnownFields(self))
    }

    /// Reads all options that are left as one struct. None means that an option is not given.
    pub fn rest<T: DeserializeOwned>(&self) -> PyResult<T> {
        let rest = self.left(|_| true)?;
        read(self.given.py(), &mut Depythonizer::from_object(&rest))
    }

    /// Returns the options that are left, not None and among those that are wanted.
    fn left(&self, is_wanted: impl Fn(&str) -> bool) -> PyResult<Bound<'py, PyDict>> {
        let (left, taken) = (PyDict::new(self.given.py()), self.taken.borrow());
        for (key, value) in self.given {
            let name: &str = key.extract()?;
            if !value.is_none() && !taken.contains(name) && is_wanted(name) {
                left.set_item(key, value)?;
            }
        }
        Ok(left)
    }
}

/// Gives a struct only the options that it has fields for.
struct KnownFields<'o, 'a, 'py>(&'o Options<'a, 'py>);

impl<'de> Deserializer<'de> for KnownFields<'_, '_, '_> {
    type Error = PythonizeError;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, PythonizeError> {
        let own = self.0.left(|key| fields.contains(&key))?;
        self.0.taken.borrow_mut().extend(fields.iter().map(|&field| field.to_owned()));
        Depythonizer::from_object(&own).deserialize_struct(name, fields, visitor)
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, PythonizeError> {
        Err(PythonizeError::custom("options are a struct"))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// Reads an argument. `name` is its name in messages.
pub fn argument<T: DeserializeOwned>(name: &str, value: &Bound<'_, PyAny>) -> PyResult<T> {
    T::deserialize(&mut Depythonizer::from_object(value)).map_err(|error| unfit(value.py(), name, &error.into()))
}

fn read<'de, T: DeserializeOwned, D: Deserializer<'de, Error = PythonizeError>>(py: Python<'_>, options: D) -> PyResult<T> {
    serde_path_to_error::deserialize(options).map_err(|error| {
        let (key, error) = (error.path().to_string(), PyErr::from(error.into_inner()));
        unfit(py, &key, &error)
    })
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
