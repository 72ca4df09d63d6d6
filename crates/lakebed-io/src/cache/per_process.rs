//! One value for each process, also after a fork.
//!
//! A forked child has a copy of its parent's memory and none of its threads. If one of these
//! threads held a lock, the lock stays held in the child for ever. So each child locks a slot that
//! no process before it has locked.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The number of slots. After this many nested forks, a process has no value.
const SLOTS: usize = 16;

/// A value for each process. A child begins with its parent's value, unless a thread of the parent
/// used the value during the fork.
pub(super) struct PerProcess<T> {
    /// The id of the process that last used this memory, and its slot. It is 0 if no process has
    /// used it.
    owner: AtomicU64,
    slots: [Mutex<Option<T>>; SLOTS],
}

impl<T: Default> PerProcess<T> {
    pub(super) const fn new() -> Self {
        Self { owner: AtomicU64::new(0), slots: [const { Mutex::new(None) }; SLOTS] }
    }

    /// Calls `work` with the value of this process.
    pub(super) fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.with_of(std::process::id(), work)
    }

    fn with_of<R>(&self, process: u32, work: impl FnOnce(&mut T) -> R) -> Option<R> {
        let mut value = self.lock(process)?;
        Some(work(value.get_or_insert_default()))
    }

    fn lock(&self, process: u32) -> Option<MutexGuard<'_, Option<T>>> {
        let mut owner = self.owner.load(Ordering::Acquire);
        loop {
            let (known, slot) = ((owner >> 32) as u32, (owner & 0xFFFF_FFFF) as usize);
            if owner != 0 && known == process {
                return self.slots.get(slot).map(|slot| slot.lock().unwrap_or_else(PoisonError::into_inner));
            }
            let next = if owner == 0 { 0 } else { slot.saturating_add(1).min(SLOTS) };
            let own = (u64::from(process) << 32) | next as u64;
            match self.owner.compare_exchange(owner, own, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) if owner == 0 => owner = own,
                Ok(_) => {
                    self.inherit(slot, next);
                    owner = own;
                }
                Err(current) => owner = current,
            }
        }
    }

    /// Moves the parent's value to the child, unless a thread of the parent used it during the
    /// fork.
    fn inherit(&self, parent: usize, child: usize) {
        let (Some(parent), Some(child)) = (self.slots.get(parent), self.slots.get(child)) else { return };
        if let Ok(mut parent) = parent.try_lock()
            && let Ok(mut child) = child.try_lock()
            && child.is_none()
        {
            *child = parent.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds to the value of a process and returns the sum.
    fn add(values: &PerProcess<u32>, process: u32, number: u32) -> Option<u32> {
        values.with_of(process, |value| {
            *value += number;
            *value
        })
    }

    #[test]
    fn child_begins_with_value_of_parent() {
        let values = PerProcess::new();
        assert_eq!(add(&values, 7, 1), Some(1));
        assert_eq!(add(&values, 7, 1), Some(2));
        assert_eq!(add(&values, 8, 1), Some(3));
        assert_eq!(add(&values, 8, 1), Some(4));
    }

    #[test]
    fn child_never_waits_for_its_parent() {
        let values = PerProcess::new();
        assert_eq!(add(&values, 7, 1), Some(1));
        let held = values.lock(7).unwrap();
        assert_eq!(add(&values, 8, 1), Some(1));
        assert_eq!(add(&values, 8, 1), Some(2));
        drop(held);
    }

    #[test]
    fn process_beyond_the_slots_has_nothing() {
        let values = PerProcess::new();
        let all: Vec<_> = (1..=20).map(|process| add(&values, process, 1)).collect();
        assert_eq!(all.iter().flatten().count(), SLOTS);
        assert_eq!(all[SLOTS - 1..=SLOTS], [Some(SLOTS as u32), None]);
        assert_eq!(add(&values, 20, 1), None);
    }

    #[test]
    fn threads_of_one_process_wait() {
        let values = PerProcess::new();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| (0..1000).for_each(|_| assert!(add(&values, 7, 1).is_some())));
            }
        });
        assert_eq!(add(&values, 7, 0), Some(8000));
    }
}
