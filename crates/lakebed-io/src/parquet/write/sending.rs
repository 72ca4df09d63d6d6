//! From the encoder to the store: a row group is on its way while the next one is encoded.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use lakebed_core::{Error, Result};
use tokio::task::JoinSet;

use crate::at::At;
use crate::store::{Unflushed, Upload};

/// What is encoded is kept in pieces of this size, which need not be moved when there is more.
const BLOCK_BYTES: usize = 4 << 20;
/// Fewer bytes are handed over at once: they need not wait for the disk or the network.
const FEW_BYTES: usize = 1 << 20;

/// What is encoded and has not left yet.
#[derive(Default)]
pub(super) struct Blocks {
    full: Vec<Bytes>,
    last: Vec<u8>,
}

impl Blocks {
    /// All there is; nothing is left.
    pub(super) fn take(&mut self) -> Vec<Bytes> {
        self.end_block();
        std::mem::take(&mut self.full)
    }

    fn end_block(&mut self) {
        if !self.last.is_empty() {
            self.full.push(Bytes::from(std::mem::take(&mut self.last)));
        }
    }
}

impl io::Write for Blocks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.last.len() + bytes.len() > BLOCK_BYTES {
            self.end_block();
        }
        // After a full block there are more to come.
        if self.last.is_empty() && !self.full.is_empty() {
            self.last.reserve(BLOCK_BYTES);
        }
        self.last.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An upload that takes blocks in the background, those of one call at a time: this bounds what is in memory.
pub(super) struct Sending {
    idle: Option<Upload>,
    /// The upload, while it is at work; at most one.
    busy: JoinSet<Result<Upload>>,
    is_given_up: Arc<AtomicBool>,
}

impl Sending {
    pub(super) fn new(upload: Upload) -> Self {
        Self { idle: Some(upload), busy: JoinSet::new(), is_given_up: Arc::default() }
    }

    /// Sends blocks once those before them have gone. An error may be told by the next call.
    pub(super) async fn send(&mut self, blocks: Vec<Bytes>) -> Result<()> {
        if blocks.is_empty() {
            return Ok(());
        }
        let upload = self.upload().await?;
        let is_given_up = Arc::clone(&self.is_given_up);
        if blocks.iter().map(Bytes::len).sum::<usize>() < FEW_BYTES {
            self.idle = Some(write(upload, blocks, &is_given_up).await?);
        } else {
            self.busy.spawn(async move { write(upload, blocks, &is_given_up).await });
        }
        Ok(())
    }

    /// Makes the object visible, and tells its size and what to wait for until it is durable.
    pub(super) async fn finish(mut self) -> Result<(u64, Unflushed)> {
        self.upload().await?.finish_unflushed().await
    }

    /// Takes back what was sent.
    pub(super) async fn abort(mut self) {
        self.is_given_up.store(true, Ordering::Relaxed);
        if let Ok(upload) = self.upload().await {
            upload.abort().await;
        }
    }

    /// The upload, once it has nothing to do.
    async fn upload(&mut self) -> Result<Upload> {
        if let Some(upload) = self.idle.take() {
            return Ok(upload);
        }
        let done = self.busy.join_next().await;
        done.ok_or_else(|| Error::internal("a file was written to after that failed"))?.at("sending a file")?
    }
}

async fn write(mut upload: Upload, blocks: Vec<Bytes>, is_given_up: &AtomicBool) -> Result<Upload> {
    for block in blocks {
        if is_given_up.load(Ordering::Relaxed) {
            break;
        }
        upload.write(block).await?;
    }
    Ok(upload)
}
