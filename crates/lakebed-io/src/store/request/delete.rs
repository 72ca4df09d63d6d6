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
pub struct DeletedObjects {
    /// The result for each object, in the order of the request.
    pub outcomes: Vec<DeleteOutcome>,
    /// The error of the first object that was not deleted.
    pub error: Option<Error>,
}

/// The result of deleting an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeleteOutcome {
    /// The object was deleted. Some stores report this also for objects that never existed.
    Deleted,
    /// The object did not exist.
    Missing,
    /// The object may still exist.
    Failed,
}

impl Store {
    /// Deletes objects, many in one request if the store supports that. Missing objects are no
    /// error. If an object cannot be deleted, the others are deleted anyway, and the first error is
    /// returned.
    pub async fn delete(&self, paths: &[Path]) -> Result<()> {
        self.delete_each(paths).await?.error.map_or(Ok(()), Err)
    }

    /// Deletes objects like [`Store::delete`], and returns the result for each object.
    pub async fn delete_each(&self, paths: &[Path]) -> Result<DeletedObjects> {
        match paths.first() {
            None => Ok(DeletedObjects { outcomes: Vec::new(), error: None }),
            Some(_) if self.is_local() => self.delete_files(paths).await,
            Some(first) if self.is_web() => Err(self.read_only(first)),
            Some(_) => Ok(self.delete_objects(paths).await),
        }
    }

    async fn delete_files(&self, paths: &[Path]) -> Result<DeletedObjects> {
        let files: Vec<_> = paths.iter().map(file_path).collect();
        let within = self.within();
        let deleted = tokio::task::spawn_blocking(move || files::delete(&files, &within)).await.at(self.url())?;
        let (mut outcomes, mut failed) = (Vec::with_capacity(paths.len()), None);
        for (path, deleted) in paths.iter().zip(deleted) {
            outcomes.push(match deleted {
                Ok(true) => DeleteOutcome::Deleted,
                Ok(false) => DeleteOutcome::Missing,
                Err(error) => {
                    failed.get_or_insert_with(|| written(error, &self.describe(path)));
                    DeleteOutcome::Failed
                }
            });
        }
        Ok(DeletedObjects { outcomes, error: failed })
    }

    async fn delete_objects(&self, paths: &[Path]) -> DeletedObjects {
        let results = DeleteResults::new(paths);
        // A retry finds deleted objects missing, or deletes them again.
        let deleted = self.retry(|| delete_all(self.object_store().as_ref(), paths, &results)).await;
        // The reply to a request for many objects does not always name the object that failed.
        let blamed = if let [only] = paths { only } else { self.root() };
        let outcomes = results.outcomes(deleted.is_ok());
        DeletedObjects { outcomes, error: deleted.err().map(|error| self.failed(&error, blamed)) }
    }
}

/// The objects of a deletion, and the results so far.
struct DeleteResults<'a> {
    paths: &'a [Path],
    found: Mutex<HashMap<String, DeleteOutcome>>,
}

impl<'a> DeleteResults<'a> {
    fn new(paths: &'a [Path]) -> Self {
        Self { paths, found: Mutex::default() }
    }

    fn note(&self, path: String, outcome: DeleteOutcome) {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).entry(path).or_insert(outcome);
    }

    /// Returns the result for each object. If no request failed, an object without a result did not
    /// exist.
    fn outcomes(self, is_done: bool) -> Vec<DeleteOutcome> {
        let found = self.found.into_inner().unwrap_or_else(PoisonError::into_inner);
        let unsaid = if is_done { DeleteOutcome::Missing } else { DeleteOutcome::Failed };
        self.paths.iter().map(|path| found.get(path.as_ref()).copied().unwrap_or(unsaid)).collect()
    }
}

async fn delete_all(store: &dyn ObjectStore, paths: &[Path], results: &DeleteResults<'_>) -> object_store::Result<()> {
    let mut deleted = store.delete_stream(stream::iter(paths.to_vec()).map(Ok).boxed());
    let mut failed = None;
    while let Some(deleted) = deleted.next().await {
        match deleted {
            Ok(path) => results.note(path.into(), DeleteOutcome::Deleted),
            Err(object_store::Error::NotFound { path, .. }) => results.note(path, DeleteOutcome::Missing),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(()), Err)
}
