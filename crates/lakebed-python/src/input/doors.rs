//! Whose code runs in the interpreter on a thread of ours, and until when.
//!
//! What others made in Python may need the interpreter for its next batch, and when it is dropped. Once the interpreter has begun to end, this
//! takes the whole process down. So it is an [`OfPython`], and before the end [`close_input`] lets nobody in any more and waits for those inside.

use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use lakebed::{Error, Result};
use pyo3::prelude::*;

use crate::error::to_py;
use crate::runtime::doors;

/// The end waits so often, and so long each time, for what may never come, as a generator that waits for a message.
const WAITS: u32 = 2_500;
const WAIT: Duration = Duration::from_millis(2);

/// One process's.
#[derive(Debug, Default)]
pub struct Doors {
    inside: AtomicUsize,
    are_closed: AtomicBool,
}

/// May need the interpreter, which waits for it before it ends.
struct Inside(&'static Doors);

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.inside.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Something of Python's, on any thread. What the end of the interpreter finds is left where it is.
pub struct OfPython<T> {
    thing: ManuallyDrop<T>,
    doors: &'static Doors,
    /// Functions that run at exit may still write.
    is_made_at_exit: bool,
}

impl<T> OfPython<T> {
    pub fn new(thing: T) -> Result<Self> {
        let doors = doors()?;
        Ok(Self { thing: ManuallyDrop::new(thing), doors, is_made_at_exit: doors.are_closed.load(Ordering::SeqCst) })
    }

    /// Uses it, unless the interpreter is about to end.
    pub fn with<U>(&mut self, using: impl FnOnce(&mut T) -> Result<U>) -> Result<U> {
        let ending = || Error::invalid_input("the data could not be read: the Python process that makes it is ending");
        let _inside = self.go_in().ok_or_else(ending)?;
        using(&mut self.thing)
    }

    fn go_in(&self) -> Option<Inside> {
        self.doors.inside.fetch_add(1, Ordering::SeqCst);
        let inside = Inside(self.doors);
        (self.is_made_at_exit || !self.doors.are_closed.load(Ordering::SeqCst)).then_some(inside)
    }
}

impl<T> Drop for OfPython<T> {
    fn drop(&mut self) {
        if let Some(_inside) = self.go_in() {
            // SAFETY: nobody uses it any more.
            #[expect(unsafe_code, reason = "some things must not be dropped at the end")]
            unsafe {
                ManuallyDrop::drop(&mut self.thing);
            }
        }
    }
}

/// Lets nobody in any more and waits for those who are inside.
#[pyfunction]
pub fn close_input(py: Python<'_>) -> PyResult<()> {
    let doors = doors().map_err(to_py)?;
    doors.are_closed.store(true, Ordering::SeqCst);
    for _ in 0..WAITS {
        if doors.inside.load(Ordering::SeqCst) == 0 {
            break;
        }
        py.detach(|| std::thread::sleep(WAIT));
        py.check_signals()?;
    }
    Ok(())
}
