//! Uploads to the local disk. A thread writes one block while the next one is collected, and
//! flushes begin before the end of the file.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use bytes::Bytes;
use futures::future::join_all;
use lakebed_core::error::{Error, Result};
use object_store::path::Path;
use tokio::task::{JoinHandle, spawn_blocking};

use super::pending::Pending;
use crate::at::{At, written};
use crate::store::local::file_path::file_path;
use crate::store::local::hidden_file::{Flush, HiddenFile, sync_folder};
use crate::store::{Existing, Store, Unflushed};

/// The size of one write to the disk.
pub(super) const BLOCK_BYTES: usize = 4 << 20;
/// The number of bytes after which a flush begins, so that less is left to flush at the end.
const FLUSHED_AT_ONCE: usize = 32 << 20;

/// A file that is being written.
#[derive(Debug)]
pub(super) struct FileUpload {
    store: Store,
    path: Path,
    existing: Existing,
    pending: Pending,
    file: FileWrite,
    flushing: Flushing,
}

/// Flushes that begin before the end of the file.
#[derive(Debug, Default)]
struct Flushing {
    /// The number of bytes written since the last flush began.
    since: usize,
    /// The flushes under way. The system reports an error only once, so each result counts.
    asked: Vec<JoinHandle<io::Result<()>>>,
}

#[derive(Debug)]
enum FileWrite {
    /// The file is created with its first block.
    NotYet,
    /// A thread is writing.
    Begun(JoinHandle<io::Result<HiddenFile>>),
    /// An error occurred, or the upload is complete.
    Over,
}

impl FileUpload {
    pub(super) fn begin(store: &Store, path: &Path, existing: Existing) -> Self {
        Self {
            store: store.clone(),
            path: path.clone(),
            existing,
            pending: Pending::default(),
            file: FileWrite::NotYet,
            flushing: Flushing::default(),
        }
    }

    pub(super) async fn write(&mut self, bytes: Bytes) -> Result<()> {
        self.pending.push(bytes);
        if self.pending.size < BLOCK_BYTES {
            return Ok(());
        }
        let file = self.written_so_far().await?;
        if let Some(file) = file.as_ref().filter(|_| self.store.flush() == Flush::Both) {
            self.flush_now_and_then(file)?;
        }
        self.flushing.since += self.pending.size;
        let (pieces, begin) = self.next_step();
        self.file = FileWrite::Begun(spawn_blocking(move || append(file.map_or_else(begin, Ok)?, &pieces)));
        Ok(())
    }

    /// Gives the file its name and begins to flush it.
    pub(super) async fn finish(mut self) -> Result<Unflushed> {
        let file = self.written_so_far().await?;
        let (pieces, begin) = self.next_step();
        let existing = self.existing;
        let done = spawn_blocking(move || append(file.map_or_else(begin, Ok)?, &pieces)?.publish(existing, Flush::Later)).await;
        let Some((file, folder)) = self.told(done)? else { return Err(self.store.taken(&self.path)) };
        if self.store.flush() == Flush::Later {
            return Ok(Unflushed::safe());
        }
        // A disk takes as long for both flushes as for one.
        let mut asked = std::mem::take(&mut self.flushing.asked);
        asked.push(spawn_blocking(move || file.sync_data()));
        asked.push(spawn_blocking(move || sync_folder(&folder)));
        Ok(Unflushed::of(async move { join_all(asked).await.into_iter().try_for_each(|done| self.told(done)) }))
    }

    pub(super) async fn abort(mut self) {
        let file = self.written_so_far().await;
        // Freeing a large file takes time.
        let _ = spawn_blocking(move || drop(file)).await;
    }

    /// Returns the file with all blocks except the pending one. It returns `None` if no block was
    /// written. Until the file is put back, the upload counts as over.
    async fn written_so_far(&mut self) -> Result<Option<HiddenFile>> {
        let done = match &mut self.file {
            FileWrite::NotYet => return Ok(None),
            FileWrite::Begun(writing) => writing.await,
            FileWrite::Over => {
                return Err(Error::internal(format!(
                    "{}: it was written to after a write to it failed",
                    self.store.describe(&self.path)
                )));
            }
        };
        self.file = FileWrite::Over;
        self.told(done).map(Some)
    }

    fn flush_now_and_then(&mut self, file: &HiddenFile) -> Result<()> {
        if self.flushing.since >= FLUSHED_AT_ONCE {
            let same: File = file.try_clone().map_err(|error| written(error, &self.store.describe(&self.path)))?;
            self.flushing.asked.push(spawn_blocking(move || same.sync_data()));
            self.flushing.since = 0;
        }
        Ok(())
    }

    /// Returns the pieces to write next, and a function that creates the file if it does not exist.
    fn next_step(&mut self) -> (Vec<Bytes>, impl FnOnce() -> io::Result<HiddenFile> + Send + use<>) {
        let (target, unique): (PathBuf, _) = (file_path(&self.path), self.store.options().env.new_uuid());
        let within = self.store.within();
        (std::mem::take(&mut self.pending).pieces, move || HiddenFile::create(&target, &unique, &within))
    }

    fn told<T>(&self, done: Result<io::Result<T>, tokio::task::JoinError>) -> Result<T> {
        let object = || self.store.describe(&self.path);
        done.at(object())?.map_err(|error| written(error, &object()))
    }
}

fn append(mut file: HiddenFile, pieces: &[Bytes]) -> io::Result<HiddenFile> {
    for piece in pieces {
        file.write(piece)?;
    }
    Ok(file)
}
