//! From the encoder to the store: a row group is on its way while the next one is encoded.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use lakebed_core::{Error, Result};
use parquet::arrow::arrow_writer::ArrowColumnChunk;
use parquet::file::writer::SerializedFileWriter;
use tokio::task::{JoinSet, spawn_blocking};

use crate::at::At;
use crate::store::{Unflushed, Upload};

/// What is encoded is kept in pieces of this size, which need not be moved when there is more.
const BLOCK_BYTES: usize = 4 << 20;
/// Fewer bytes are handed over at once: they need not wait for the disk or the network.
const FEW_BYTES: u64 = 1 << 20;

/// What is encoded and has not left yet.
#[derive(Default)]
pub(crate) struct Blocks {
    full: Vec<Bytes>,
    last: Vec<u8>,
}

impl Blocks {
    /// All there is; nothing is left.
    pub(crate) fn take(&mut self) -> Vec<Bytes> {
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

/// The columns of a row group, as they are encoded.
pub(crate) type RowGroup = Vec<ArrowColumnChunk>;

/// Puts row groups behind each other and sends them, in the background, those of one call at a time: this bounds what is in memory.
pub(crate) struct Sending {
    idle: Option<Tail>,
    /// Where the file ends, while there is work; at most one.
    busy: JoinSet<Result<Tail>>,
    is_given_up: Arc<AtomicBool>,
}

/// The end of a file that grows.
struct Tail {
    name: String,
    file: SerializedFileWriter<Blocks>,
    upload: Upload,
}

impl Sending {
    pub(crate) fn new(name: String, file: SerializedFileWriter<Blocks>, upload: Upload) -> Self {
        Self { idle: Some(Tail { name, file, upload }), busy: JoinSet::new(), is_given_up: Arc::default() }
    }

    /// Sends row groups once those before them have gone. An error may be told by the next call.
    pub(crate) async fn send(&mut self, groups: Vec<RowGroup>) -> Result<()> {
        if groups.is_empty() {
            return Ok(());
        }
        let bytes = groups.iter().map(size_bytes).sum::<u64>();
        let tail = self.tail().await?;
        let is_given_up = Arc::clone(&self.is_given_up);
        if bytes < FEW_BYTES {
            self.idle = Some(tail.append_here(groups)?.send(&is_given_up).await?);
        } else {
            self.busy.spawn(async move { tail.append(groups).await?.send(&is_given_up).await });
        }
        Ok(())
    }

    /// Ends the file and makes it visible. Tells its size and what to wait for until it is durable.
    pub(crate) async fn finish(mut self) -> Result<(u64, Unflushed)> {
        let mut tail = self.tail().await?;
        tail.file.finish().at(&tail.name)?;
        tail.send(&self.is_given_up).await?.upload.finish_unflushed().await
    }

    /// Takes back what was sent.
    pub(crate) async fn abort(mut self) {
        self.is_given_up.store(true, Ordering::Relaxed);
        if let Ok(tail) = self.tail().await {
            tail.upload.abort().await;
        }
    }

    /// Where the file ends, once there is nothing to do.
    async fn tail(&mut self) -> Result<Tail> {
        if let Some(tail) = self.idle.take() {
            return Ok(tail);
        }
        let done = self.busy.join_next().await;
        done.ok_or_else(|| Error::internal("a file was written to after that failed"))?.at("sending a file")?
    }
}

/// How large a row group is in its file.
pub(crate) fn size_bytes(group: &RowGroup) -> u64 {
    group.iter().map(|column| column.close().bytes_written).sum()
}

impl Tail {
    async fn append(self, groups: Vec<RowGroup>) -> Result<Self> {
        spawn_blocking(move || self.append_here(groups)).await.at("putting row groups behind each other")?
    }

    fn append_here(mut self, groups: Vec<RowGroup>) -> Result<Self> {
        for columns in groups {
            let mut group = self.file.next_row_group().at(&self.name)?;
            for chunk in columns {
                chunk.append_to_row_group(&mut group).at(&self.name)?;
            }
            group.close().at(&self.name)?;
        }
        Ok(self)
    }

    async fn send(mut self, is_given_up: &AtomicBool) -> Result<Self> {
        for block in self.file.inner_mut().take() {
            if is_given_up.load(Ordering::Relaxed) {
                break;
            }
            self.upload.write(block).await?;
        }
        Ok(self)
    }
}
