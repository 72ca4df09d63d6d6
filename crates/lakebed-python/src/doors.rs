//! Counts the threads of lakebed that are inside the Python interpreter, and stops new ones from
//! entering.
//!
//! Once the interpreter has begun to end, a thread that needs it ends the whole process. So the
//! doors are closed before that, and the threads inside are waited for.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The doors of one process.
#[derive(Debug, Default)]
pub struct Doors {
    inside: AtomicUsize,
    are_closed: AtomicBool,
}

/// A thread that may need the interpreter. The interpreter waits for it before it ends.
pub struct Inside<'d>(&'d Doors);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.inside.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Doors {
    /// Returns `None` once the doors are closed, except if `even_if_closed` is set.
    pub fn go_in(&self, even_if_closed: bool) -> Option<Inside<'_>> {
        // The thread is counted before it checks the doors, so that the thread that closes them
        // sees it.
        self.inside.fetch_add(1, Ordering::SeqCst);
        let inside = Inside(self);
        (even_if_closed || !self.are_closed()).then_some(inside)
    }

    /// Stops threads from entering.
    pub fn close(&self) {
        self.are_closed.store(true, Ordering::SeqCst);
    }

    pub fn are_closed(&self) -> bool {
        self.are_closed.load(Ordering::SeqCst)
    }

    /// Returns whether no thread is inside.
    pub fn is_nobody_inside(&self) -> bool {
        self.inside.load(Ordering::SeqCst) == 0
    }
}
