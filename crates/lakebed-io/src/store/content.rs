//! The content of an object that is written in one request.

use std::fs::File;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use lakebed_core::error::Result;
use object_store::PutPayload;

use super::Store;
use super::local::hidden_file::HiddenFile;
use super::local::read_at::read_exact_at;
use crate::at::At;

/// The number of bytes of a file that are read at a time.
const BLOCK_BYTES: usize = 1 << 20;

/// The content of an object that is written in one request: bytes, and then those of a file, if they
/// are too many for the memory. Clones are cheap.
#[derive(Debug, Clone)]
pub struct Content {
    bytes: PutPayload,
    rest: Option<Arc<File>>,
}

impl Content {
    /// Returns this content with the bytes of a file after it. Nobody writes to the file any more.
    #[must_use]
    pub fn and_file(self, file: Arc<File>) -> Self {
        Self { rest: Some(file), ..self }
    }

    /// Writes the content to a local file.
    pub(super) fn write_to(&self, file: &mut HiddenFile) -> io::Result<()> {
        self.bytes.iter().try_for_each(|bytes| file.write(bytes))?;
        self.each_block(|block| file.write(block))
    }

    /// Returns the content in memory. A service gets it in one request.
    pub(super) async fn load(&self, store: &Store) -> Result<PutPayload> {
        if self.rest.is_none() {
            return Ok(self.bytes.clone());
        }
        let content = self.clone();
        let work = move || {
            let mut all: Vec<Bytes> = content.bytes.iter().cloned().collect();
            content.each_block(|block| {
                all.push(Bytes::copy_from_slice(block));
                Ok(())
            })?;
            Ok(all.into_iter().collect())
        };
        let loaded: io::Result<PutPayload> = tokio::task::spawn_blocking(work).await.at(store.url())?;
        loaded.at("a temporary file")
    }

    /// Passes the bytes of the file to `take`.
    fn each_block(&self, mut take: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let Some(file) = &self.rest else { return Ok(()) };
        let (mut at, size, mut block) = (0, file.metadata()?.len(), vec![0; BLOCK_BYTES]);
        while at < size {
            block.truncate(usize::try_from(size - at).unwrap_or(BLOCK_BYTES));
            read_exact_at(file, &mut block, at)?;
            take(&block)?;
            at += block.len() as u64;
        }
        Ok(())
    }
}

impl From<PutPayload> for Content {
    fn from(bytes: PutPayload) -> Self {
        Self { bytes, rest: None }
    }
}

impl From<Bytes> for Content {
    fn from(bytes: Bytes) -> Self {
        PutPayload::from(bytes).into()
    }
}
