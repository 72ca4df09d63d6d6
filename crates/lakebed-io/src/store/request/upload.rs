//! Writes objects piece by piece. Large objects are sent in concurrent parts, small ones in one
//! request. An object is invisible until it is complete.
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

/// An object that is being written. It holds some tens of megabytes at most. If it is dropped
/// before [`finish`](Self::finish), it leaves nothing behind, as far as that is possible without
/// waiting. [`abort`](Self::abort) waits.
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
    /// Begins to write an object. `existing` decides whether an existing object stays. An upload in
    /// parts ignores it, because stores do not check the name when they join parts, or only with
    /// further requests.
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
    /// Appends bytes without copying them. Waits while too many earlier bytes are still being sent.
    pub async fn write(&mut self, bytes: Bytes) -> Result<()> {
        self.size += bytes.len() as u64;
        match &mut self.to {
            Destination::File(file) => file.write(bytes).await,
            Destination::Parts(parts) => parts.write(bytes).await,
        }
    }

    /// Makes the object visible, complete and durable, and returns its size.
    pub async fn finish(self) -> Result<u64> {
        let (size, unflushed) = self.finish_unflushed().await?;
        unflushed.flushed().await?;
        Ok(size)
    }

    /// Makes the object visible and complete. Returns its size, and a value to wait for until it is
    /// durable.
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

    /// Removes the data that was written.
    pub async fn abort(self) {
        match self.to {
            Destination::File(file) => file.abort().await,
            Destination::Parts(parts) => parts.abort().await,
        }
    }
}

#[cfg(test)]
mod tests;
