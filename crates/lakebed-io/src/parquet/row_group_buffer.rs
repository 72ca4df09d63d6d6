//! Sends encoded row groups to the store, a few blocks at a time, while the next row groups are
//! encoded.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use lakebed_core::{Error, Result};
use parquet::arrow::arrow_writer::ArrowColumnChunk;
use parquet::column::writer::ColumnCloseResult;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use tokio::sync::mpsc::{Sender, channel};
use tokio::task::{JoinSet, spawn_blocking};

use super::write::FlatChunk;
use crate::at::At;
use crate::store::{Unflushed, Upload};

/// The size of the pieces in which a file is sent.
const BLOCK_BYTES: usize = 1 << 20;
/// The number of blocks that may wait to be sent.
const BLOCKS_AHEAD: usize = 2;
/// The number of bytes below which no separate task sends them, because they need not wait for the
/// disk or the network.
const FEW_BYTES: u64 = BLOCK_BYTES as u64;

/// The end of a file, which has not been sent yet.
#[derive(Default)]
pub(crate) struct Blocks {
    last: Vec<u8>,
    full: Vec<Bytes>,
    /// The channel for full blocks. Without one, full blocks are kept.
    way: Option<Sender<Bytes>>,
}

impl Blocks {
    /// Returns all bytes and keeps none.
    fn take(&mut self) -> Vec<Bytes> {
        let last = std::mem::take(&mut self.last);
        let full = std::mem::take(&mut self.full);
        full.into_iter().chain((!last.is_empty()).then(|| last.into())).collect()
    }

    fn end_block(&mut self) -> io::Result<()> {
        let block = Bytes::from(std::mem::take(&mut self.last));
        match &self.way {
            Some(way) => way.blocking_send(block).map_err(|_| io::ErrorKind::BrokenPipe.into()),
            None => {
                self.full.push(block);
                Ok(())
            }
        }
    }
}

impl io::Write for Blocks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.last.is_empty() && self.last.len() + bytes.len() > BLOCK_BYTES {
            self.end_block()?;
        }
        // If there is a channel, a row group is large.
        if self.last.is_empty() && self.way.is_some() {
            self.last.reserve(BLOCK_BYTES);
        }
        self.last.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The encoded columns of a row group.
pub(crate) type RowGroup = Vec<Chunk>;

/// An encoded column.
pub(crate) enum Chunk {
    Any(ArrowColumnChunk),
    Flat(FlatChunk),
}

impl Chunk {
    fn result(&self) -> &ColumnCloseResult {
        match self {
            Self::Any(chunk) => chunk.close(),
            Self::Flat(chunk) => chunk.result(),
        }
    }

    fn append_to(self, group: &mut SerializedRowGroupWriter<'_, Blocks>) -> parquet::errors::Result<()> {
        match self {
            Self::Any(chunk) => chunk.append_to_row_group(group),
            Self::Flat(chunk) => chunk.append_to_row_group(group),
        }
    }
}

/// Appends row groups to a file and sends them in the background. Only the row groups of one call
/// are under way at a time, which bounds the memory.
pub(crate) struct RowGroupBuffer {
    idle: Option<FileEnd>,
    /// The end of the file while a task sends it. There is at most one such task.
    busy: JoinSet<Result<FileEnd>>,
    is_given_up: Arc<AtomicBool>,
}

/// The end of a file that grows, and its upload.
struct FileEnd {
    file: FileWriter,
    upload: Upload,
    is_given_up: Arc<AtomicBool>,
}

struct FileWriter {
    name: String,
    writer: SerializedFileWriter<Blocks>,
}

impl RowGroupBuffer {
    pub(crate) fn new(name: String, writer: SerializedFileWriter<Blocks>, upload: Upload) -> Self {
        let is_given_up = Arc::<AtomicBool>::default();
        let tail = FileEnd { file: FileWriter { name, writer }, upload, is_given_up: Arc::clone(&is_given_up) };
        Self { idle: Some(tail), busy: JoinSet::new(), is_given_up }
    }

    /// Sends row groups after the earlier ones. The next call may report the error.
    pub(crate) async fn send(&mut self, groups: Vec<RowGroup>) -> Result<()> {
        if groups.is_empty() {
            return Ok(());
        }
        let bytes = groups.iter().map(size_bytes).sum::<u64>();
        let mut tail = self.tail().await?;
        if bytes < FEW_BYTES {
            tail.file.append(groups)?;
            tail.send_rest().await?;
            self.idle = Some(tail);
        } else {
            self.busy.spawn(tail.send(groups));
        }
        Ok(())
    }

    /// Ends the file and makes it visible. Returns its size, and a value to wait for until it is
    /// durable.
    pub(crate) async fn finish(mut self) -> Result<(u64, Unflushed)> {
        let mut tail = self.tail().await?;
        tail.file.end()?;
        tail.send_rest().await?;
        tail.upload.finish_unflushed().await
    }

    /// Removes the blocks that were sent.
    pub(crate) async fn abort(mut self) {
        self.is_given_up.store(true, Ordering::Relaxed);
        if let Ok(tail) = self.tail().await {
            tail.upload.abort().await;
        }
    }

    /// Returns the end of the file, once no task is sending it.
    async fn tail(&mut self) -> Result<FileEnd> {
        if let Some(tail) = self.idle.take() {
            return Ok(tail);
        }
        let done = self.busy.join_next().await;
        done.ok_or_else(|| Error::internal("a file was written to after a write to it failed"))?.at("sending a file")?
    }
}

/// Returns the size of a row group in its file.
pub(crate) fn size_bytes(group: &RowGroup) -> u64 {
    group.iter().map(|column| column.result().bytes_written).sum()
}

impl FileEnd {
    /// Sends row groups. Each block is sent as soon as it is full.
    async fn send(mut self, groups: Vec<RowGroup>) -> Result<Self> {
        let (way, mut blocks) = channel(BLOCKS_AHEAD);
        let mut file = self.file;
        let appending = spawn_blocking(move || {
            file.blocks().way = Some(way);
            let appended = file.append(groups);
            file.blocks().way = None;
            appended.map(|()| file)
        });
        while let Some(block) = blocks.recv().await {
            write(&mut self.upload, block, &self.is_given_up).await?;
        }
        self.file = appending.await.at("appending row groups to a file")??;
        Ok(self)
    }

    /// Sends the bytes that have not been sent yet.
    async fn send_rest(&mut self) -> Result<()> {
        for block in self.file.blocks().take() {
            write(&mut self.upload, block, &self.is_given_up).await?;
        }
        Ok(())
    }
}

impl FileWriter {
    fn append(&mut self, groups: Vec<RowGroup>) -> Result<()> {
        for columns in groups {
            let mut group = self.writer.next_row_group().at(&self.name)?;
            for chunk in columns {
                chunk.append_to(&mut group).at(&self.name)?;
            }
            group.close().at(&self.name)?;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        self.writer.finish().at(&self.name)?;
        Ok(())
    }

    fn blocks(&mut self) -> &mut Blocks {
        self.writer.inner_mut()
    }
}

/// Writes a block, unless the file was aborted.
async fn write(upload: &mut Upload, block: Bytes, is_given_up: &AtomicBool) -> Result<()> {
    if is_given_up.load(Ordering::Relaxed) { Ok(()) } else { upload.write(block).await }
}
