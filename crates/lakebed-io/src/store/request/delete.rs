//! Deletes objects.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use futures::{StreamExt, stream};
use lakebed_core::error::{Error, Result};
use object_store::ObjectStore;
use object_store::path::Path;

use crate::at::{At, written};
use crate::store::Store;
use crate::store::local::file_path::file_path;
use crate::store::local::files;

/// The result of deleting several objects.
#[derive(Debug)]
pub struct Deletion {
    /// The result for each object, in the order of the request.
    pub fates: Vec<Fate>,
    /// The error of the first object that was not deleted.
    pub error: Option<Error>,
}

/// The result of deleting an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The object was deleted. Some stores report this also for objects that never existed.
    Gone,
    /// The object did not exist.
    Missing,
    /// The object may still exist.
    Stays,
}

impl Store {
    /// Deletes objects, many in one request if the store supports that. Missing objects are no
    /// error. If an object cannot be deleted, the others are deleted anyway, and the first error is
    /// returned.
    pub async fn delete(&self, paths: &[Path]) -> Result<()> {
        self.delete_each(paths).await?.error.map_or(Ok(()), Err)
    }

    /// Deletes objects like [`Store::delete`], and returns the result for each object.
    pub async fn delete_each(&self, paths: &[Path]) -> Result<Deletion> {
        match paths.first() {
            None => Ok(Deletion { fates: Vec::new(), error: None }),
            Some(_) if self.is_local() => self.delete_files(paths).await,
            Some(first) if self.is_web() => Err(self.read_only(first)),
            Some(_) => Ok(self.delete_objects(paths).await),
        }
    }

    async fn delete_files(&self, paths: &[Path]) -> Result<Deletion> {
        let files: Vec<_> = paths.iter().map(file_path).collect();
        let within = self.within();
        let deleted = tokio::task::spawn_blocking(move || files::delete(&files, &within)).await.at(self.url())?;
        let (mut fates, mut failed) = (Vec::with_capacity(paths.len()), None);
        for (path, deleted) in paths.iter().zip(deleted) {
            fates.push(match deleted {
                Ok(true) => Fate::Gone,
                Ok(false) => Fate::Missing,
                Err(error) => {
                    failed.get_or_insert_with(|| written(error, &self.describe(path)));
                    Fate::Stays
                }
            });
        }
        Ok(Deletion { fates, error: failed })
    }

    async fn delete_objects(&self, paths: &[Path]) -> Deletion {
        let settled = Settled::new(paths);
        // A retry finds deleted objects missing, or deletes them again.
        let deleted = self.retry(|| delete_all(self.object_store().as_ref(), paths, &settled)).await;
        // The reply to a request for many objects does not always name the object that failed.
        let blamed = if let [only] = paths { only } else { self.root() };
        let fates = settled.fates(deleted.is_ok());
        Deletion { fates, error: deleted.err().map(|error| self.failed(&error, blamed)) }
    }
}

/// The objects of a deletion, and the results so far.
struct Settled<'a> {
    paths: &'a [Path],
    found: Mutex<HashMap<String, Fate>>,
}

impl<'a> Settled<'a> {
    fn new(paths: &'a [Path]) -> Self {
        Self { paths, found: Mutex::default() }
    }

    fn note(&self, path: String, fate: Fate) {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).entry(path).or_insert(fate);
    }

    /// Returns the result for each object. If no request failed, an object without a result did not
    /// exist.
    fn fates(self, is_done: bool) -> Vec<Fate> {
        let found = self.found.into_inner().unwrap_or_else(PoisonError::into_inner);
        let unsaid = if is_done { Fate::Missing } else { Fate::Stays };
        self.paths.iter().map(|path| found.get(path.as_ref()).copied().unwrap_or(unsaid)).collect()
    }
}

async fn delete_all(store: &dyn ObjectStore, paths: &[Path], settled: &Settled<'_>) -> object_store::Result<()> {
    let mut deleted = store.delete_stream(stream::iter(paths.to_vec()).map(Ok).boxed());
    let mut failed = None;
    while let Some(deleted) = deleted.next().await {
        match deleted {
            Ok(path) => settled.note(path.into(), Fate::Gone),
            Err(object_store::Error::NotFound { path, .. }) => settled.note(path, Fate::Missing),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(()), Err)
}
