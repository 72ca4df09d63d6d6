//! Bytes that are collected piece by piece and then written as one object, such as the lines of a
//! large commit. What does not fit into memory is kept in a temporary file.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;

use super::spill::{blocking, folder};
use crate::Result;

/// The most bytes that are kept in memory.
const MEMORY_BYTES: usize = 32 << 20;

/// A piece is complete at this size.
const PIECE_BYTES: usize = 4 << 20;

/// Collects bytes. [`finish`](Self::finish) returns them.
#[derive(Debug)]
pub(crate) struct Spool {
    folder: PathBuf,
    /// The most bytes that are kept in memory.
    memory_bytes: usize,
    pieces: Vec<Bytes>,
    /// The bytes after the pieces that are not in a piece yet.
    rest: Vec<u8>,
    /// The bytes after those in memory.
    file: Option<Arc<File>>,
}

/// Collected bytes. The temporary file is deleted when this is dropped.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spooled {
    /// The first bytes, in pieces.
    pub(crate) pieces: Vec<Bytes>,
    /// The bytes after the pieces, if they do not fit into memory.
    pub(crate) file: Option<Arc<File>>,
}

impl Spool {
    /// Begins with no bytes.
    pub(crate) fn new() -> Self {
        Self { folder: folder(), memory_bytes: MEMORY_BYTES, pieces: Vec::new(), rest: Vec::new(), file: None }
    }

    /// Appends bytes.
    pub(crate) async fn append(&mut self, bytes: Vec<u8>) -> Result<()> {
        match self.rest.is_empty() {
            true => self.rest = bytes,
            false => self.rest.extend_from_slice(&bytes),
        }
        if self.rest.len() >= PIECE_BYTES { self.end_piece().await } else { Ok(()) }
    }

    /// Returns all bytes.
    pub(crate) async fn finish(mut self) -> Result<Spooled> {
        self.end_piece().await?;
        Ok(Spooled { pieces: self.pieces, file: self.file })
    }

    async fn end_piece(&mut self) -> Result<()> {
        let mut piece = std::mem::take(&mut self.rest);
        if piece.is_empty() {
            return Ok(());
        }
        let in_memory: usize = self.pieces.iter().map(Bytes::len).sum();
        if self.file.is_none() && in_memory + piece.len() <= self.memory_bytes {
            piece.shrink_to_fit();
            self.pieces.push(piece.into());
            return Ok(());
        }
        let file = match &self.file {
            Some(file) => Arc::clone(file),
            None => {
                let begun = blocking(self.folder.clone(), "beginning", |folder| Ok(tempfile::tempfile_in(folder)?)).await?;
                Arc::clone(self.file.insert(Arc::new(begun)))
            }
        };
        blocking(self.folder.clone(), "writing to", move |_| Ok((&*file).write_all(&piece)?)).await
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek};

    use super::*;

    /// Appends three pieces and returns the bytes in memory and in the file.
    async fn spooled(memory_bytes: usize) -> (Vec<u8>, Vec<u8>) {
        let mut spool = Spool { memory_bytes, ..Spool::new() };
        for byte in 1..=3 {
            spool.append(vec![byte; PIECE_BYTES - 1]).await.unwrap();
            spool.append(vec![byte]).await.unwrap();
        }
        spool.append(vec![4; 10]).await.unwrap();
        let spooled = spool.finish().await.unwrap();
        let mut of_file = Vec::new();
        if let Some(mut file) = spooled.file.as_deref() {
            file.rewind().unwrap();
            file.read_to_end(&mut of_file).unwrap();
        }
        (spooled.pieces.concat(), of_file)
    }

    #[tokio::test]
    async fn spool_keeps_order_beyond_memory() {
        let piece = |byte: u8| vec![byte; PIECE_BYTES];
        let all = [piece(1), piece(2), piece(3), vec![4; 10]];
        assert!(spooled(MEMORY_BYTES).await == (all.concat(), Vec::new()));
        assert!(spooled(2 * PIECE_BYTES).await == (all[..2].concat(), all[2..].concat()));
        assert!(spooled(0).await == (Vec::new(), all.concat()));
    }
}
