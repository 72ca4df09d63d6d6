//! Whether files exist, and how large they are: from one listing, or by a request for each file,
//! whichever takes fewer requests.

use std::collections::HashMap;

use futures::{StreamExt, TryStreamExt, stream};
use lakebed_core::log::files::FileKey;
use lakebed_core::path::FilePath;
use lakebed_io::store::Store;
use object_store::path::Path;

use crate::{Error, Result};

/// The number of objects that one request of a listing returns.
const PAGE: u64 = 1000;
/// Up to this number of files a request for each is as fast as a listing.
const FEW: u64 = 32;
/// The number of files that are requested at a time.
const AT_ONCE: usize = 64;
/// The most objects of which a listing keeps the sizes, 32 bytes for each. Other files are requested
/// one by one.
const MOST_LISTED: u64 = 4_000_000;

/// The sizes of the files below a table, as far as they are known.
pub(super) struct Existence {
    store: Store,
    /// The sizes by hashes of paths.
    listed: HashMap<FileKey, u64>,
}

impl Existence {
    /// Prepares to look for this number of files. Lists the table if that takes fewer requests.
    pub(super) async fn prepare(store: &Store, files: u64) -> Result<Self> {
        let mut found = Self { store: store.clone(), listed: HashMap::new() };
        let is_disk = store.is_local();
        if !is_disk && !store.is_web() && files > FEW {
            found.list(files.saturating_mul(PAGE).min(MOST_LISTED)).await?;
        }
        Ok(found)
    }

    /// Lists at most this number of objects. A folder may have many more objects than the table has
    /// files.
    async fn list(&mut self, most: u64) -> Result<()> {
        let mut objects = self.store.list_tree(self.store.root());
        while let Some(object) = objects.try_next().await? {
            self.listed.insert(key_of(&object.location), object.size);
            if self.listed.len() as u64 >= most {
                break;
            }
        }
        Ok(())
    }

    /// Returns the sizes of these files, in their order. The size of a file that does not exist is
    /// `None`. A path that is not valid has no size either; the level `state` reports it.
    pub(super) async fn sizes(&self, paths: Vec<FilePath>) -> Result<Vec<Option<u64>>> {
        let sizes = paths.into_iter().map(|path| async move { self.size(&path).await });
        stream::iter(sizes).buffered(AT_ONCE).try_collect().await
    }

    async fn size(&self, path: &FilePath) -> Result<Option<u64>, Error> {
        let (store, object) = self.store.resolve(path)?;
        if let Some(size) = self.listed.get(&key_of(&object)).filter(|_| store.url() == self.store.url()) {
            return Ok(Some(*size));
        }
        // The file may have been written while the listing ran, or the listing ended early.
        match store.head(&object).await {
            Ok(found) => Ok(Some(found.size)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn key_of(path: &Path) -> FileKey {
    FileKey::new(path.as_ref(), None)
}
