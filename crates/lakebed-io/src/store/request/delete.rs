//! Deleting objects.

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

/// What became of objects that were to be deleted.
#[derive(Debug)]
pub struct Deletion {
    /// Of each of them, in their order.
    pub fates: Vec<Fate>,
    /// Why the first of those that stay does.
    pub error: Option<Error>,
}

/// What became of an object that was to be deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is gone. Some stores say so of what was never there.
    Gone,
    /// It was not there.
    Missing,
    /// It may still be there.
    Stays,
}

impl Store {
    /// Deletes objects, many with one request where the store can do that. Those that are not there are fine. What cannot be deleted does
    /// not keep the others; the error is the first one.
    pub async fn delete(&self, paths: &[Path]) -> Result<()> {
        self.delete_each(paths).await?.error.map_or(Ok(()), Err)
    }

    /// The same, and tells of each object what became of it.
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
        // What is gone already, an attempt that comes after finds missing, or deletes again.
        let deleted = self.retry(|| delete_all(self.object_store().as_ref(), paths, &settled)).await;
        // The answer to a request for many does not always say which.
        let blamed = if let [only] = paths { only } else { self.root() };
        let fates = settled.fates(deleted.is_ok());
        Deletion { fates, error: deleted.err().map(|error| self.failed(&error, blamed)) }
    }
}

/// What is known of objects that are being deleted.
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

    /// Of each object; when nothing failed, those of which nothing was said were not there.
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
