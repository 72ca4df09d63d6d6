//! What the process keeps in memory of the files that it read lately, within one budget of bytes.
//!
//! Data files never change, so an entry is right as long as it is the same object of the same store. Of what others may replace it tells the
//! version of the object, and whoever reads on finds out whether that is still there.

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

/// What is kept at most, over all stores of the process.
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
    /// As long as this is here, no other client can get the address in the key.
    _client: Option<Weak<dyn ObjectStore>>,
}

/// What is here of the footer of a Parquet file.
#[derive(Clone)]
pub(crate) struct CachedFooter {
    pub(crate) metadata: Arc<ParquetMetaData>,
    /// Whether the index of pages is among the metadata.
    pub(crate) has_page_index: bool,
    /// Of which object it is, if others may replace that.
    pub(crate) version: Option<ObjectVersion>,
}

/// The footer of a file, perhaps without the page index.
pub(crate) fn find_footer(key: &FileKey) -> Option<CachedFooter> {
    CACHE.with(|cache| cache.0.find(key)).flatten().map(|entry| entry.footer)
}

/// Keeps the footer of a file of this store.
pub(crate) fn insert_footer(key: FileKey, store: &Store, footer: CachedFooter) {
    let size_bytes = footer.metadata.memory_size();
    let client = matches!(key, FileKey::Remote { .. }).then(|| Arc::downgrade(store.object_store()));
    CACHE.with(|cache| cache.0.insert(key, Entry { footer, _client: client }, size_bytes));
}

/// Forgets an object that is not there any more.
pub(crate) fn remove(key: &FileKey) {
    CACHE.with(|cache| cache.0.remove(key));
}
