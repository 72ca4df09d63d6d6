//! Objects that may be large, read from their beginning in parts.

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

use super::Store;
use crate::at::At;

/// What is left to read of an object.
pub(crate) struct Parts {
    store: Store,
    path: Path,
    /// What was read before it is asked for.
    ahead: Option<Bytes>,
    source: Source,
}

enum Source {
    Local(LocalFile),
    Remote(BoxStream<'static, object_store::Result<Bytes>>),
    End,
}

/// A file, which is opened with the first read.
struct LocalFile {
    path: PathBuf,
    opened: Option<File>,
}

impl Store {
    /// Begins to read objects in parts of so many bytes; the first parts are read at once.
    pub(crate) async fn parts(&self, paths: Vec<Path>, part_bytes: usize) -> Result<Vec<Parts>> {
        match paths.iter().map(|path| self.local_path(path)).collect() {
            Some(files) => self.local_parts(paths, files, part_bytes).await,
            None => try_join_all(paths.into_iter().map(|path| self.remote_parts(path, part_bytes))).await,
        }
    }

    /// To change threads takes longer than to read a small file, so it is done once. When a part of bytes has come together the other files
    /// are left for later.
    async fn local_parts(&self, paths: Vec<Path>, files: Vec<PathBuf>, part_bytes: usize) -> Result<Vec<Parts>> {
        let read = tokio::task::spawn_blocking(move || {
            let mut left = part_bytes;
            let begin = |path| {
                let mut file = LocalFile { path, opened: None };
                let ahead = (left > 0).then(|| file.read(part_bytes)).transpose()?;
                left = left.saturating_sub(ahead.as_ref().map_or(0, Vec::len));
                Ok((file, ahead))
            };
            files.into_iter().map(begin).collect::<Vec<io::Result<_>>>()
        });
        let begun = read.await.at(self.url())?.into_iter().zip(paths).map(|(begun, path)| {
            let (file, ahead) = begun.at(self.describe(&path))?;
            let mut parts = Parts { store: self.clone(), path, ahead: None, source: Source::End };
            match ahead {
                Some(bytes) => parts.ahead = Some(parts.taken(bytes, file, part_bytes)),
                None => parts.source = Source::Local(file),
            }
            Ok(parts)
        });
        begun.collect()
    }

    async fn remote_parts(&self, path: Path, part_bytes: usize) -> Result<Parts> {
        let found = self.object_store().get(&path).await.map_err(|error| self.failed(&error, &path))?;
        let mut parts = Parts { store: self.clone(), path, ahead: None, source: Source::Remote(found.into_stream()) };
        parts.ahead = Some(parts.next(part_bytes).await?);
        Ok(parts)
    }
}

impl LocalFile {
    /// The next bytes: `least` of them, or fewer at the end.
    fn read(&mut self, least: usize) -> io::Result<Vec<u8>> {
        let file = match &mut self.opened {
            Some(file) => file,
            closed => closed.insert(File::open(&self.path)?),
        };
        let left = file.metadata()?.len().saturating_sub(file.stream_position()?);
        let mut bytes = Vec::with_capacity(usize::try_from(left).unwrap_or(least).min(least) + 1);
        file.take(least as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

impl Parts {
    /// The next bytes: `least` of them or a few more; fewer, perhaps none, only at the end.
    pub(crate) async fn next(&mut self, least: usize) -> Result<Bytes> {
        if let Some(ahead) = self.ahead.take() {
            return Ok(ahead);
        }
        match std::mem::replace(&mut self.source, Source::End) {
            Source::End => Ok(Bytes::new()),
            Source::Local(mut file) => {
                let read = tokio::task::spawn_blocking(move || file.read(least).map(|bytes| (bytes, file)));
                let name = || self.store.describe(&self.path);
                let (bytes, file) = read.await.at(name())?.at(name())?;
                Ok(self.taken(bytes, file, least))
            }
            Source::Remote(mut stream) => {
                let mut read: Option<Bytes> = None;
                let mut joined = BytesMut::new();
                while joined.len() + read.as_ref().map_or(0, Bytes::len) < least {
                    let Some(bytes) = stream.next().await else { return Ok(both(read, joined)) };
                    let bytes = bytes.map_err(|error| self.store.failed(&error, &self.path))?;
                    // One piece needs no copy.
                    if read.is_none() && joined.is_empty() {
                        read = Some(bytes);
                    } else {
                        joined.extend_from_slice(&read.take().unwrap_or_default());
                        joined.extend_from_slice(&bytes);
                    }
                }
                self.source = Source::Remote(stream);
                Ok(both(read, joined))
            }
        }
    }

    /// What was read of a file, in which there may be more.
    fn taken(&mut self, bytes: Vec<u8>, file: LocalFile, least: usize) -> Bytes {
        if bytes.len() == least {
            self.source = Source::Local(file);
        }
        bytes.into()
    }
}

fn both(one: Option<Bytes>, joined: BytesMut) -> Bytes {
    one.unwrap_or_else(|| joined.freeze())
}
