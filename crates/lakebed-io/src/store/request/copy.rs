//! Copies whole objects from another store, or within one.
//!
//! If one service holds both objects, it copies by itself, and no byte passes this process. Files
//! of this machine are copied by the kernel. All other objects are streamed in bounded memory.

use std::fs::File;
use std::io;

use lakebed_core::error::{Error, Result};
use object_store::ObjectStoreExt;
use object_store::path::Path;

use crate::at::{At, written};
use crate::store::local::file_path::file_path;
use crate::store::local::hidden_file::{Flush, HiddenFile};
use crate::store::{Existing, Store};

/// The bytes of a streamed object that are read at a time.
const CHUNK_BYTES: usize = 8 << 20;

/// The largest object that every service copies in one request. S3 refuses larger ones.
const MOST_COPIED_BYTES: u64 = 5 << 30;

impl Store {
    /// Copies an object of another store to a new name here, and returns its size. The copy is
    /// complete and durable.
    ///
    /// # Errors
    /// It is an error if the copy does not have the size of the original.
    pub async fn copy_from(&self, source: &Store, from: &Path, to: &Path) -> Result<u64> {
        if self.is_local() && source.is_local() {
            return self.copy_file(source, from, to).await;
        }
        let size = source.head(from).await?.size;
        if !(self.copies_within(source) && size <= MOST_COPIED_BYTES && self.copy_inside(from, to).await) {
            return self.copy_streamed(source, from, to, size).await;
        }
        let copied = self.head(to).await?.size;
        if copied == size { Ok(size) } else { Err(self.torn(to, copied, &source.describe(from), size)) }
    }

    fn torn(&self, copy: &Path, copied: u64, original: &str, size: u64) -> Error {
        Error::corrupt(self.describe(copy), format!("this copy of {original} has {copied} bytes instead of {size}"))
    }

    /// Returns whether the service of this store can copy objects of the other store.
    fn copies_within(&self, source: &Store) -> bool {
        let (own, other) = (&self.0.connection, &source.0.connection);
        let same_service = own.service == other.service && (own.is_given == other.is_given);
        // Two implementations that a caller passed may hold different objects.
        let same_given = !own.is_given || std::sync::Arc::ptr_eq(self.object_store(), source.object_store());
        same_service && same_given && !self.is_web()
    }

    /// Returns whether the service has copied the object. If it refuses, for example because these
    /// credentials may not read the original, the object is streamed.
    async fn copy_inside(&self, from: &Path, to: &Path) -> bool {
        let done = self.retry(|| self.object_store().copy(from, to)).await;
        if let Err(error) = &done {
            tracing::debug!(store = self.url(), "the store does not copy {from} by itself: {error}");
        }
        done.is_ok()
    }

    async fn copy_streamed(&self, source: &Store, from: &Path, to: &Path, size: u64) -> Result<u64> {
        let mut chunks = source.read_in_chunks(vec![from.clone()], CHUNK_BYTES).await?;
        let mut upload = self.upload(to, Existing::Refuse).await?;
        let mut copied = 0;
        while let Some(reader) = chunks.first_mut() {
            let bytes = reader.next().await?;
            if bytes.is_empty() {
                break;
            }
            copied += bytes.len() as u64;
            upload.write(bytes).await?;
        }
        if copied != size {
            upload.abort().await;
            return Err(self.torn(to, copied, &source.describe(from), size));
        }
        upload.finish().await
    }

    async fn copy_file(&self, source: &Store, from: &Path, to: &Path) -> Result<u64> {
        let (original, target, unique) = (file_path(from), file_path(to), self.options().env.new_uuid());
        let (from_within, to_within, flush) = (source.within(), self.within(), self.flush());
        let opening = tokio::task::spawn_blocking(move || from_within.open(&original)).await;
        let file = opening.at(source.describe(from))?.at(source.describe(from))?;
        let work = move || {
            let copy = HiddenFile::create(&target, &unique, &to_within)?;
            let size = copy_bytes(file, &copy)?;
            if size.0 != size.1 {
                return Ok(Some(size));
            }
            if flush == Flush::Both {
                copy.flush()?;
            }
            Ok(copy.publish(Existing::Refuse, flush)?.map(|_| size))
        };
        let done = tokio::task::spawn_blocking(work).await.at(self.describe(to))?;
        match done.map_err(|error| written(error, &self.describe(to)))? {
            Some((copied, size)) if copied == size => Ok(size),
            Some((copied, size)) => Err(self.torn(to, copied, &source.describe(from), size)),
            None => Err(self.taken(to)),
        }
    }
}

/// Copies the bytes of a file, and returns how many were copied and how many there are. The kernel
/// does it where it can.
fn copy_bytes(mut from: File, copy: &HiddenFile) -> io::Result<(u64, u64)> {
    let size = from.metadata()?.len();
    let mut to = copy.try_clone()?;
    Ok((io::copy(&mut from, &mut to)?, size))
}
