//! Guards objects of Python, which may need the interpreter for their next batch and when they are
//! dropped.

use std::mem::ManuallyDrop;
use std::time::Duration;

use lakebed::{Error, Result};
use pyo3::prelude::*;

use crate::doors::Doors;
use crate::error::to_py;
use crate::runtime::doors;

/// How often the end of the interpreter waits for an object that may never finish, such as a
/// generator that waits for a message.
const WAITS: u32 = 2_500;
const WAIT: Duration = Duration::from_millis(2);

/// An object of Python that can be on any thread. It is not dropped if it still exists when the
/// interpreter ends.
pub struct OfPython<T> {
    thing: ManuallyDrop<T>,
    doors: &'static Doors,
    /// Whether the object was made at exit. Functions that run at exit may still write.
    is_made_at_exit: bool,
}

impl<T> OfPython<T> {
    pub fn new(thing: T) -> Result<Self> {
        let doors = doors()?;
        Ok(Self { thing: ManuallyDrop::new(thing), doors, is_made_at_exit: doors.are_closed() })
    }

    /// Uses the object, unless the interpreter is about to end.
    pub fn with<U>(&mut self, using: impl FnOnce(&mut T) -> Result<U>) -> Result<U> {
        let ending = || Error::invalid_input("the data could not be read: the Python process that produces it is ending");
        let _inside = self.doors.go_in(self.is_made_at_exit).ok_or_else(ending)?;
        using(&mut self.thing)
    }
}

impl<T> Drop for OfPython<T> {
    fn drop(&mut self) {
        if let Some(_inside) = self.doors.go_in(self.is_made_at_exit) {
            // SAFETY: the object is not used again.
            #[expect(unsafe_code, reason = "some things must not be dropped at the end")]
            unsafe {
                ManuallyDrop::drop(&mut self.thing);
            }
        }
    }
}

/// Prepares the end of the interpreter: no object of Python is used from now on, and objects in use
/// are waited for.
#[pyfunction]
pub fn close_input(py: Python<'_>) -> PyResult<()> {
    let doors = doors().map_err(to_py)?;
    doors.close();
    for _ in 0..WAITS {
        if doors.is_nobody_inside() {
            break;
        }
        py.detach(|| std::thread::sleep(WAIT));
        py.check_signals()?;
    }
    Ok(())
}
