//! Committing: writes the version with put-if-absent. If the version is taken, checks the commits
//! of other writers for conflicts and tries the next version.

use std::sync::Arc;

use bytes::Bytes;
use lakebed_core::commit::conflict::{PendingTransaction, check};
use lakebed_core::commit::info::{Operation, Provenance};
use lakebed_core::commit::validate;
use lakebed_core::error::ConflictKind;
use lakebed_core::log::checksum::FileChanges;
use lakebed_core::log::files::FileBatch;
use lakebed_core::path::{LogPath, commit_name};
use lakebed_core::property::{IsolationLevel, TableProperties};
use lakebed_io::log::{CommitPart, PutCommit, put_commit};
use lakebed_io::store::{CommitTurn, Content, Queue, Store, all_flushed};
use object_store::PutPayload;

use super::committed::Committed;
use super::retry::Pauses;
use super::winners::{ReadWinner, read_winners};
use super::{Transaction, group};
use crate::runtime::spool::Spooled;
use crate::snapshot::load;
use crate::upkeep::{NewCommit, count_lines};
use crate::{Error, ErrorKind, Result, Snapshot};

impl Transaction {
    /// Writes the version.
    ///
    /// # Errors
    /// [`ErrorKind::CommitConflict`] if another writer committed first and its commit conflicts
    /// with this one. Nothing was committed then.
    /// [`ErrorKind::CommitUnknown`] if the store does not report the outcome of the commit.
    ///
    /// On the pending state of a transaction with several operations, the changes become one more
    /// operation of it, and nothing is committed yet.
    pub async fn commit(self, operation: Operation) -> Result<Committed> {
        match self.snapshot.as_ref().map_or(Ok(None), Snapshot::stage) {
            Ok(None) => {}
            Ok(Some(stage)) => return self.stage(&stage, operation).await,
            Err(error) => {
                self.delete_vectors(false).await;
                return Err(error);
            }
        }
        if self.may_share() { group::commit(self, operation).await } else { self.commit_alone(operation).await }
    }

    /// Commits the transaction as a version of its own, without a group.
    pub(crate) async fn commit_alone(mut self, operation: Operation) -> Result<Committed> {
        // Callers hold this large future several times, and the stack of a thread is small.
        let outcome = Box::pin(self.put(operation)).await;
        match &outcome {
            // When other writers committed first, their deletion vectors were joined with those of
            // this transaction, so some of its files are stale.
            Ok(_) => self.delete_vectors(true).await,
            // The commit may exist, and then it may name the files of these deletion vectors.
            Err(error) if matches!(error.kind(), ErrorKind::CommitUnknown { .. }) => {}
            Err(_) => self.delete_vectors(false).await,
        }
        if let Some(unused) = self.take_checkpoint() {
            unused.abort().await;
        }
        outcome
    }

    async fn put(&mut self, operation: Operation) -> Result<Committed> {
        let told = self.provenance();
        let (mut pauses, mut turn, mut conflicts) = (Pauses::new(), CommitTurn::default(), 0);
        let begun = self.env.monotonic();
        let mut newer = Vec::new();
        loop {
            validate::check(&self.draft, &self.base, self.store.url())?;
            self.learn_timestamp().await?;
            if !turn.is_held() {
                turn = self.turn().await?;
            }
            let rendered = self.draft.render(&self.base, &operation, &told, self.env.now_ms())?;
            let (version, lines) = (rendered.version, Bytes::from(rendered.bytes));
            let Spooled { pieces, file } = self.copied_lines.clone();
            let pieces: Vec<Bytes> = std::iter::once(lines.clone()).chain(pieces).collect();
            let is_in_memory = file.is_none();
            let content = Content::from(PutPayload::from_iter(pieces.iter().cloned()));
            let content = file.into_iter().fold(content, Content::and_file);
            let first = match put_commit(&self.store, version, content, &told.txn_id, &self.unflushed).await? {
                PutCommit::Done(e_tag) => {
                    drop(turn);
                    // A commit that did not fit into memory is not folded here.
                    let newer = is_in_memory.then(|| newer.into_iter().chain([own_commit(version, pieces)]).collect());
                    let snapshot = match self.snapshot_of(version, newer, e_tag).await {
                        Some(snapshot) => Some(self.keep_up(snapshot, lines).await),
                        None => None,
                    };
                    return Ok(Committed { version, snapshot, conflicts });
                }
                PutCommit::Taken(first) => first,
            };
            conflicts += 1;
            if self.env.monotonic() - begun > self.settings.timeout {
                return Err(self.out_of_time(version));
            }
            // A pause before reading the winners lets this writer see more of them. A writer that
            // holds the turn needs no pause.
            if !turn.is_held() {
                self.env.sleep(pauses.next(self.env.random_u64())).await;
            }
            newer.extend(self.meet_winners(version, first, &told).await?);
        }
    }

