//! Barrier checkpoints: checkpoints after the last version that uses a feature.
//!
//! A reader that does not support the feature must not begin at an older version. Some readers try
//! older checkpoints if they cannot read one, so there are three, as in Delta Spark. PROTOCOL
//! "Checkpoint Protection" keeps them.

use lakebed_core::commit::info::Operation;

use super::steps::Steps;
use crate::transaction::Transaction;
use crate::{Result, Snapshot};

/// The number of barrier checkpoints.
const CHECKPOINTS: u64 = 3;

/// Writes the barrier checkpoints, each of a version of its own. Returns the first of these versions.
pub(super) async fn raise(steps: &mut Steps<'_>) -> Result<u64> {
    let first = checkpoint_of_new_version(steps).await?;
    for _ in 1..CHECKPOINTS {
        checkpoint_of_new_version(steps).await?;
    }
    Ok(first)
}

/// Commits a version without changes, and writes its checkpoint. Returns the version.
pub(super) async fn checkpoint_of_new_version(steps: &mut Steps<'_>) -> Result<u64> {
    let newest = steps.newest().await?;
    let transaction = Transaction::begin(&newest, steps.settings()).await?;
    let snapshot = steps.commit(transaction, Operation::new("Empty Commit")).await?;
    checkpoint(&snapshot).await?;
    Ok(snapshot.version())
}

/// Writes a checkpoint of a version, unless it has one.
pub(super) async fn checkpoint(snapshot: &Snapshot) -> Result<()> {
    if snapshot.segment().checkpoint.as_ref().is_some_and(|checkpoint| checkpoint.version == snapshot.version()) {
        return Ok(());
    }
    snapshot.checkpoint().await.map(drop)
}
