//! The windows of objects that were fetched lately.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use object_store::path::Path;

/// How many windows of an object are kept, and of how many objects: 16 MiB a store at most.
pub(in crate::store) const WINDOWS: usize = 4;
const OBJECTS: usize = 16;

/// The windows that were fetched lately.
#[derive(Default)]
pub(in crate::store) struct Windows(Mutex<Recent>);

#[derive(Default)]
struct Recent {
    objects: HashMap<Path, Arc<ObjectWindows>>,
    oldest_first: VecDeque<Path>,
}

/// Locked while a window is fetched, so that others who want the same wait for it instead of asking again.
pub(in crate::store) type ObjectWindows = tokio::sync::Mutex<VecDeque<(u64, Bytes)>>;

impl Windows {
    /// The windows of this object.
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
