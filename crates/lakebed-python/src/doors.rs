//! Who is inside the interpreter on a thread of ours, and until when anybody may go in.
//!
//! Once the interpreter has begun to end, whoever needs it takes the whole process down. So before that the doors are closed, and who is
//! inside is waited for.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// One process's.
#[derive(Debug, Default)]
pub struct Doors {
    inside: AtomicUsize,
    are_closed: AtomicBool,
}

/// May need the interpreter, which waits for it before it ends.
pub struct Inside<'d>(&'d Doors);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.inside.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Doors {
    /// None once the doors are closed, but for those who may go in all the same.
    pub fn go_in(&self, even_if_closed: bool) -> Option<Inside<'_>> {
        // First in, then a look at the doors: whoever closes them sees those inside.
        self.inside.fetch_add(1, Ordering::SeqCst);
        let inside = Inside(self);
        (even_if_closed || !self.are_closed()).then_some(inside)
    }

    /// Lets nobody in any more.
    pub fn close(&self) {
        self.are_closed.store(true, Ordering::SeqCst);
    }

    pub fn are_closed(&self) -> bool {
        self.are_closed.load(Ordering::SeqCst)
    }

    /// Whether nobody is inside.
    pub fn is_nobody_inside(&self) -> bool {
        self.inside.load(Ordering::SeqCst) == 0
    }
}
