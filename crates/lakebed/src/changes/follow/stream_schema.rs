//! The schema of a stream: that of the table, or the one that the stream's schema log has.

use lakebed_core::action::{Metadata, Protocol};
use tokio::sync::Mutex;

use super::options::FollowOptions;
use super::schema::Schema;
use super::tracking::{SchemaLog, TrackedSchema, check_allowed};
use crate::changes::commits::{CommitReadOptions, Commits, NONE};
use crate::{ErrorKind, Result, Snapshot};

/// The schema and the protocol with which a stream reads.
pub(super) struct StreamSchema {
    pub(super) schema: Schema,
    pub(super) protocol: Protocol,
    /// The schema log, if the options have a location for it.
    pub(super) log: Option<Mutex<SchemaLog>>,
    /// Whether the schema comes from the schema log rather than from the table.
    is_tracked: bool,
}

impl StreamSchema {
    /// Opens the schema log and returns the schema of a new stream.
    pub(super) async fn load(table: &Snapshot, options: &FollowOptions) -> Result<Self> {
        let mut log = SchemaLog::open(table, options).await?;
        let tracked = match &mut log {
            Some(log) => tracked_schema(table, options, log).await?,
            None => None,
        };
        let is_tracked = tracked.is_some();
        let (schema, protocol) = tracked.unwrap_or_else(|| (Schema::of_snapshot(table), table.protocol().clone()));
        Ok(Self { schema, protocol, log: log.map(Mutex::new), is_tracked })
    }

    /// Returns whether the schema log has a schema for the stream.
    pub(super) async fn is_in_log(&self) -> bool {
        match &self.log {
            Some(log) => log.lock().await.current().is_some(),
            None => false,
        }
    }

    /// Returns whether the schema, the properties or the protocol of a version differ from the
    /// stream's. Changes up to the version of the tracked schema do not count.
    pub(super) fn differs(
        &self,
        url: &str,
        version: u64,
        metadata: Option<&Metadata>,
        protocol: Option<&Protocol>,
    ) -> Result<bool> {
        if self.is_tracked && version <= self.schema.version {
            return Ok(false);
        }
        if protocol.is_some_and(|protocol| *protocol != self.protocol) {
            return Ok(true);
        }
        let Some(metadata) = metadata else { return Ok(false) };
        let other = Schema::of_metadata(url, version, metadata.clone())?;
        Ok(self.schema.is_other(&other))
    }
}

/// Returns the schema and protocol from the schema log, if it has any. Consecutive schema changes
/// without a file between them are passed at once.
async fn tracked_schema(table: &Snapshot, options: &FollowOptions, log: &mut SchemaLog) -> Result<Option<(Schema, Protocol)>> {
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

/// Returns the last of the schema changes that directly follow this one.
async fn merged(table: &Snapshot, current: &TrackedSchema) -> Result<Option<TrackedSchema>> {
    let wanted =
        CommitReadOptions { feed: false, partition_columns: Vec::new(), exclude: None, keep: NONE, tolerate_loss: false };
    let first = current.delta_commit_version;
    let mut commits = Commits::new(table.store(), wanted, first..=table.version());
    let (mut metadata, mut protocol) = (None, None);
    let mut last = None;
    loop {
        let commit = match commits.next().await {
            // The commit has been cleaned up, so no further schema change can be joined.
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
