//! The state of a version as a stream of rows, in groups of bounded size.

use std::collections::HashSet;
use std::pin::pin;
use std::sync::Arc;
use std::thread::available_parallelism;

use arrow_array::{Array, BooleanArray, RecordBatch};
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use lakebed_core::action::json::{CommitLines, each_other};
use lakebed_core::action::{Action, DomainMetadata, SetTransaction};
use lakebed_core::log::checkpoint::columns;
use lakebed_core::log::checkpoint::write::{ActionRows, CheckpointRows, Tombstones, old_tombstones, state_actions};
use lakebed_core::log::files::{FileBatch, FileKey};
use lakebed_core::log::replay::Layers;
use lakebed_core::path::commit_name;
use lakebed_io::checkpoint::{self, Content, Encoder, RowGroup};
use lakebed_io::log;
use tokio::sync::mpsc::Sender;
use tokio::task::{JoinError, JoinHandle};

use super::written::WrittenCounts;
use crate::runtime::stream::produce;
use crate::scan::plan::{Plan, PlanOptions};
use crate::{Error, Result, Snapshot};

/// The approximate bytes of a group before it is encoded. A few groups and their encoded forms are
/// in memory at a time.
const GROUP_BYTES: usize = 24 << 20;

/// The most rows of a group, even if the rows are small.
const GROUP_ROWS: usize = 128 * 1024;

/// Returns the number of groups that are encoded at a time.
pub(super) fn groups_at_once() -> usize {
    available_parallelism().map_or(1, usize::from).min(4)
}

/// The content of a checkpoint.
pub(super) struct CheckpointState {
    snapshot: Snapshot,
    others: Vec<Action>,
    /// The old checkpoint, on which the commits build.
    old: Option<Content>,
    /// The paths of files without tombstones in this checkpoint.
    forgotten: Arc<HashSet<FileKey>>,
}

/// Rows that become one row group or one sidecar.
#[derive(Default)]
pub(super) struct CheckpointGroup {
    pieces: Vec<GroupRows>,
    bytes: usize,
    rows: usize,
}

/// A group that is being encoded.
pub(super) type EncodingGroup = JoinHandle<Result<(RowGroup, WrittenCounts)>>;

/// Returns the row group and its counts.
pub(super) fn encoded(done: Result<Result<(RowGroup, WrittenCounts)>, JoinError>) -> Result<(RowGroup, WrittenCounts)> {
    done.map_err(|error| Error::internal("encoding a checkpoint").with_source(error))?
}

enum GroupRows {
    Others(ActionRows),
    Files(FileBatch),
    Tombstones(RecordBatch),
}

/// Returns all actions of a version's state except those of files. Transaction identifiers that
/// have expired are left out.
pub(crate) async fn other_actions(snapshot: &Snapshot) -> Result<Vec<Action>> {
    let layers = snapshot.layers().await?;
    let (mut transactions, mut domains) = (layers.transactions(), layers.domains());
    if let Some(files) = &snapshot.segment().checkpoint {
        for action in checkpoint::read_other_actions(snapshot.store(), files, columns::OTHERS).await? {
            match action {
                Action::SetTransaction(txn) => drop(transactions.entry(txn.app_id.clone()).or_insert(txn)),
                Action::DomainMetadata(domain) => drop(domains.entry(domain.domain.clone()).or_insert(domain)),
                _ => {}
            }
        }
    }
    Ok(actions_of(snapshot, transactions.into_values(), domains.into_values()))
}

/// Returns all actions of a table's first version except those of files. `lines` are the lines of its
/// commit, with or without those of files.
pub(super) fn first_actions(snapshot: &Snapshot, lines: &[u8]) -> Result<Vec<Action>> {
    let (mut transactions, mut domains) = (Vec::new(), Vec::new());
    each_other(CommitLines::whole(lines, &commit_name(snapshot.version())), |action| {
        match action {
            Action::SetTransaction(txn) => transactions.push(txn),
            Action::DomainMetadata(domain) => domains.push(domain),
            _ => {}
        }
        Ok(())
    })?;
    Ok(actions_of(snapshot, transactions, domains))
}

fn actions_of(
    snapshot: &Snapshot,
    transactions: impl IntoIterator<Item = SetTransaction>,
    domains: impl IntoIterator<Item = DomainMetadata>,
) -> Vec<Action> {
    let now_ms = snapshot.env().now_ms();
    let expired_ms = snapshot.properties().set_transaction_retention_ms.map(|retention| now_ms.saturating_sub(retention));
    state_actions((snapshot.protocol(), snapshot.metadata()), transactions, domains, expired_ms)
}

