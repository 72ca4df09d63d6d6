//! Reads the commits of a log as runs of whole lines. Most commits come in one part, and large ones
//! in several parts.

use std::sync::Arc;

use bytes::Bytes;
use futures::{Stream, StreamExt, TryStreamExt, stream};
use lakebed_core::action::json::CommitLines;
use lakebed_core::error::{Error, Result};
use lakebed_core::log::replay::CommitRange;
use lakebed_core::path::LogPath;
use memchr::{memchr_iter, memrchr};

use crate::store::{ChunkedRead, Store};

/// The number of commits that are fetched at a time.
pub(super) const CONCURRENCY: usize = 16;

/// The number of commits that one task opens on the local disk.
const TOGETHER: usize = 8;

/// The number of bytes that are read from a commit at once.
const PART_BYTES: usize = 4 << 20;

/// Whole lines of a commit.
#[derive(Debug, Clone)]
pub struct CommitPart {
    /// The name of the commit's file.
    pub name: Arc<str>,
    /// The lines of this part.
    pub lines: Bytes,
    /// The offset of the first line in the file.
    pub start: u64,
    /// The number of lines before this part.
    pub lines_before: usize,
    /// Whether this is the last part.
    pub is_last: bool,
}

impl CommitPart {
    /// Returns whether this part has all lines of the commit.
    pub fn is_whole(&self) -> bool {
        self.lines_before == 0 && self.is_last
    }

    /// Returns the lines in the form that the parser of actions takes.
    pub fn part(&self) -> CommitLines<'_> {
        CommitLines { name: &self.name, bytes: &self.lines, lines_before: self.lines_before }
    }

    /// Returns the position of the lines, for reading them again.
    pub fn place(&self) -> CommitRange {
        let bytes = self.start..self.start + self.lines.len() as u64;
        CommitRange { name: Arc::clone(&self.name), bytes, lines_before: self.lines_before }
    }
}

/// Reads commits or compactions, several at a time, in the order of `paths`.
pub fn read_commits(store: &Store, paths: &[LogPath]) -> impl Stream<Item = Result<CommitPart>> + Send + use<> {
    let together = if store.is_local() { TOGETHER } else { 1 };
    let groups: Vec<Vec<LogPath>> = paths.chunks(together).map(<[LogPath]>::to_vec).collect();
    let store = store.clone();
    stream::iter(groups)
        .map(move |group| CommitReader::begin(store.clone(), group))
        .buffered(CONCURRENCY.div_ceil(together))
        .map_ok(|group| stream::iter(group).flat_map(CommitReader::into_stream))
        .try_flatten()
}

/// Returns the error for a commit without a single action. Every writer puts at least `commitInfo`
/// into a commit, so the content of such a file was lost. A reader that ignores it loses rows
/// without notice.
pub fn without_actions(name: &str) -> Error {
    let message = "it holds no action, so the content of this commit was lost, for example by a power failure; restore the file \
                   from a copy of the table (the versions before it can still be read)";
    Error::corrupt(name, message)
}

/// Returns the lines at these places.
pub async fn read_places(store: &Store, places: &[CommitRange]) -> Result<Vec<Bytes>> {
    let read = |place: CommitRange| async move {
        let path = store.log_path(&place.name)?;
        store.get_ranges(&path, std::slice::from_ref(&place.bytes)).await
    };
    let ranges: Vec<Vec<Bytes>> = stream::iter(places.to_vec()).map(read).buffered(CONCURRENCY).try_collect().await?;
    Ok(ranges.into_iter().flatten().collect())
}

/// A commit that is being read.
struct CommitReader {
    name: Arc<str>,
    parts: ChunkedRead,
    /// The beginning of the next line.
    carry: Vec<u8>,
    start: u64,
    lines: usize,
    ended: bool,
}

impl CommitReader {
    async fn begin(store: Store, group: Vec<LogPath>) -> Result<Vec<Self>> {
        let paths = group.iter().map(|path| store.log_path(&path.name));
        let parts = store.read_in_chunks(paths.collect::<Result<_>>()?, PART_BYTES).await?;
        let begun = group.into_iter().zip(parts);
        Ok(begun
            .map(|(path, parts)| Self { name: path.name.into(), parts, carry: Vec::new(), start: 0, lines: 0, ended: false })
            .collect())
    }

    async fn advance(&mut self) -> Result<Option<CommitPart>> {
        while !self.ended {
            let bytes = self.parts.next().await?;
            self.ended = bytes.len() < PART_BYTES;
            let end = match memrchr(b'\n', &bytes) {
                _ if self.ended => bytes.len(),
                Some(last) => last + 1,
                // The line is longer than a part.
                None => {
                    self.carry.extend_from_slice(&bytes);
                    continue;
                }
            };
            let lines = self.joined(bytes.slice(..end));
            self.carry.extend_from_slice(bytes.get(end..).unwrap_or_default());
            let (start, lines_before) = (self.start, self.lines);
            if self.ended && start == 0 && lines.trim_ascii().is_empty() {
                return Err(without_actions(&self.name));
            }
            if !self.ended {
                self.start += lines.len() as u64;
                self.lines += memchr_iter(b'\n', &lines).count();
            }
            return Ok(Some(CommitPart { name: Arc::clone(&self.name), lines, start, lines_before, is_last: self.ended }));
        }
        Ok(None)
    }

    /// Returns the bytes that were carried over, followed by these bytes.
    fn joined(&mut self, bytes: Bytes) -> Bytes {
        if self.carry.is_empty() {
            return bytes;
        }
        let mut joined = std::mem::take(&mut self.carry);
        joined.extend_from_slice(&bytes);
        joined.into()
    }

    fn into_stream(self) -> impl Stream<Item = Result<CommitPart>> + Send {
        stream::try_unfold(self, |mut reading| async move { Ok(reading.advance().await?.map(|part| (part, reading))) })
    }
}
