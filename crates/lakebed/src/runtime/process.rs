//! Values of which a process has one.

use std::sync::RwLock;

/// A value for the whole process. A forked child has none of its parent's threads, so their work
/// does not continue there. The child therefore gets a value of its own.
pub(crate) struct PerProcess<T>(RwLock<Option<(u32, T)>>);

impl<T: Clone> PerProcess<T> {
    pub(crate) const fn new() -> Self {
        Self(RwLock::new(None))
    }

    /// Returns the value of this process. Returns None while the value is being made, or if a fork
    /// left the lock held; the call must not wait for such a lock.
    pub(crate) fn get(&self, make: impl FnOnce() -> T) -> Option<T> {
        let process = std::process::id();
        if let Some((owner, value)) = self.0.try_read().ok()?.as_ref()
            && *owner == process
        {
            return Some(value.clone());
        }
        let mut slot = self.0.try_write().ok()?;
        match slot.as_ref() {
            Some((owner, value)) if *owner == process => Some(value.clone()),
            _ => {
                let fresh = make();
                *slot = Some((process, fresh.clone()));
                Some(fresh)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::PerProcess;

    #[test]
    fn a_value_is_made_once() {
        let value = PerProcess::new();
        assert_eq!(value.get(|| 1), Some(1));
        assert_eq!(value.get(|| 2), Some(1));
    }

    #[test]
    fn value_of_other_process_is_replaced() {
        let value = PerProcess::new();
        *value.0.write().unwrap() = Some((std::process::id() + 1, 1));
        assert_eq!(value.get(|| 2), Some(2));
        assert_eq!(value.get(|| 3), Some(2));
    }

    #[test]
    fn held_lock_is_not_waited_for() {
        let value = PerProcess::new();
        let held = value.0.write().unwrap();
        assert_eq!(value.get(|| 1), None);
        drop(held);
        assert_eq!(value.get(|| 1), Some(1));
    }
}
