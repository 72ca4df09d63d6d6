//! How a stream with a log of schemas passes a change of schema: the batch before it ends there, the new schema is written down once that
//! batch is done, the stream stops, and when it is started again it reads with the new one.
//!
//! An engine commits an offset only when it has seen another one, so the place of a change has two offsets.

use lakebed_core::action::{Metadata, Protocol};

use super::Follow;
use super::offset::{Offset, Position};
use super::options::FollowOptions;
use super::schema::Schema;
use super::tracking::{SchemaLog, TrackedSchema, check_allowed};
use crate::changes::commits::{Commit, Commits, NONE, Wanted};
use crate::{Error, ErrorKind, Result, Snapshot};

/// What a stream reads with that has a log, if the log says it. Changes of schema that follow each other without a file in between are passed
/// at once.
pub(super) async fn tracked_schema(
    table: &Snapshot,
    options: &FollowOptions,
    log: &mut SchemaLog,
) -> Result<Option<(Schema, Protocol)>> {
    let Some(current) = log.current().cloned() else { return Ok(None) };
    if let Some(later) = merged(table, &current).await? {
        log.replace(later).await?;
    }
    let current = log.current().cloned().unwrap_or(current);
    let schema = current.schema(table)?;
    if let Some(previous) = log.previous().await? {
        check_allowed(table.url(), options, &previous.schema(table)?, &schema)?;
    }
    Ok(Some((schema, current.protocol(table)?)))
}

/// The last of the changes of schema that follow this one at once.
async fn merged(table: &Snapshot, current: &TrackedSchema) -> Result<Option<TrackedSchema>> {
    let wanted = Wanted { feed: false, partition_columns: Vec::new(), exclude: None, keep: NONE, tolerate_loss: false };
    let first = current.delta_commit_version;
    let mut commits = Commits::new(table.store(), wanted, first..=table.version());
    let (mut metadata, mut protocol) = (None, None);
    let mut last = None;
    loop {
        let commit = match commits.next().await {
            // The log is kept for some time only: then nothing is to be merged any more.
            Err(error) if *error.kind() == ErrorKind::VersionNotFound => break,
            commit => commit?,
        };
        let Some(commit) = commit else { break };
        if commit.has_files || (commit.metadata.is_none() && commit.protocol.is_none()) {
            break;
        }
        metadata = commit.metadata.or(metadata);
        protocol = commit.protocol.or(protocol);
        last = Some(commit.version).filter(|version| *version > first);
    }
    let Some(version) = last else { return Ok(None) };
    let metadata = match metadata {
        Some(metadata) => metadata,
        None => current.schema(table)?.metadata,
    };
    let protocol = match protocol {
        Some(protocol) => protocol,
        None => current.protocol(table)?,
    };
    TrackedSchema::new(version, &metadata, &protocol).map(Some)
}

impl Follow {
    /// Whether the log says what the stream reads with.
    pub(super) async fn is_tracking(&self) -> bool {
        match &self.log {
            Some(log) => log.lock().await.current().is_some(),
            None => false,
        }
    }

    /// Whether a commit ends a batch because the stream cannot read with its schema what follows.
    pub(super) async fn changes_schema(&self, commit: &Commit) -> Result<bool> {
        if !self.is_tracking().await {
            return Ok(false);
        }
        self.is_other(commit.version, commit.metadata.as_ref(), commit.protocol.as_ref())
    }

    /// Whether a version says something else than what the stream reads with. What was taken into account already does not count.
    fn is_other(&self, version: u64, metadata: Option<&Metadata>, protocol: Option<&Protocol>) -> Result<bool> {
        if self.is_tracked && version <= self.schema.version {
            return Ok(false);
        }
        if protocol.is_some_and(|protocol| *protocol != self.protocol) {
            return Ok(true);
        }
        let Some(metadata) = metadata else { return Ok(false) };
        let other = Schema::of_metadata(self.snapshot.url(), version, metadata.clone())?;
        Ok(self.schema.is_other(&other))
    }

    /// Begins an empty log with the schema of the version that is read next.
    pub(super) async fn track_from(&self, begin: &Offset) -> Result<()> {
        let Some(log) = &self.log else { return Ok(()) };
        let mut log = log.lock().await;
        if log.current().is_some() {
            return Ok(());
        }
        let snapshot = self.snapshot_at(begin.version.min(self.snapshot.version())).await?;
        let (metadata, protocol) = (snapshot.metadata(), snapshot.protocol());
        log.append(TrackedSchema::new(snapshot.version(), metadata, protocol)?).await?;
        if self.is_other(snapshot.version(), Some(metadata), Some(protocol))? {
            return Err(self.stopped(snapshot.version()));
        }
        Ok(())
    }

    /// Takes the schema of an initial snapshot into the log, should the table have changed before anything of it was read.
    pub(super) async fn track_initial(&self, snapshot: &Snapshot) -> Result<()> {
        let Some(log) = &self.log else { return Ok(()) };
        let mut log = log.lock().await;
        let (version, metadata, protocol) = (snapshot.version(), snapshot.metadata(), snapshot.protocol());
        if log.current().is_none() || version < self.schema.version || !self.is_other(version, Some(metadata), Some(protocol))? {
            return Ok(());
        }
        log.replace(TrackedSchema::new(version, metadata, protocol)?).await?;
        Err(self.stopped(version))
    }

    /// The offset at which the stream is held, as long as a change of schema that it has come to is not passed.
    pub(super) async fn held_at(&self, begin: &Offset) -> Result<Option<Offset>> {
        if !begin.position.is_schema_change() || !self.is_tracking().await {
            return Ok(None);
        }
        if begin.position == Position::SchemaChange {
            return Ok(Some(Offset { position: Position::AfterSchemaChange, ..begin.clone() }));
        }
        let is_held = match self.commit_at(begin.version).await? {
            Some(commit) => self.changes_schema(&commit).await?,
            None => false,
        };
        Ok(is_held.then(|| begin.clone()))
    }

    /// Writes the schema behind a change that was committed into the log, and stops the stream.
    pub(super) async fn track_past(&self, end: &Offset) -> Result<()> {
        let Some(log) = self.log.as_ref().filter(|_| end.position.is_schema_change()) else { return Ok(()) };
        let Some(commit) = self.commit_at(end.version).await? else { return Ok(()) };
        if !self.changes_schema(&commit).await? {
            return Ok(());
        }
        let metadata = commit.metadata.as_ref().unwrap_or(&self.schema.metadata);
        let protocol = commit.protocol.as_ref().unwrap_or(&self.protocol);
        log.lock().await.append(TrackedSchema::new(commit.version, metadata, protocol)?).await?;
        Err(self.stopped(commit.version))
    }

    async fn commit_at(&self, version: u64) -> Result<Option<Commit>> {
        self.commits(version..=version, NONE).next().await
    }

    fn stopped(&self, version: u64) -> Error {
        let message = format!(
            "{}: the schema, the properties or the protocol changed at version {version}, which the stream's log of schemas knows now: start the \
             query again, and it goes on with them",
            self.snapshot.url()
        );
        Error::schema_mismatch(message)
    }
}
