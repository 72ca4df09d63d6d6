//! The key of a file in the cache.

use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;

use object_store::path::Path;

use crate::store::Store;

/// Distinguishes two versions of a file without a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum FileKey {
    Local {
        path: PathBuf,
        size: u64,
        modified_ns: u128,
    },
    /// The address of the store's client. Two clients of one store do not share entries, and
    /// entries of two stores never mix.
    Remote {
        client: usize,
        path: Path,
        size: u64,
    },
}

impl FileKey {
    /// Returns the key of a local file. It returns `None` if the system has no modification time
    /// for it.
    pub(crate) fn local(path: &FilePath, file: &std::fs::Metadata) -> Option<Self> {
        let modified = file.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
        Some(Self::Local { path: path.to_owned(), size: file.len(), modified_ns: modified.as_nanos() })
    }

    /// Returns the key of an object of another store.
    pub(crate) fn remote(store: &Store, path: &Path, size: u64) -> Self {
        let client = Arc::as_ptr(store.object_store()).cast::<()>() as usize;
        Self::Remote { client, path: path.clone(), size }
    }
}
