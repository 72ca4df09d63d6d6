//! The parts of recently read files that the process keeps in memory, within one budget of bytes.
//!
//! Data files never change, so an entry is valid as long as its key means the same object of the
//! same store. For an object that others may replace, the entry has the version of the object, and
//! a later read checks whether that version still exists.

mod file_key;
mod lru;
mod per_process;

use std::sync::{Arc, Weak};

use object_store::ObjectStore;
use parquet::file::metadata::ParquetMetaData;

pub(crate) use file_key::FileKey;
use lru::Lru;
use per_process::PerProcess;

use crate::store::{ObjectVersion, Store};

/// The budget of the process, over all stores.
const BUDGET_BYTES: usize = 64 << 20;

static CACHE: PerProcess<Cache> = PerProcess::new();

struct Cache(Lru<FileKey, Entry>);

impl Default for Cache {
    fn default() -> Self {
        Self(Lru::new(BUDGET_BYTES))
    }
}

#[derive(Clone)]
struct Entry {
    footer: CachedFooter,
    /// While this weak reference exists, no other client can get the address in the key.
    _client: Option<Weak<dyn ObjectStore>>,
}

/// The footer of a Parquet file.
#[derive(Clone)]
pub(crate) struct CachedFooter {
    pub(crate) metadata: Arc<ParquetMetaData>,
    /// Whether the metadata includes the page index.
    pub(crate) has_page_index: bool,
    /// The version of the object, if others may replace it.
    pub(crate) version: Option<ObjectVersion>,
}

/// Returns the footer of a file. It may lack the page index.
pub(crate) fn find_footer(key: &FileKey) -> Option<CachedFooter> {
    CACHE.with(|cache| cache.0.find(key)).flatten().map(|entry| entry.footer)
}

/// Stores the footer of a file of this store.
pub(crate) fn insert_footer(key: FileKey, store: &Store, footer: CachedFooter) {
    let size_bytes = footer.metadata.memory_size();
    let client = matches!(key, FileKey::Remote { .. }).then(|| Arc::downgrade(store.object_store()));
    CACHE.with(|cache| cache.0.insert(key, Entry { footer, _client: client }, size_bytes));
}

/// Removes the entry of an object that no longer exists.
pub(crate) fn remove(key: &FileKey) {
    CACHE.with(|cache| cache.0.remove(key));
}
