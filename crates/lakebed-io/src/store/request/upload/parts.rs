//! Uploads to object stores and HDFS.

use bytes::Bytes;
use lakebed_core::error::{Error, Result};
use object_store::path::Path;
use object_store::{MultipartUpload, ObjectStoreExt, PutPayload};
use tokio::runtime::Handle;
use tokio::task::JoinSet;

use super::pending::Pending;
use crate::at::At;
use crate::store::{Existing, Store};

/// The size of the first part. Stores refuse parts below 5 MiB, and larger parts cost fewer
/// requests.
pub(super) const FIRST_PART_BYTES: usize = 8 << 20;
/// The number of parts with the same size. S3 and GCS accept 10,000 parts, and R2 requires parts of
/// equal size. So parts have one size up to 8 GB, and then the size doubles every thousand parts.
/// 10,000 parts hold 7.8 TiB, more than the largest allowed object.
const PARTS_OF_A_SIZE: usize = 1000;
/// The number of parts that are sent at a time. It bounds the memory of an upload.
pub(super) const AT_ONCE: usize = 4;

/// An upload. It is one request unless it has more than one part.
#[derive(Debug)]
pub(super) struct PartsUpload {
    store: Store,
    path: Path,
    existing: Existing,
    pending: Pending,
    multipart: Multipart,
}

#[derive(Debug)]
pub(super) enum Multipart {
    NotYet,
    Begun(Box<dyn MultipartUpload>, SentParts),
    /// An error occurred, or the upload is complete.
    Over,
}

/// The parts that are being sent, and the number of parts so far.
#[derive(Debug, Default)]
pub(super) struct SentParts {
    parts: JoinSet<object_store::Result<()>>,
    begun: usize,
}

impl PartsUpload {
    pub(super) fn begin(store: &Store, path: &Path, existing: Existing) -> Self {
        Self { store: store.clone(), path: path.clone(), existing, pending: Pending::default(), multipart: Multipart::NotYet }
    }

    #[cfg(test)]
    pub(super) fn with_multipart(mut self, multipart: Multipart) -> Self {
        self.multipart = multipart;
        self
    }

    pub(super) async fn write(&mut self, bytes: Bytes) -> Result<()> {
        self.pending.push(bytes);
        while self.pending.size > self.part_bytes() {
            let sent = self.send_part().await;
            self.or_give_up(sent).await?;
        }
        Ok(())
    }

    pub(super) async fn finish(mut self, size: u64) -> Result<()> {
        if matches!(self.multipart, Multipart::NotYet) {
            let bytes = std::mem::take(&mut self.pending).pieces;
            let payload = PutPayload::from_iter(bytes);
            return self.store.put_object(&self.path, payload, self.existing).await;
        }
        let sent = self.send_rest().await;
        self.or_give_up(sent).await?;
        let Multipart::Begun(mut multipart, _) = std::mem::replace(&mut self.multipart, Multipart::Over) else {
            return Err(self.is_over());
        };
        match multipart.complete().await {
            Ok(_) => Ok(()),
            // The client retries after a lost reply, and by then the store may have forgotten the
            // parts.
            Err(_) if self.store.head(&self.path).await.is_ok_and(|found| found.size == size) => Ok(()),
            Err(error) => {
                let _ = multipart.abort().await;
                Err(self.store.failed(&error, &self.path))
            }
        }
    }

    pub(super) async fn abort(mut self) {
        self.give_up().await;
    }

    /// Returns the size of the next part.
    fn part_bytes(&self) -> usize {
        part_bytes(if let Multipart::Begun(_, sending) = &self.multipart { sending.begun } else { 0 })
    }

    /// Sends pending bytes as one part. Waits until fewer parts are being sent.
    async fn send_part(&mut self) -> Result<()> {
        if matches!(self.multipart, Multipart::NotYet) {
            let begun = self.store.retry(|| self.store.object_store().put_multipart(&self.path)).await;
            let begun = begun.map_err(|error| self.store.failed(&error, &self.path))?;
            self.multipart = Multipart::Begun(begun, SentParts::default());
        }
        let part_bytes = self.part_bytes();
        let Multipart::Begun(multipart, sending) = &mut self.multipart else { return Err(self.is_over()) };
        while sending.parts.len() >= AT_ONCE {
            if let Some(sent) = sending.parts.join_next().await {
                sent.at(self.store.describe(&self.path))?.map_err(|error| self.store.failed(&error, &self.path))?;
            }
        }
        sending.begun += 1;
        sending.parts.spawn(multipart.put_part(PutPayload::from_iter(self.pending.take(part_bytes))));
        Ok(())
    }

    /// Sends all pending bytes and waits for all parts.
    async fn send_rest(&mut self) -> Result<()> {
        if self.pending.size > 0 {
            self.send_part().await?;
        }
        let Multipart::Begun(_, sending) = &mut self.multipart else { return Err(self.is_over()) };
        while let Some(sent) = sending.parts.join_next().await {
            sent.at(self.store.describe(&self.path))?.map_err(|error| self.store.failed(&error, &self.path))?;
        }
        Ok(())
    }

    async fn or_give_up(&mut self, done: Result<()>) -> Result<()> {
        if done.is_err() {
            self.give_up().await;
        }
        done
    }

    /// Stops all parts before the store forgets the upload. Otherwise a late part could be left.
    async fn give_up(&mut self) {
        self.pending = Pending::default();
        if let Multipart::Begun(mut multipart, mut sending) = std::mem::replace(&mut self.multipart, Multipart::Over) {
            sending.parts.shutdown().await;
            // The first error is returned. If this call fails too, the rules of the store remove
            // the remaining parts.
            let _ = multipart.abort().await;
        }
    }

    fn is_over(&self) -> Error {
        Error::internal(format!("{}: it was written to after a write to it failed", self.store.describe(&self.path)))
    }
}

/// Returns the size of a part that follows this many others.
pub(super) fn part_bytes(begun: usize) -> usize {
    FIRST_PART_BYTES << (begun / PARTS_OF_A_SIZE)
}

impl Drop for PartsUpload {
    fn drop(&mut self) {
        if let Multipart::Begun(mut multipart, sending) = std::mem::replace(&mut self.multipart, Multipart::Over) {
            drop(sending);
            if let Ok(runtime) = Handle::try_current() {
                runtime.spawn(async move { multipart.abort().await });
            }
        }
    }
}
