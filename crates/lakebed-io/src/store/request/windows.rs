//! The recently fetched windows of objects.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use object_store::path::Path;

/// The number of windows that are kept of an object, and the number of objects. Together they hold
/// at most 16 MiB for each store.
pub(in crate::store) const WINDOWS: usize = 4;
const OBJECTS: usize = 16;

/// The recently fetched windows.
#[derive(Default)]
pub(in crate::store) struct Windows(Mutex<Recent>);

#[derive(Default)]
struct Recent {
    objects: HashMap<Path, Arc<ObjectWindows>>,
    oldest_first: VecDeque<Path>,
}

/// The windows of an object. The lock is held while a window is fetched, so that other tasks that
/// need the same window wait for it.
pub(in crate::store) type ObjectWindows = tokio::sync::Mutex<VecDeque<(u64, Bytes)>>;

impl Windows {
    /// Returns the windows of this object.
    pub(in crate::store) fn of(&self, path: &Path) -> Arc<ObjectWindows> {
        let mut recent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(windows) = recent.objects.get(path) {
            return Arc::clone(windows);
        }
        if recent.objects.len() >= OBJECTS
            && let Some(oldest) = recent.oldest_first.pop_front()
        {
            recent.objects.remove(&oldest);
        }
        recent.oldest_first.push_back(path.clone());
        Arc::clone(recent.objects.entry(path.clone()).or_default())
    }
}

#[cfg(test)]
impl Windows {
    pub(in crate::store) fn objects(&self) -> usize {
        self.0.lock().unwrap().objects.len()
    }
}
