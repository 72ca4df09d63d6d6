//! How a stream with a log of schemas passes a change of schema: the batch before it ends there, the new schema is written down once that
//! batch is done, the stream stops, and when it is started again it reads with the new one.
//!
//! An engine commits an offset only when it has seen another one, so the place of a change has two offsets.

use lakebed_core::action::{Metadata, Protocol};

use super::Follow;
use super::offset::{Offset, Position};
use super::schema::Schema;
use super::tracking::TrackedSchema;
use crate::changes::commits::{Commit, NONE};
use crate::{Error, Result, Snapshot};

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
