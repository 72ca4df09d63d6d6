//! Deleting objects.

use futures::{StreamExt, stream};
use lakebed_core::error::Result;
use object_store::ObjectStore;
use object_store::path::Path;

use super::{Store, local};
use crate::at::{At, written};

impl Store {
    /// Deletes objects, many with one request where the store can do that. Those that are not there are fine. What cannot be deleted does
    /// not keep the others; the error is the first one.
    pub async fn delete(&self, paths: &[Path]) -> Result<()> {
        match paths.first() {
            None => Ok(()),
            Some(_) if self.is_local() => self.delete_files(paths).await,
            Some(first) if self.is_web() => Err(self.read_only(first)),
            Some(_) => self.delete_objects(paths).await,
        }
    }

    async fn delete_files(&self, paths: &[Path]) -> Result<()> {
        let files: Vec<_> = paths.iter().map(local::file_path).collect();
        let deleted = tokio::task::spawn_blocking(move || local::delete(&files)).await.at(self.url())?;
        deleted.map_err(|(at, error)| written(error, &self.describe(paths.get(at).unwrap_or(self.root()))))
    }

    async fn delete_objects(&self, paths: &[Path]) -> Result<()> {
        // The answer to a request for many does not always say which.
        let blamed = if let [only] = paths { only } else { self.root() };
        self.again(|| delete_all(self.object_store().as_ref(), paths)).await.map_err(|error| self.failed(&error, blamed))
    }
}

async fn delete_all(store: &dyn ObjectStore, paths: &[Path]) -> object_store::Result<()> {
    let mut deleted = store.delete_stream(stream::iter(paths.to_vec()).map(Ok).boxed());
    let mut failed = None;
    while let Some(deleted) = deleted.next().await {
        match deleted {
            Ok(_) | Err(object_store::Error::NotFound { .. }) => {}
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(()), Err)
}
