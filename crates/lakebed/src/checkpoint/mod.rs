//! Writes checkpoints: the state of a version in a form that can be read without its history.
//!
//! The memory does not depend on the size of the table. `state` streams the rows in groups. The
//! groups are encoded in parallel and written in order, into one file or, for a V2 checkpoint, into
//! sidecars. The written files are read again before the checkpoint is announced. `ahead` writes the
//! checkpoint of a clone while the clone collects its files.

mod ahead;
mod classic;
mod group_file;
mod state;
mod v2;
mod written;

use std::collections::HashSet;
use std::sync::Arc;

use lakebed_core::action::Action;
use lakebed_core::feature::check_write;
use lakebed_core::log::checkpoint::write::{CheckpointRows, TableHead};
use lakebed_core::log::checksum::{Tally, VersionChecksum};
use lakebed_core::log::files::FileKey;
use lakebed_core::log::hint::Hint;
use lakebed_core::path::LogPath;
use lakebed_io::log;

use crate::clustering::clustering_paths;
use crate::snapshot::commit_info;
use crate::{Error, Result, Snapshot};

pub(crate) use ahead::CheckpointAhead;
use state::{CheckpointState, first_actions};
pub(crate) use state::{other_actions, tombstones};
pub(crate) use v2::write_compatible_top;
use written::WrittenCheckpoint;

/// The result of writing a checkpoint.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckpointOutcome {
    /// The version of the checkpoint.
    pub version: u64,
    /// The name in the log of the checkpoint file, or of the file that names the other files.
    pub name: String,
    /// The total size of all its files.
    pub size_bytes: u64,
    /// The number of actions in the checkpoint.
    pub num_actions: u64,
    /// The number of files in the table.
    pub num_files: u64,
    /// The number of tombstones.
    pub num_tombstones: u64,
    /// Whether `_last_checkpoint` now names this checkpoint. False if it names a later one.
    pub is_last: bool,
    /// The checksum of the version, computed from the checkpoint; None if it cannot be computed.
    pub checksum: Option<VersionChecksum>,
}

impl Snapshot {
    /// Writes a checkpoint of this version, of the kind that the table's properties set, and names
    /// it in `_last_checkpoint`.
    ///
    /// Two writers may do this at once. Both write the same state, and a file becomes visible as a
    /// whole or not at all.
    ///
    /// ```no_run
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> lakebed::Result<()> {
    /// let outcome = lakebed::Table::at("/data/events").open().await?.snapshot().await?.checkpoint().await?;
    /// println!("{} files in {} bytes", outcome.num_files, outcome.size_bytes);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn checkpoint(&self) -> Result<CheckpointOutcome> {
        self.checkpoint_without(&Arc::default()).await
    }

    /// Writes a checkpoint without the tombstones of these paths. Their files must not exist any
    /// more, or be about to be deleted.
    pub(crate) async fn checkpoint_without(&self, forgotten: &Arc<HashSet<FileKey>>) -> Result<CheckpointOutcome> {
        self.refuse_pending("a checkpoint")?;
        check_write(self.by_log().await?.protocol(), self.url())?;
        let mut log = self.readable_log().await?;
        loop {
            match log.snapshot().write_checkpoint(forgotten).await {
                // All log files except the commits can be replaced. So the state is built again
                // without the file that was broken.
                Err(error) => log.mend(error).await?,
                outcome => return outcome,
            }
        }
    }

    async fn write_checkpoint(&self, forgotten: &Arc<HashSet<FileKey>>) -> Result<CheckpointOutcome> {
        let state = CheckpointState::read(self, Arc::clone(forgotten)).await?;
        let others = state.others().to_vec();
        let rows = self.checkpoint_rows(&others)?;
        let written = match self.writes_v2() {
            true => v2::write(self, rows, state).await?,
            false => classic::write(self, rows, state).await?,
        };
        self.announce(written, &others).await
    }

    /// Writes the checkpoint of the table's first version. Its files, of this number, are in a
    /// checkpoint that was begun before the commit. `lines` are the other lines of the commit.
    ///
    /// # Errors
    /// The checkpoint that was begun is not of this version, or it could not be written. In both cases
    /// it is gone.
    pub(crate) async fn finish_checkpoint(&self, ahead: CheckpointAhead, lines: &[u8], files: u64) -> Result<CheckpointOutcome> {
        let others = first_actions(self, lines)?;
        let written = ahead.finish(self, &others, files).await?;
        self.announce(written, &others).await
    }

    /// Names a complete checkpoint in `_last_checkpoint`.
    async fn announce(&self, written: WrittenCheckpoint, others: &[Action]) -> Result<CheckpointOutcome> {
        let hint = self.hint_at(&written);
        let is_last = log::write_hint(self.store(), &hint).await?;
        tracing::info!(table = self.url(), version = self.version(), name = written.name, "checkpoint written");
        let count = |column: &str| written.summary.counts.get(column).copied().unwrap_or(0);
        Ok(CheckpointOutcome {
            version: self.version(),
            size_bytes: written.size_bytes,
            num_actions: written.summary.counts.values().sum(),
            num_files: count("add"),
            num_tombstones: count("remove"),
            is_last,
            checksum: self.known_checksum(written.summary.tally.clone(), others).await,
            name: written.name,
        })
    }

    fn checkpoint_rows(&self, others: &[Action]) -> Result<CheckpointRows> {
        let table = TableHead {
            protocol: self.protocol(),
            metadata: self.metadata(),
            schema: self.schema(),
            properties: self.properties(),
        };
        let clustering: Vec<Vec<String>> = others
            .iter()
            .flat_map(|action| match action {
                Action::DomainMetadata(domain) => clustering_paths(domain),
                _ => Vec::new(),
            })
            .collect();
        // An invalid property is not an error of the old checkpoint.
        let not_corrupt =
            |error: Error| Error::invalid_input(format!("{}: a checkpoint could not be written: {error}", self.url()));
        CheckpointRows::new(table, &clustering).map_err(not_corrupt)
    }

    pub(crate) fn writes_v2(&self) -> bool {
        v2::are_written(self.protocol(), self.properties())
    }

    fn hint_at(&self, written: &WrittenCheckpoint) -> Hint {
        let long = |count: u64| i64::try_from(count).ok();
        Hint {
            version: self.version(),
            size: long(written.summary.counts.values().sum()),
            size_in_bytes: long(written.size_bytes),
            num_of_add_files: long(written.summary.counts.get("add").copied().unwrap_or(0)),
            ..written.hint.clone()
        }
    }

    /// Returns the checksum of this version. Its state is now completely known.
    async fn known_checksum(&self, tally: Tally, others: &[Action]) -> Option<VersionChecksum> {
        let info = commit_info(self.store(), &LogPath::commit(self.version())).await.ok().flatten();
        let (mut transactions, mut domains) = (Vec::new(), Vec::new());
        for action in others {
            match action {
                Action::SetTransaction(txn) => transactions.push(txn.clone()),
                Action::DomainMetadata(domain) => domains.push(domain.clone()),
                _ => {}
            }
        }
        let head = (self.protocol().clone(), self.metadata().clone());
        VersionChecksum::of_state(tally, head, (Some(transactions), Some(domains)), info.as_ref())
    }
}
