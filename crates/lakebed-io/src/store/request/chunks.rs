//! Reads objects that may be large from their beginning, in chunks.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::PathBuf;

use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use futures::future::try_join_all;
use futures::stream::BoxStream;
use lakebed_core::error::Result;
use object_store::ObjectStoreExt;
use object_store::path::Path;

use crate::at::At;
use crate::store::{Store, Within};

/// The rest of an object that is being read.
pub(crate) struct ChunkedRead {
    store: Store,
    path: Path,
    part_bytes: usize,
    /// The first chunk, which was read early.
    ahead: Option<Bytes>,
    source: Rest,
}

enum Rest {
    /// A file. It is opened by the first read.
    Local(PathBuf, Option<File>),
    Remote(BoxStream<'static, object_store::Result<Bytes>>),
    End,
}

impl Store {
    /// Begins to read objects in chunks of this many bytes. The first chunks are read at once.
    pub(crate) async fn read_in_chunks(&self, paths: Vec<Path>, part_bytes: usize) -> Result<Vec<ChunkedRead>> {
        match paths.iter().map(|path| self.local_path(path)).collect() {
            Some(files) => self.read_local_in_chunks(paths, files, part_bytes).await,
            None => try_join_all(paths.into_iter().map(|path| self.read_remote_in_chunks(path, part_bytes))).await,
        }
    }

    /// Reads several files in one task, because changing threads takes longer than reading a small
    /// file. When the files read so far fill one chunk, the other files are left for later.
    async fn read_local_in_chunks(&self, paths: Vec<Path>, files: Vec<PathBuf>, part_bytes: usize) -> Result<Vec<ChunkedRead>> {
        let within = self.within();
        let read = tokio::task::spawn_blocking(move || {
            let mut left = part_bytes;
            let begin = |file: PathBuf| {
                if left == 0 {
                    return Ok((None, Rest::Local(file, None)));
                }
                let (bytes, source) = read_file(file, None, part_bytes, &within)?;
                left = left.saturating_sub(bytes.len());
                Ok((Some(bytes), source))
            };
            files.into_iter().map(begin).collect::<Vec<io::Result<_>>>()
        });
        let begun = read.await.at(self.url())?.into_iter().zip(paths).map(|(begun, path)| match begun {
            Ok((ahead, source)) => Ok(ChunkedRead { store: self.clone(), path, part_bytes, ahead, source }),
            Err(error) => Err(error).at(self.describe(&path)),
        });
        begun.collect()
    }

    async fn read_remote_in_chunks(&self, path: Path, part_bytes: usize) -> Result<ChunkedRead> {
        let found = self.retry(|| self.object_store().get(&path)).await.map_err(|error| self.failed(&error, &path))?;
        let source = Rest::Remote(found.into_stream());
        let mut parts = ChunkedRead { store: self.clone(), path, part_bytes, ahead: None, source };
        parts.ahead = Some(parts.next().await?);
        Ok(parts)
    }
}

/// Returns the next chunk of a file, and the rest of the file.
fn read_file(path: PathBuf, opened: Option<File>, part_bytes: usize, within: &Within) -> io::Result<(Bytes, Rest)> {
    let mut file = match opened {
        Some(file) => file,
        None => within.open(&path)?,
    };
    let left = file.metadata()?.len().saturating_sub(file.stream_position()?);
    let mut bytes = Vec::with_capacity(usize::try_from(left).unwrap_or(part_bytes).min(part_bytes) + 1);
    file.by_ref().take(part_bytes as u64).read_to_end(&mut bytes)?;
    let rest = if bytes.len() == part_bytes { Rest::Local(path, Some(file)) } else { Rest::End };
    Ok((bytes.into(), rest))
}

impl ChunkedRead {
    /// Returns the next chunk. It may be slightly larger than requested. It is smaller, or empty,
    /// only at the end.
    pub(crate) async fn next(&mut self) -> Result<Bytes> {
        if let Some(ahead) = self.ahead.take() {
            return Ok(ahead);
        }
        let part_bytes = self.part_bytes;
        match std::mem::replace(&mut self.source, Rest::End) {
            Rest::End => Ok(Bytes::new()),
            Rest::Local(file, opened) => {
                let within = self.store.within();
                let read = move |file| read_file(file, opened, part_bytes, &within);
                let (bytes, rest) = self.store.blocking(&self.path, file, read).await?;
                self.source = rest;
                Ok(bytes)
            }
            Rest::Remote(mut stream) => {
                let mut read: Option<Bytes> = None;
                let mut joined = BytesMut::new();
                while joined.len() + read.as_ref().map_or(0, Bytes::len) < part_bytes {
                    let Some(bytes) = stream.next().await else { return Ok(both(read, joined)) };
                    let bytes = bytes.map_err(|error| self.store.failed(&error, &self.path))?;
                    // A single piece is returned without a copy.
                    if read.is_none() && joined.is_empty() {
                        read = Some(bytes);
                    } else {
                        joined.extend_from_slice(&read.take().unwrap_or_default());
                        joined.extend_from_slice(&bytes);
                    }
                }
                self.source = Rest::Remote(stream);
                Ok(both(read, joined))
            }
        }
    }
}

fn both(one: Option<Bytes>, joined: BytesMut) -> Bytes {
    one.unwrap_or_else(|| joined.freeze())
}