/// Returns the tombstones of a version within the retention period.
pub(crate) async fn tombstones(snapshot: &Snapshot) -> Result<BoxStream<'static, Result<FileBatch>>> {
    let old = match &snapshot.segment().checkpoint {
        Some(files) => Some(checkpoint::open(snapshot.store(), files).await?),
        None => None,
    };
    let state = CheckpointState { snapshot: snapshot.clone(), others: Vec::new(), old, forgotten: Arc::default() };
    let groups = produce(1, |sender| async move {
        let mut sink = GroupSender { sender: &sender, group: CheckpointGroup::default(), forgotten: &state.forgotten };
        state.send_tombstones(&mut sink).await?;
        sink.flush().await
    });
    let batches = |group: CheckpointGroup| {
        let batch = |piece| match piece {
            GroupRows::Tombstones(batch) => FileBatch::new(batch),
            GroupRows::Others(_) | GroupRows::Files(_) => Err(Error::internal("a tombstone that is none")),
        };
        stream::iter(group.pieces.into_iter().map(batch).collect::<Vec<_>>())
    };
    Ok(groups.map_ok(batches).try_flatten().boxed())
}

impl CheckpointState {
    /// Reads all actions except those of files.
    pub(super) async fn read(snapshot: &Snapshot, forgotten: Arc<HashSet<FileKey>>) -> Result<Self> {
        let others = other_actions(snapshot).await?;
        let old = match &snapshot.segment().checkpoint {
            Some(files) => Some(checkpoint::open(snapshot.store(), files).await?),
            None => None,
        };
        Ok(Self { snapshot: snapshot.clone(), others, old, forgotten })
    }

    /// Returns all actions except those of files.
    pub(super) fn others(&self) -> &[Action] {
        &self.others
    }

    /// Returns the files and tombstones, after the rows of `first`.
    pub(super) fn groups(self, first: Vec<ActionRows>) -> BoxStream<'static, Result<CheckpointGroup>> {
        produce(1, |sender| async move {
            let mut group = CheckpointGroup::default();
            group.push_others(first);
            let mut sink = GroupSender { sender: &sender, group, forgotten: &self.forgotten };
            self.send_files(&mut sink).await?;
            self.send_tombstones(&mut sink).await?;
            sink.flush().await
        })
    }

    async fn send_files(&self, sink: &mut GroupSender<'_>) -> Result<()> {
        let options = PlanOptions { whole_actions: true, ..PlanOptions::default() };
        let mut files = Plan::new(&self.snapshot, None, options)?.files();
        while let Some(files) = files.try_next().await? {
            sink.push(GroupRows::Files(files)).await?;
        }
        Ok(())
    }

    /// Sends the tombstones of the commits above the old checkpoint, then those of the old
    /// checkpoint.
    async fn send_tombstones(&self, sink: &mut GroupSender<'_>) -> Result<()> {
        let snapshot = &self.snapshot;
        let expired_ms = snapshot.env().now_ms().saturating_sub(snapshot.properties().deleted_file_retention_ms);
        let layers = snapshot.layers().await?;
        if layers.remove_files() {
            let mut tombstones = Tombstones::of_commits(layers, expired_ms);
            let mut parts = pin!(log::read_commits(snapshot.store(), &snapshot.segment().commits));
            while let Some(part) = parts.try_next().await? {
                sink.push_tombstones(tombstones.read(part.part())?).await?;
            }
            sink.push_tombstones(tombstones.finish()?).await?;
        }
        match &self.old {
            Some(old) => send_old_tombstones(old, layers, expired_ms, sink).await,
            None => Ok(()),
        }
    }
}

async fn send_old_tombstones(old: &Content, layers: &Layers, expired_ms: i64, sink: &mut GroupSender<'_>) -> Result<()> {
    if let Some((name, bytes)) = &old.json {
        let mut tombstones = Tombstones::of_checkpoint(layers, expired_ms);
        sink.push_tombstones(tombstones.read(CommitLines::whole(bytes, name))?).await?;
        sink.push_tombstones(tombstones.finish()?).await?;
    }
    for part in &old.parts {
        let Some(mut batches) = checkpoint::read_removes(part, columns::TOMBSTONES)? else { continue };
        while let Some(batch) = batches.try_next().await? {
            sink.push_tombstones(Some(old_tombstones(&batch, layers, expired_ms)?)).await?;
        }
    }
    Ok(())
}

