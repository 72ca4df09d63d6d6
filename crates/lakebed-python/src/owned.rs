//! What belongs to the process that made it: streams, connections, and whatever waits for threads that a fork leaves behind.
//!
//! A forked child must not wait for such a thing, and must not drop it either: the sockets and the runtime behind it are the parent's. So
//! the child is told that it is not the owner, and leaves the thing where it is.

use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use lakebed::{Error, Result};

/// Something of one process. Another one can look at it, but never drops it.
pub struct Owned<T> {
    process: u32,
    thing: ManuallyDrop<T>,
}

impl<T> Owned<T> {
    pub fn new(thing: T) -> Self {
        Self { process: std::process::id(), thing: ManuallyDrop::new(thing) }
    }

    /// Whether it is this process's.
    pub fn is_ours(&self) -> bool {
        self.process == std::process::id()
    }

    /// For use; `what` names it in the error that another process gets.
    pub fn get(&self, what: &str) -> Result<&T> {
        if self.is_ours() { Ok(&self.thing) } else { Err(self.elsewhere(what)) }
    }

    /// The same, to change it.
    pub fn get_mut(&mut self, what: &str) -> Result<&mut T> {
        if self.is_ours() { Ok(&mut self.thing) } else { Err(self.elsewhere(what)) }
    }

    /// For a look at what is in memory, in any process.
    pub fn look(&self) -> &T {
        &self.thing
    }

    fn elsewhere(&self, what: &str) -> Error {
        Error::invalid_input(format!(
            "{what} was opened by process {} before this process was forked from it, and only that process can go on with it: open it again \
             here",
            self.process
        ))
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        if self.is_ours() {
            // SAFETY: nobody uses it any more.
            #[expect(unsafe_code, reason = "what is another process's must not be dropped")]
            unsafe {
                ManuallyDrop::drop(&mut self.thing);
            }
        }
    }
}

/// A value of which each process makes its own when it needs one.
pub struct Remade<T> {
    /// Whose the value is; told without the lock, which another thread of the parent may have held when it forked.
    process: AtomicU32,
    value: Mutex<Owned<T>>,
}

impl<T: Clone> Remade<T> {
    pub fn new(value: T) -> Self {
        Self { process: AtomicU32::new(std::process::id()), value: Mutex::new(Owned::new(value)) }
    }

    /// This process's, if it has one.
    pub fn get(&self) -> Option<T> {
        if self.process.load(Ordering::Acquire) != std::process::id() {
            return None;
        }
        let value = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        value.is_ours().then(|| value.look().clone())
    }

    /// This process's from now on. Where a fork left the lock behind the value is not kept.
    pub fn set(&self, value: T) {
        if let Some(mut kept) = self.patiently() {
            *kept = Owned::new(value);
            self.process.store(std::process::id(), Ordering::Release);
        }
    }

    fn patiently(&self) -> Option<MutexGuard<'_, Owned<T>>> {
        /// Nobody needs it for longer than a copy takes.
        const ATTEMPTS: u32 = 100;
        for _ in 0..ATTEMPTS {
            match self.value.try_lock() {
                Ok(guard) => return Some(guard),
                Err(std::sync::TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
                Err(std::sync::TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(1)),
            }
        }
        None
    }
}
