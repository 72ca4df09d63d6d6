//! Writing checkpoints: the state of a version in a form that is read without its history.
//!
//! Nothing of the size of the table is held in memory: `state` streams the rows in groups, which are encoded side by side and written as
//! they come, into one file or, of a V2 checkpoint, into sidecars. What was written is read again before anybody is told of it.

mod classic;
mod state;
mod v2;

use std::sync::Arc;

use arrow_schema::SchemaRef;
use lakebed_core::action::Action;
use lakebed_core::feature::{check_write, supported_features};
use lakebed_core::log::checkpoint::write::{CheckpointRows, TableHead};
use lakebed_core::log::checksum::{Tally, VersionChecksum};
use lakebed_core::log::hint::Hint;
use lakebed_core::path::LogPath;
use lakebed_core::property::CheckpointPolicy;
use lakebed_io::checkpoint::{CheckpointFile, RowCounts, count_rows};
use lakebed_io::log;
use lakebed_io::store::{Existing, Store};
use object_store::path::Path;

use crate::clustering::clustering_paths;
use crate::snapshot::commit_info;
use crate::{Error, ErrorKind, Result, Snapshot};

use state::{Group, State};
pub(crate) use v2::write_compatible_top;

/// The protocol's name of the feature without which no V2 checkpoint may be written.
const V2_FEATURE: &str = "v2Checkpoint";

/// A checkpoint that was written.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckpointOutcome {
    /// Of which version.
    pub version: u64,
    /// The name of its file, or of the one that leads to the others, in the log.
    pub name: String,
    /// All its files together.
    pub size_bytes: u64,
    /// How many actions it holds.
    pub num_actions: u64,
    /// How many files the table has.
    pub num_files: u64,
    /// How many files it remembers that the table no longer has.
    pub num_tombstones: u64,
    /// Whether `_last_checkpoint` names it now; not if it names a later one.
    pub is_last: bool,
    /// The checksum of the version, which the checkpoint made known; none if it cannot be known.
    pub checksum: Option<VersionChecksum>,
}

/// Files of a checkpoint, written and read again.
struct Written {
    /// Of the file that is, or leads to, the whole.
    name: String,
    size_bytes: u64,
    summary: Summary,
    /// What `_last_checkpoint` says of it besides sums.
    hint: Hint,
}

/// What was written.
#[derive(Default)]
struct Summary {
    counts: RowCounts,
    tally: Tally,
}

impl Snapshot {
    /// Writes a checkpoint of this version, of the kind that the table's properties ask for, and names it in `_last_checkpoint`.
    ///
    /// Two writers may do so at once: both write the same state, and a file is seen whole or not at all.
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
        check_write(self.by_log().await?.protocol(), self.url())?;
        let mut log = self.readable_log().await?;
        loop {
            match log.snapshot().write_checkpoint().await {
                // What the log has besides its commits is disposable; so the state is put together anew without what turned out to be broken.
                Err(error) => log.mend(error).await?,
                outcome => return outcome,
            }
        }
    }

    async fn write_checkpoint(&self) -> Result<CheckpointOutcome> {
        let state = State::read(self).await?;
        let others = state.others().to_vec();
        let rows = self.checkpoint_rows(&others)?;
        let written = match self.writes_v2() {
            true => v2::write(self, rows, state).await?,
            false => classic::write(self, rows, state).await?,
        };
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
            checksum: self.known_checksum(written.summary.tally.clone(), &others).await,
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
        // A property that makes no sense is no fault of the old checkpoint's.
        let not_corrupt = |error: Error| Error::invalid_input(format!("{}: no checkpoint can be written: {error}", self.url()));
        CheckpointRows::new(table, &clustering).map_err(not_corrupt)
    }

    pub(crate) fn writes_v2(&self) -> bool {
        self.properties().checkpoint_policy == CheckpointPolicy::V2 && supported_features(self.protocol()).contains(&V2_FEATURE)
    }

    fn hint_at(&self, written: &Written) -> Hint {
        let long = |count: u64| i64::try_from(count).ok();
        Hint {
            version: self.version(),
            size: long(written.summary.counts.values().sum()),
            size_in_bytes: long(written.size_bytes),
            num_of_add_files: long(written.summary.counts.get("add").copied().unwrap_or(0)),
            ..written.hint.clone()
        }
    }

    /// The checksum of this version, all of whose state is known now.
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

/// Writes a file of one group, reads it again, and tells its size and what is in it.
async fn write_group(
    store: &Store,
    (path, existing): (&Path, Existing),
    (rows, schema): (Arc<CheckpointRows>, SchemaRef),
    group: Group,
) -> Result<(u64, Summary)> {
    let mut file = CheckpointFile::begin(store, path, schema, existing).await?;
    let (row_group, summary) = match group.encode(rows, file.encoders().begin()?).await {
        Ok(encoded) => encoded,
        Err(error) => {
            file.abort().await;
            return Err(error);
        }
    };
    file.append(row_group).await?;
    let size_bytes = file.finish().await?;
    summary.check(count_rows(store, path).await, &store.describe(path))?;
    Ok((size_bytes, summary))
}

/// The error of who reads again what was just written. It says nothing about the rest of the log: what a store does not find that has
/// taken it may be there later, and what is broken was written so.
fn unread(error: Error, file: &str) -> Error {
    let message = format!("{file} was written but cannot be read");
    let kind = match error.kind() {
        ErrorKind::Store { object, not_found: true, .. } => {
            ErrorKind::Store { object: object.clone(), retryable: true, not_found: false }
        }
        kind @ ErrorKind::Store { .. } => kind.clone(),
        _ => ErrorKind::Internal,
    };
    Error::new(kind, message).with_source(error)
}

impl Summary {
    fn add(&mut self, other: &Self) {
        self.tally.merge(&other.tally);
        for (column, rows) in &other.counts {
            *self.counts.entry(column.clone()).or_default() += rows;
        }
    }

    /// Refuses what was read of a file that should hold this.
    fn check(&self, found: Result<RowCounts>, file: &str) -> Result<()> {
        let found = found.map_err(|error| unread(error, file))?;
        if found != self.counts {
            let message = format!("{file} was written with these rows: {:?}, but holds these: {found:?}", self.counts);
            return Err(Error::internal(message));
        }
        Ok(())
    }
}
