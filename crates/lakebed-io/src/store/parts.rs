//! Objects that may be large, read from their beginning in parts.

use std::fs::File;
use std::io::{Read, Seek};
use std::path::PathBuf;

use bytes::{Bytes, BytesMut};
use futures::StreamExt;
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
    source: Source,
}

enum Source {
    /// A file, which is opened with the first read: one change of threads instead of two.
    Local(PathBuf, Option<File>),
    Remote(BoxStream<'static, object_store::Result<Bytes>>),
    End,
}

impl Store {
    /// Begins to read an object.
    pub(crate) async fn parts(&self, path: &Path) -> Result<Parts> {
        let source = match self.local_path(path) {
            Some(file) => Source::Local(file, None),
            None => {
                let found = self.object_store().get(path).await.map_err(|error| self.failed(&error, path))?;
                Source::Remote(found.into_stream())
            }
        };
        Ok(Parts { store: self.clone(), path: path.clone(), source })
    }
}

impl Parts {
    /// The next bytes: `least` of them or a few more; fewer, perhaps none, only at the end.
    pub(crate) async fn next(&mut self, least: usize) -> Result<Bytes> {
        match std::mem::replace(&mut self.source, Source::End) {
            Source::End => Ok(Bytes::new()),
            Source::Local(path, opened) => {
                let read = tokio::task::spawn_blocking(move || {
                    let mut file = match opened {
                        Some(file) => file,
                        None => File::open(&path)?,
                    };
                    let left = file.metadata()?.len().saturating_sub(file.stream_position()?);
                    let mut bytes = Vec::with_capacity(usize::try_from(left).unwrap_or(least).min(least) + 1);
                    file.by_ref().take(least as u64).read_to_end(&mut bytes).map(|_| (path, file, bytes))
                });
                let name = || self.store.describe(&self.path);
                let (path, file, bytes) = match read.await {
                    Ok(Ok(read)) => read,
                    Ok(Err(error)) => return Err(error).at(name()),
                    Err(error) => return Err(error).at(name()),
                };
                if bytes.len() == least {
                    self.source = Source::Local(path, Some(file));
                }
                Ok(bytes.into())
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
}

fn both(one: Option<Bytes>, joined: BytesMut) -> Bytes {
    one.unwrap_or_else(|| joined.freeze())
}