    /// Waits for the turn of this writer. A writer that has to wait flushes its files to disk
    /// meanwhile, and not while other writers wait for it.
    async fn turn(&self) -> Result<CommitTurn> {
        match self.store.turn().await? {
            Queue::Mine(turn) => Ok(turn),
            Queue::Waiting(waiting) => {
                all_flushed(&self.unflushed).await?;
                Ok(waiting.turn().await)
            }
        }
    }

    /// Returns what is known about the files of this commit. The changes are exact if no file is
    /// added again: other added files have new names, and removed files were in the table, because a
    /// winner that removed the same file is a conflict.
    fn file_changes(&self) -> FileChanges {
        if self.adds_again { FileChanges::Unknown } else { FileChanges::Exact }
    }

    fn provenance(&self) -> Provenance {
        Provenance {
            read_version: self.base.version,
            isolation: self.draft.isolation(self.base.properties.isolation_level),
            is_blind_append: self.draft.is_blind_append(&self.read.reads),
            txn_id: self.env.new_uuid(),
            user_metadata: self.settings.user_metadata.clone(),
            entries: self.settings.commit_info.clone(),
            tags: self.settings.tags.clone(),
        }
    }

    /// Reads the timestamp of the previous version if this commit enables in-commit timestamps.
    /// PROTOCOL "In-Commit Timestamps": the first in-commit timestamp is later than the
    /// modification time of the previous version's file, whatever the clock of this process says.
    async fn learn_timestamp(&mut self) -> Result<()> {
        let Some(version) = self.base.version.filter(|_| !self.base.properties.in_commit_timestamps) else { return Ok(()) };
        let Some(metadata) = &self.draft.metadata else { return Ok(()) };
        if TableProperties::parse(&metadata.configuration)?.in_commit_timestamps {
            let before = self.store.head(&self.store.log_path(&commit_name(version))?).await?;
            self.base.in_commit_timestamp = Some(before.last_modified.timestamp_millis());
        }
        Ok(())
    }

    /// Checks the transaction against all commits that came first, and moves it on top of them.
    async fn meet_winners(&mut self, from: u64, first: Option<Vec<CommitPart>>, told: &Provenance) -> Result<Vec<ReadWinner>> {
        if self.snapshot.is_none() {
            return Err(table_exists(&self.store));
        }
        let winners = read_winners(&self.store, from, first).await?;
        for read in &winners {
            let winner = read.winner()?;
            let both_changed = check(self.pending(told.isolation), &self.base, &winner, |files| self.may_match(files))?;
            self.join_vectors(&winner, &both_changed).await?;
            self.read.reads.follow(&winner);
            self.base.advance(&winner)?;
        }
        Ok(winners)
    }

