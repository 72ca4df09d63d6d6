//! Bytes on their way to the disk while other work goes on.
//!
//! To flush a file to a disk takes as long as it takes the disk, however small the file. A commit must not be seen before the files that it
//! names are safe; but all of them, and the commit itself, can be flushed at the same time. Read [`Unflushed`].

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt, Shared, try_join_all};
use lakebed_core::error::{Error, Result};

/// An object that is whole and has its name, but that a loss of power may still take. Clones are about the same object.
#[derive(Clone)]
pub struct Unflushed(Shared<BoxFuture<'static, Result<(), Arc<Error>>>>);

impl Unflushed {
    /// Of work that has begun.
    pub(in crate::store) fn of(work: impl Future<Output = Result<()>> + Send + 'static) -> Self {
        Self(work.map(|done| done.map_err(Arc::new)).boxed().shared())
    }

    /// Of an object that is safe already.
    pub fn safe() -> Self {
        Self::of(std::future::ready(Ok(())))
    }

    /// Waits until the object is safe.
    pub async fn flushed(self) -> Result<()> {
        self.0.await.map_err(|error| Error::new(error.kind().clone(), error.to_string()))
    }
}

impl std::fmt::Debug for Unflushed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unflushed").finish_non_exhaustive()
    }
}

/// Waits until all objects are safe.
pub async fn all_flushed(objects: &[Unflushed]) -> Result<()> {
    try_join_all(objects.iter().cloned().map(Unflushed::flushed)).await.map(|_| ())
}
