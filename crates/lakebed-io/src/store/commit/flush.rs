//! Flushes files to the disk while other work continues.
//!
//! The time of a flush depends on the disk and hardly on the size of the file. A commit must not be
//! visible before the files that it names are durable, but these files and the commit itself can be
//! flushed at the same time. Read [`Unflushed`].

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt, Shared, try_join_all};
use lakebed_core::error::{Error, Result};

/// An object that is complete and has its name, but that a power failure may still remove. Clones
/// mean the same object.
#[derive(Clone)]
pub struct Unflushed(Shared<BoxFuture<'static, Result<(), Arc<Error>>>>);

impl Unflushed {
    /// Returns an object that becomes durable when this work ends. The work has already begun.
    pub(in crate::store) fn of(work: impl Future<Output = Result<()>> + Send + 'static) -> Self {
        Self(work.map(|done| done.map_err(Arc::new)).boxed().shared())
    }

    /// Returns an object that is already durable.
    pub fn safe() -> Self {
        Self::of(std::future::ready(Ok(())))
    }

    /// Waits until the object is durable.
    pub async fn flushed(self) -> Result<()> {
        self.0.await.map_err(|error| Error::new(error.kind().clone(), error.to_string()))
    }
}

impl std::fmt::Debug for Unflushed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unflushed").finish_non_exhaustive()
    }
}

/// Waits until all objects are durable.
pub async fn all_flushed(objects: &[Unflushed]) -> Result<()> {
    try_join_all(objects.iter().cloned().map(Unflushed::flushed)).await.map(|_| ())
}
