//! Values that belong to the process that created them: streams, connections, and everything that
//! waits for threads. These threads do not exist in a forked child.
//!
//! A forked child must not wait for such a thread, and must not drop the value either, because its
//! sockets and its runtime are the parent's. So a child that uses the value gets an error, and the
//! child leaks the value.

use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use lakebed::{Error, Result};

/// A value of one process. Another process can look at it, but never drops it.
pub struct Owned<T> {
    process: u32,
    thing: ManuallyDrop<T>,
}

impl<T> Owned<T> {
    pub fn new(thing: T) -> Self {
        Self { process: std::process::id(), thing: ManuallyDrop::new(thing) }
    }

    /// Returns whether the value belongs to this process.
    pub fn is_ours(&self) -> bool {
        self.process == std::process::id()
    }

    /// Returns the value for use. `what` names it in the error that another process gets.
    pub fn get(&self, what: &str) -> Result<&T> {
        if self.is_ours() { Ok(&self.thing) } else { Err(self.elsewhere(what)) }
    }

    /// Returns the value for changes, like [`get`](Self::get).
    pub fn get_mut(&mut self, what: &str) -> Result<&mut T> {
        if self.is_ours() { Ok(&mut self.thing) } else { Err(self.elsewhere(what)) }
    }

    /// Returns the value in any process, to look at data in memory.
    pub fn look(&self) -> &T {
        &self.thing
    }

    fn elsewhere(&self, what: &str) -> Error {
        Error::invalid_input(format!(
            "{what} was opened by process {}, from which this process was forked later, and only that process can use it: open \
             it again in this process",
            self.process
        ))
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        if self.is_ours() {
            // SAFETY: the value is not used again.
            #[expect(unsafe_code, reason = "what is another process's must not be dropped")]
            unsafe {
                ManuallyDrop::drop(&mut self.thing);
            }
        }
    }
}

/// A value that each process creates for itself when it needs one.
pub struct Remade<T> {
    /// The process that the value belongs to. It is read without the lock, because another thread
    /// of the parent may have held the lock during the fork.
    process: AtomicU32,
    value: Mutex<Owned<T>>,
}

impl<T: Clone> Remade<T> {
    pub fn new(value: T) -> Self {
        Self { process: AtomicU32::new(std::process::id()), value: Mutex::new(Owned::new(value)) }
    }

    /// Returns this process's value, if it has one.
    pub fn get(&self) -> Option<T> {
        if self.process.load(Ordering::Acquire) != std::process::id() {
            return None;
        }
        let value = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        value.is_ours().then(|| value.look().clone())
    }

    /// Sets this process's value. The value is not kept if a fork left the lock held.
    pub fn set(&self, value: T) {
        if let Some(mut kept) = self.patiently() {
            *kept = Owned::new(value);
            self.process.store(std::process::id(), Ordering::Release);
        }
    }

    fn patiently(&self) -> Option<MutexGuard<'_, Owned<T>>> {
        /// No thread holds the lock for longer than a copy takes.
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
