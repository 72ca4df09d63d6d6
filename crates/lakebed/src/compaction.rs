//! Log compactions: one file that stands for a window of commits, for readers that would otherwise read them all.
//!
//! Nothing depends on them, lakebed's own readers least of all: some writers leave out removals that an older checkpoint needs, and
//! nobody can tell their compactions from others. What is left in one is decided by `lakebed_core::log::compaction`.

use std::ops::RangeInclusive;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use lakebed_core::action::json::CommitLines;
use lakebed_core::feature::check_write;
use lakebed_core::log::compaction::compact;
use lakebed_core::path::commit_name;
use lakebed_io::store::PutOutcome;

use crate::{Error, Result, Snapshot};

/// Commits that are fetched at a time.
const CONCURRENCY: usize = 16;

/// The commits of a window are in memory together.
const MAX_BYTES: usize = 256 << 20;

impl Snapshot {
    /// Writes the compaction of these versions and tells the name of its file; nothing if there is one already.
    ///
    /// It keeps every removal of the window, of files and of domains, whatever its age: what it undoes may be older than the window.
    pub async fn compact_log(&self, versions: RangeInclusive<u64>) -> Result<Option<String>> {
        check_write(self.protocol(), self.url())?;
        let (first, last) = (*versions.start(), *versions.end());
        if first >= last || last > self.version() {
            let message = format!("versions {first} to {last}: a compaction is of two or more versions up to {}", self.version());
            return Err(Error::invalid_input(message));
        }
        let commits = self.read_newest_first(versions).await?;
        let parts: Vec<(String, &Bytes)> = (first..=last).rev().map(commit_name).zip(&commits).collect();
        let kept = compact(parts.iter().map(|(name, bytes)| CommitLines::whole(bytes, name)))?;
        let mut text = Vec::with_capacity(kept.iter().map(|line| line.len() + 1).sum());
        for line in kept {
            text.extend_from_slice(line);
            text.push(b'\n');
        }
        let name = format!("{first:020}.{last:020}.compacted.json");
        let path = self.store().log_path(&name)?;
        let outcome = self.store().put_if_absent(&path, text.into()).await?;
        Ok((outcome == PutOutcome::Done).then_some(name))
    }

    async fn read_newest_first(&self, versions: RangeInclusive<u64>) -> Result<Vec<Bytes>> {
        let store = self.store();
        let read = |version: u64| async move { store.get(&store.log_path(&commit_name(version))?).await };
        let mut commits = stream::iter(versions.rev()).map(read).buffered(CONCURRENCY);
        let (mut all, mut bytes) = (Vec::new(), 0);
        while let Some(commit) = commits.try_next().await? {
            bytes += commit.len();
            if bytes > MAX_BYTES {
                return Err(Error::invalid_input("the commits of these versions are too large for one compaction: take fewer"));
            }
            all.push(commit);
        }
        Ok(all)
    }
}
