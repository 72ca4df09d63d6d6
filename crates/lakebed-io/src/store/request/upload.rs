//! Writing objects piece by piece: large ones in parts that are sent side by side, small ones at once. Nobody sees an object before it is
//! whole.
//!
//! Read [`Store::upload`] and [`Upload`]. `file` writes to the local disk, `parts` to other stores.

mod file;
mod parts;
mod pending;

use bytes::Bytes;
use lakebed_core::error::Result;
use object_store::path::Path;

use crate::store::abilities::Writing;
use crate::store::{Existing, Store, Unflushed};
use file::FileUpload;
use parts::PartsUpload;

/// An object that is being written; it holds some tens of megabytes at most. If it is dropped before [`finish`](Self::finish), nothing of
/// it is left, as far as that can be had without waiting; [`abort`](Self::abort) waits.
#[derive(Debug)]
pub struct Upload {
    size: u64,
    to: Destination,
}

#[derive(Debug)]
enum Destination {
    File(FileUpload),
    Parts(PartsUpload),
}

impl Store {
    /// Begins to write an object. One that has the name already stays if `existing` says so, but where the object is sent in parts: stores
    /// ask nothing when they put these together, or not without more requests.
    pub async fn upload(&self, path: &Path, existing: Existing) -> Result<Upload> {
        let to = match self.writing() {
            Writing::Files => Destination::File(FileUpload::begin(self, path, existing)),
            Writing::ReadOnly => return Err(self.read_only(path)),
            Writing::ConditionalPut | Writing::Rename => Destination::Parts(PartsUpload::begin(self, path, existing)),
        };
        Ok(Upload { size: 0, to })
    }
}

impl Upload {
    /// Appends bytes, which are not copied. Waits while too much of what came before is still on its way.
    pub async fn write(&mut self, bytes: Bytes) -> Result<()> {
        self.size += bytes.len() as u64;
        match &mut self.to {
            Destination::File(file) => file.write(bytes).await,
            Destination::Parts(parts) => parts.write(bytes).await,
        }
    }

    /// Makes the object visible, whole and durable, and tells its size.
    pub async fn finish(self) -> Result<u64> {
        let (size, unflushed) = self.finish_unflushed().await?;
        unflushed.flushed().await?;
        Ok(size)
    }

    /// Makes the object visible and whole, and tells its size and what to wait for until it is durable.
    pub async fn finish_unflushed(self) -> Result<(u64, Unflushed)> {
        let unflushed = match self.to {
            Destination::File(file) => file.finish().await?,
            Destination::Parts(parts) => {
                parts.finish(self.size).await?;
                Unflushed::safe()
            }
        };
        Ok((self.size, unflushed))
    }

    /// Takes back what was written.
    pub async fn abort(self) {
        match self.to {
            Destination::File(file) => file.abort().await,
            Destination::Parts(parts) => parts.abort().await,
        }
    }
}

#[cfg(test)]
mod tests;
