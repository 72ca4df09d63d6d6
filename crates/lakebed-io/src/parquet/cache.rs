//! The metadata of files read lately. Data files never change, so an entry is right as long as it is the same object of the same store.
//! Of what others may replace it tells the edition, and whoever reads on finds out whether that is still there.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, Weak};

use object_store::ObjectStore;
use object_store::path::Path;
use parquet::file::metadata::ParquetMetaData;

use super::page_index::PageIndex;
use crate::store::{Edition, Store};

/// What is kept at most, over all stores of the process.
const CAPACITY_BYTES: usize = 64 << 20;

static CACHE: Mutex<Option<Cache>> = Mutex::new(None);

/// What tells two versions of an object apart without asking for it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Local {
        path: std::path::PathBuf,
        size: u64,
        modified_ns: u128,
    },
    /// The address of the store's client: two clients of one store do not share, two stores never meet.
    Remote {
        client: usize,
        path: Path,
        size: u64,
    },
}

#[derive(Default)]
struct Cache {
    entries: HashMap<Key, Entry>,
    /// Oldest use first.
    uses: BTreeMap<u64, Key>,
    clock: u64,
    size_bytes: usize,
}

struct Entry {
    known: Known,
    size_bytes: usize,
    used: u64,
    /// As long as this is here, no other client can get the address in the key.
    _client: Option<Weak<dyn ObjectStore>>,
}

/// What is here of a file.
#[derive(Clone)]
pub(super) struct Known {
    pub(super) metadata: Arc<ParquetMetaData>,
    /// Whether the index of pages is among it.
    pub(super) page_index: PageIndex,
    /// Of which object it is, if others may replace that.
    pub(super) edition: Option<Edition>,
}

pub(super) fn local_key(path: &std::path::Path, file: &std::fs::Metadata) -> Option<Key> {
    let modified = file.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(Key::Local { path: path.to_owned(), size: file.len(), modified_ns: modified.as_nanos() })
}

pub(super) fn remote_key(store: &Store, path: &Path, size: u64) -> Key {
    let client = Arc::as_ptr(store.object_store()).cast::<()>() as usize;
    Key::Remote { client, path: path.clone(), size }
}

/// What is here, perhaps without the page index.
pub(super) fn find(key: &Key) -> Option<Known> {
    // A lock that a fork left behind, or a panic, only costs the cache.
    let mut guard = CACHE.try_lock().ok()?;
    let cache = guard.as_mut()?;
    let entry = cache.entries.get_mut(key)?;
    cache.clock += 1;
    cache.uses.remove(&entry.used);
    entry.used = cache.clock;
    cache.uses.insert(cache.clock, key.clone());
    Some(entry.known.clone())
}

/// The object is not there any more.
pub(super) fn remove(key: &Key) {
    let Ok(mut guard) = CACHE.try_lock() else { return };
    if let Some(cache) = guard.as_mut() {
        cache.remove(key);
    }
}

pub(super) fn insert(key: Key, store: &Store, known: Known) {
    let Ok(mut guard) = CACHE.try_lock() else { return };
    let cache = guard.get_or_insert_with(Cache::default);
    let size_bytes = known.metadata.memory_size();
    if size_bytes > CAPACITY_BYTES / 4 {
        return;
    }
    cache.remove(&key);
    cache.clock += 1;
    let client = matches!(key, Key::Remote { .. }).then(|| Arc::downgrade(store.object_store()));
    let entry = Entry { known, size_bytes, used: cache.clock, _client: client };
    cache.uses.insert(cache.clock, key.clone());
    cache.entries.insert(key, entry);
    cache.size_bytes += size_bytes;
    while cache.size_bytes > CAPACITY_BYTES {
        let Some((_, oldest)) = cache.uses.pop_first() else { break };
        cache.remove(&oldest);
    }
}

impl Cache {
    fn remove(&mut self, key: &Key) {
        if let Some(entry) = self.entries.remove(key) {
            self.uses.remove(&entry.used);
            self.size_bytes -= entry.size_bytes;
        }
    }
}