/// Returns the tombstones of other paths.
fn without(tombstones: RecordBatch, forgotten: &HashSet<FileKey>) -> Result<RecordBatch> {
    let files = FileBatch::new(tombstones)?;
    let is_kept = |path: Option<&str>| Some(!forgotten.contains(&FileKey::new(path.unwrap_or_default(), None)));
    let keep: BooleanArray = files.paths()?.iter().map(is_kept).collect();
    Ok(files.filter(&keep)?.batch().clone())
}

/// Collects pieces into groups and sends them.
struct GroupSender<'a> {
    sender: &'a Sender<Result<CheckpointGroup>>,
    group: CheckpointGroup,
    forgotten: &'a HashSet<FileKey>,
}

impl GroupSender<'_> {
    async fn push(&mut self, piece: GroupRows) -> Result<()> {
        self.group.push(piece);
        if self.group.is_full() { self.flush().await } else { Ok(()) }
    }

    async fn push_tombstones(&mut self, batch: Option<RecordBatch>) -> Result<()> {
        let batch = match batch {
            Some(batch) if !self.forgotten.is_empty() => Some(without(batch, self.forgotten)?),
            batch => batch,
        };
        match batch.filter(|batch| batch.num_rows() > 0) {
            Some(batch) => self.push(GroupRows::Tombstones(batch)).await,
            None => Ok(()),
        }
    }

    async fn flush(&mut self) -> Result<()> {
        let group = std::mem::take(&mut self.group);
        if group.rows == 0 {
            return Ok(());
        }
        self.sender.send(Ok(group)).await.map_err(|_| Error::internal("the writer of a checkpoint stopped before its end"))
    }
}

impl CheckpointGroup {
    /// Creates a group of these rows alone.
    pub(super) fn of(rows: Vec<ActionRows>) -> Self {
        let mut group = Self::default();
        group.push_others(rows);
        group
    }

    fn push(&mut self, piece: GroupRows) {
        let (rows, bytes) = match &piece {
            GroupRows::Others(rows) => (rows.len(), rows.array.get_array_memory_size()),
            GroupRows::Files(files) => (files.len(), files.batch().get_array_memory_size()),
            GroupRows::Tombstones(batch) => (batch.num_rows(), batch.get_array_memory_size()),
        };
        self.pieces.push(piece);
        self.rows += rows;
        self.bytes += bytes;
    }

    /// Adds files.
    pub(super) fn push_files(&mut self, files: FileBatch) {
        self.push(GroupRows::Files(files));
    }

    /// Adds the rows of other actions.
    pub(super) fn push_others(&mut self, rows: Vec<ActionRows>) {
        rows.into_iter().for_each(|rows| self.push(GroupRows::Others(rows)));
    }

    /// Returns whether the next rows should go into another group.
    pub(super) fn is_full(&self) -> bool {
        self.bytes >= GROUP_BYTES || self.rows >= GROUP_ROWS
    }

    /// Encodes the group. Returns the row group and its counts.
    pub(super) async fn encode(self, rows: Arc<CheckpointRows>, encoder: Encoder) -> Result<(RowGroup, WrittenCounts)> {
        encoded(self.begin_encoding(rows, encoder).await)
    }

    /// Begins to encode the group on a thread for blocking work. [`encoded`] gives the result.
    pub(super) fn begin_encoding(self, rows: Arc<CheckpointRows>, encoder: Encoder) -> EncodingGroup {
        tokio::task::spawn_blocking(move || self.encode_here(&rows, encoder))
    }

    fn encode_here(self, rows: &CheckpointRows, mut encoder: Encoder) -> Result<(RowGroup, WrittenCounts)> {
        let mut summary = WrittenCounts::default();
        for piece in self.pieces {
            let filled = match piece {
                GroupRows::Others(rows) => rows,
                GroupRows::Files(files) => {
                    summary.tally.add_files(&files)?;
                    rows.adds(&files)?
                }
                GroupRows::Tombstones(batch) => rows.removes(&batch)?,
            };
            *summary.counts.entry(filled.column.clone()).or_default() += filled.len() as u64;
            encoder.write(&filled)?;
        }
        Ok((encoder.finish()?, summary))
    }
}
