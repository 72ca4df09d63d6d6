//! Lists all objects below a folder, in as few requests as the store allows.

use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use lakebed_core::error::Result;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore};

use crate::store::Store;

impl Store {
    /// Returns the objects below a folder and its subfolders, in any order. A folder that does not
    /// exist is empty. The caller must not use it for the local disk or a web server, where a
    /// request for each object is as good.
    pub fn list_tree(&self, folder: &Path) -> BoxStream<'static, Result<ObjectMeta>> {
        let (store, folder) = (self.clone(), folder.clone());
        let failed = store.clone();
        let place = folder.clone();
        store.object_store().list(Some(&folder)).map_err(move |error| failed.failed(&error, &place)).boxed()
    }
}
