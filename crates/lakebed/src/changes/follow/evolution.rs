//! Schema changes in a stream with a schema log. The batch before a schema change ends there. Once
//! that batch is committed, the new schema is written to the log and the stream stops. After a
//! restart, the stream reads with the new schema.
//!
//! An engine commits an offset only after it has seen another one, so a schema change has two
//! offsets.

use lakebed_core::action::{Metadata, Protocol};

use super::Follow;
use super::offset::{Offset, Position};
use super::tracking::TrackedSchema;
use crate::changes::commits::{Commit, NONE};
use crate::{Error, Result, Snapshot};

impl Follow {
    /// Returns whether a commit ends a batch because the stream's schema differs from that of the
    /// following rows.
    pub(super) async fn changes_schema(&self, commit: &Commit) -> Result<bool> {
        if !self.stream_schema.is_in_log().await {
            return Ok(false);
        }
        self.differs(commit.version, commit.metadata.as_ref(), commit.protocol.as_ref())
    }

    fn differs(&self, version: u64, metadata: Option<&Metadata>, protocol: Option<&Protocol>) -> Result<bool> {
        self.stream_schema.differs(self.snapshot.url(), version, metadata, protocol)
    }

    /// Writes the schema of the version that is read next to an empty log.
    pub(super) async fn track_from(&self, begin: &Offset) -> Result<()> {
        let Some(log) = &self.stream_schema.log else { return Ok(()) };
        let mut log = log.lock().await;
        if log.current().is_some() {
            return Ok(());
        }
        let snapshot = self.snapshot_at(begin.version.min(self.snapshot.version())).await?;
        let (metadata, protocol) = (snapshot.metadata(), snapshot.protocol());
        log.append(TrackedSchema::new(snapshot.version(), metadata, protocol)?).await?;
        if self.differs(snapshot.version(), Some(metadata), Some(protocol))? {
            return Err(self.stopped(snapshot.version()));
        }
        Ok(())
    }

    /// Writes the schema of an initial snapshot to the log, if the table changed before any of its
    /// rows were read.
    pub(super) async fn track_initial(&self, snapshot: &Snapshot) -> Result<()> {
        let Some(log) = &self.stream_schema.log else { return Ok(()) };
        let mut log = log.lock().await;
        let (version, metadata, protocol) = (snapshot.version(), snapshot.metadata(), snapshot.protocol());
        if log.current().is_none()
            || version < self.stream_schema.schema.version
            || !self.differs(version, Some(metadata), Some(protocol))?
        {
            return Ok(());
        }
        log.replace(TrackedSchema::new(version, metadata, protocol)?).await?;
        Err(self.stopped(version))
    }

    /// Returns the offset at which the stream waits while a schema change is not passed yet.
    pub(super) async fn held_at(&self, begin: &Offset) -> Result<Option<Offset>> {
        if !begin.position.is_schema_change() || !self.stream_schema.is_in_log().await {
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

    /// Writes the schema after a committed change to the log, and stops the stream.
    pub(super) async fn track_past(&self, end: &Offset) -> Result<()> {
        let Some(log) = self.stream_schema.log.as_ref().filter(|_| end.position.is_schema_change()) else { return Ok(()) };
        let Some(commit) = self.commit_at(end.version).await? else { return Ok(()) };
        if !self.changes_schema(&commit).await? {
            return Ok(());
        }
        let metadata = commit.metadata.as_ref().unwrap_or(&self.stream_schema.schema.metadata);
        let protocol = commit.protocol.as_ref().unwrap_or(&self.stream_schema.protocol);
        log.lock().await.append(TrackedSchema::new(commit.version, metadata, protocol)?).await?;
        Err(self.stopped(commit.version))
    }

    async fn commit_at(&self, version: u64) -> Result<Option<Commit>> {
        self.commits(version..=version, NONE).next().await
    }

    fn stopped(&self, version: u64) -> Error {
        let message = format!(
            "{}: the schema, the properties or the protocol changed at version {version}. The schema log of the stream has \
             recorded the change: start the query again, and it continues with the new ones",
            self.snapshot.url()
        );
        Error::schema_mismatch(message)
    }
}
