//! Loads the schema of a stream that has a schema log.

use lakebed_core::action::Protocol;

use super::options::FollowOptions;
use super::schema::Schema;
use super::tracking::{SchemaLog, TrackedSchema, check_allowed};
use crate::changes::commits::{CommitReadOptions, Commits, NONE};
use crate::{ErrorKind, Result, Snapshot};

/// Returns the schema and protocol from the schema log, if it has any. Consecutive schema changes
/// without a file between them are passed at once.
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
