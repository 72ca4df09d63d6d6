//! The source of a file's bytes: a local file, or an object with ranges that are fetched.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path as FilePath;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use object_store::path::Path;

use lakebed_core::{Error, Result};

use crate::at::At;
use crate::cache::{self, FileKey};
use crate::store::{ObjectVersion, Store};

/// The greatest distance of local ranges that are read together. A system call costs more than
/// copying the bytes between them.
const LOCAL_GAP: u64 = 16 * 1024;

/// The bytes of one file.
#[derive(Clone)]
pub(super) enum FileBytes {
    Local {
        file: Arc<File>,
        size: u64,
        name: Arc<str>,
    },
    /// An object of another store. `whole` has all bytes of a small object, which were fetched with
    /// its metadata. If others may replace the object, `seen` has its version, and no bytes of
    /// another version are returned.
    Remote {
        store: Store,
        path: Path,
        name: Arc<str>,
        size: u64,
        whole: Option<Bytes>,
        seen: Option<Arc<OnceLock<ObjectVersion>>>,
    },
}

impl FileBytes {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Local { name, .. } | Self::Remote { name, .. } => name,
        }
    }

    pub(super) fn is_local(&self) -> bool {
        matches!(self, Self::Local { .. })
    }

    pub(super) fn size(&self) -> u64 {
        match self {
            Self::Local { size, .. } | Self::Remote { size, .. } => *size,
        }
    }

    /// Returns the bytes of these ranges.
    pub(super) async fn read(&self, ranges: Vec<Range<u64>>) -> Result<Vec<Bytes>> {
        self.check(&ranges)?;
        match self {
            Self::Local { .. } => {
                let source = self.clone();
                tokio::task::spawn_blocking(move || source.read_local(&ranges)).await.at(self.name())?
            }
            Self::Remote { whole: Some(whole), .. } => ranges.iter().map(|range| slice(whole, range, self.name())).collect(),
            Self::Remote { store, path, seen: None, .. } => store.get_ranges(path, &ranges).await,
            Self::Remote { store, path, seen: Some(seen), size, .. } => {
                let read = store.get_ranges_of(path, &ranges, seen).await;
                // The next open must not find the footer of an object that no longer exists.
                if read.as_ref().is_err_and(Error::is_replaced) {
                    cache::remove(&FileKey::remote(store, path, *size));
                }
                read
            }
        }
    }

    /// Returns the bytes of these ranges of a local file. The call blocks.
    pub(super) fn read_local(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let Self::Local { file, name, .. } = self else {
            return Err(Error::internal("a remote object was read as a local file"));
        };
        self.check(ranges)?;
        let mut read: Vec<(Range<u64>, Bytes)> = Vec::new();
        for range in coalesced(ranges) {
            let bytes = read_at(file, &range).at(name)?;
            read.push((range, bytes));
        }
        ranges.iter().map(|range| cut(&read, range, name)).collect()
    }

    /// Checks ranges from the file's own metadata. They must lie inside the file, so that no read
    /// allocates more than the file holds.
    fn check(&self, ranges: &[Range<u64>]) -> Result<()> {
        match ranges.iter().find(|range| range.start > range.end || range.end > self.size()) {
            None => Ok(()),
            Some(range) => {
                let said = format!(
                    "its metadata refers to bytes {} to {}, but the file has {} bytes",
                    range.start,
                    range.end,
                    self.size()
                );
                Err(Error::corrupt(self.name(), said))
            }
        }
    }
}

/// Opens a local file.
pub(super) fn open_local(store: &Store, path: &FilePath, name: &str) -> Result<(FileBytes, std::fs::Metadata)> {
    let file = store.within().open(path).at(name)?;
    let metadata = file.metadata().at(name)?;
    let source = FileBytes::Local { file: Arc::new(file), size: metadata.len(), name: name.into() };
    Ok((source, metadata))
}

/// Returns the fewest reads that cover the ranges, in ascending order.
fn coalesced(ranges: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut sorted: Vec<Range<u64>> = ranges.to_vec();
    sorted.sort_unstable_by_key(|range| (range.start, range.end));
    let mut joined: Vec<Range<u64>> = Vec::with_capacity(sorted.len());
    for range in sorted {
        match joined.last_mut() {
            Some(last) if range.start <= last.end.saturating_add(LOCAL_GAP) => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// Returns the part of a read that covers this range.
fn cut(read: &[(Range<u64>, Bytes)], range: &Range<u64>, name: &str) -> Result<Bytes> {
    let after = read.partition_point(|(covered, _)| covered.start <= range.start);
    let found = after.checked_sub(1).and_then(|index| read.get(index));
    let (covered, bytes) = found.ok_or_else(|| Error::internal(format!("{name}: a range was not read")))?;
    slice(bytes, &(range.start - covered.start..range.end - covered.start), name)
}

fn slice(bytes: &Bytes, range: &Range<u64>, name: &str) -> Result<Bytes> {
    let (start, end) = (usize::try_from(range.start), usize::try_from(range.end));
    match (start, end) {
        (Ok(start), Ok(end)) if start <= end && end <= bytes.len() => Ok(bytes.slice(start..end)),
        _ => Err(Error::internal(format!("{name}: a range was not read"))),
    }
}

fn length(range: &Range<u64>) -> u64 {
    range.end - range.start
}

fn read_at(file: &File, range: &Range<u64>) -> io::Result<Bytes> {
    let length = usize::try_from(length(range)).map_err(io::Error::other)?;
    let mut buffer = vec![0; length];
    read_exact_at(file, &mut buffer, range.start)?;
    Ok(buffer.into())
}

#[cfg(unix)]
fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        let count = std::os::windows::fs::FileExt::seek_read(file, buffer, offset)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        offset += count as u64;
        buffer = &mut buffer[count..];
    }
    Ok(())
}
