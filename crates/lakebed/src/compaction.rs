//! Log compactions: one file replaces a range of commits, so that readers need not read each
//! commit.
//!
//! Nothing depends on compactions, and lakebed's own readers do not use them: some writers leave
//! out removals that an older checkpoint needs, and a reader cannot tell their compactions from
//! others. `lakebed_core::log::compaction` decides which actions a compaction keeps.

use std::ops::RangeInclusive;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use lakebed_core::action::json::CommitLines;
use lakebed_core::feature::check_write;
use lakebed_core::log::compaction::compact;
use lakebed_core::path::commit_name;
use lakebed_io::store::PutOutcome;

use crate::{Error, Result, Snapshot};

/// The number of commits that are read at a time.
const CONCURRENCY: usize = 16;

/// The most bytes of commits in one compaction. All its commits are in memory together.
const MAX_BYTES: usize = 256 << 20;

impl Snapshot {
    /// Writes the compaction of these versions and returns the name of its file; None if the file
    /// exists already.
    ///
    /// The compaction keeps every removal of these versions, of files and of domains, whatever its
    /// age, because a removal can apply to an addition that is older than these versions.
    pub async fn compact_log(&self, versions: RangeInclusive<u64>) -> Result<Option<String>> {
        self.refuse_pending("a compaction of the log")?;
        check_write(self.protocol(), self.url())?;
        let (first, last) = (*versions.start(), *versions.end());
        if first >= last || last > self.version() {
            let message = format!(
                "versions {first} to {last}: a log compaction needs at least two versions, none of them after {}",
                self.version()
            );
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
                return Err(Error::invalid_input(
                    "the commits of these versions are too large for one log compaction: choose fewer versions",
                ));
            }
            all.push(commit);
        }
        Ok(all)
    }
}