    fn pending(&self, isolation: IsolationLevel) -> PendingTransaction<'_> {
        PendingTransaction { draft: &self.draft, reads: &self.read.reads, isolation, table: self.store.url() }
    }

    /// Returns whether any of these files may hold rows that were read.
    fn may_match(&self, files: &[FileBatch]) -> Result<bool> {
        for predicate in &self.read.predicates {
            for batch in files {
                if predicate.may_match(batch)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn out_of_time(&self, version: u64) -> Error {
        let (table, seconds) = (self.store.url(), self.settings.timeout.as_secs());
        let message = format!(
            "{table}: other writers committed first each time: for {seconds} s no version could be committed, and the last \
             attempt was version {version}; nothing was committed, try again"
        );
        let kind = ErrorKind::CommitConflict { kind: ConflictKind::ConcurrentWrite, winner_version: version, retryable: true };
        Error::new(kind, message)
    }

    /// Returns the snapshot of the version that was just committed. `newer` has the commits above the
    /// transaction's snapshot, if they are in memory. A failure to read it does not undo the commit.
    async fn snapshot_of(&self, version: u64, newer: Option<Vec<ReadWinner>>, e_tag: Option<String>) -> Option<Snapshot> {
        tracing::info!(table = self.store.url(), version, "committed");
        let advanced = match (&self.snapshot, newer) {
            (Some(snapshot), Some(newer)) => {
                let commits = newer.into_iter().map(|read| (read.path, read.parts)).collect();
                snapshot.advanced(commits, e_tag).await.ok()
            }
            _ => None,
        };
        let snapshot = match advanced.filter(|snapshot| snapshot.version() == version) {
            Some(snapshot) => Ok(snapshot),
            None => load(self.store.clone(), self.env.clone(), Some(version)).await,
        };
        let warn = |error: &Error| {
            let table = self.store.url();
            tracing::warn!(
                table,
                version,
                "{table}: version {version} was committed, but the new version cannot be read: {error}"
            );
        };
        snapshot.inspect_err(warn).ok()
    }

    /// Does the upkeep after a commit: its checksum, and a checkpoint if one is due. Returns the
    /// same version, based on the files that are now the best to read.
    async fn keep_up(&mut self, snapshot: Snapshot, lines: Bytes) -> Snapshot {
        let is_next = |before: &&Snapshot| before.version() + 1 == snapshot.version();
        let previous = self.snapshot.as_ref().filter(is_next).and_then(Snapshot::checksum).cloned();
        let copied = self.draft.copied.take();
        self.copied_lines = Spooled::default();
        let commit = NewCommit { lines, copied, changes: self.file_changes(), previous };
        let checkpoint = self.take_checkpoint();
        let done = snapshot.after_commit_with(&commit, checkpoint, self.settings.upkeep).await;
        if done.checkpoint.is_some()
            && let Ok(reloaded) = load(self.store.clone(), self.env.clone(), Some(snapshot.version())).await
        {
            return reloaded;
        }
        match done.checksum {
            Some(checksum) => snapshot.with_checksum(checksum),
            None => snapshot,
        }
    }
}

fn table_exists(store: &Store) -> Error {
    let kind = ErrorKind::CommitConflict { kind: ConflictKind::ConcurrentWrite, winner_version: 0, retryable: true };
    Error::new(kind, format!("{}: another writer created the table first", store.url()))
}

/// Returns the commit of this writer as if it had read it. Each piece has whole lines.
fn own_commit(version: u64, pieces: Vec<Bytes>) -> ReadWinner {
    let name = commit_name(version).into();
    let (mut parts, mut start, mut lines_before) = (Vec::with_capacity(pieces.len()), 0, 0);
    for lines in pieces {
        let (bytes, count) = (lines.len() as u64, count_lines(&lines) as usize);
        parts.push(CommitPart { name: Arc::clone(&name), lines, start, lines_before, is_last: false });
        (start, lines_before) = (start + bytes, lines_before + count);
    }
    if let Some(last) = parts.last_mut() {
        last.is_last = true;
    }
    ReadWinner { path: LogPath::commit(version), parts }
}
