//! The commits of a vacuum in the history, in Delta Spark's format: one before files are deleted,
//! and one afterwards.

use super::options::VacuumOptions;
use super::outcome::VacuumMetrics;
use super::retention::Retention;
use crate::metrics::HistoryOf;
use crate::transaction::retry::{Retry, Retryable};
use crate::transaction::{Committed, Operation, Transaction};
use crate::{Result, Snapshot, Table};

/// Returns the operation that counts the files to delete. `metrics` are those of one round.
pub(super) fn start(snapshot: &Snapshot, options: &VacuumOptions, retention: Retention, metrics: &VacuumMetrics) -> Operation {
    let of_table_ms = snapshot.properties().deleted_file_retention_ms;
    let mut operation = Operation::new("VACUUM START")
        .with("retentionCheckEnabled", options.enforce_retention)
        .with("defaultRetentionMillis", of_table_ms);
    if options.retention.is_some() {
        operation = operation.with("specifiedRetentionMillis", retention.retention_ms);
    }
    operation.with_metrics(metrics.history(HistoryOf::VacuumStart))
}

/// Returns the operation that counts the deleted files. `metrics` are those of one round.
pub(super) fn end(is_done: bool, metrics: &VacuumMetrics) -> Operation {
    let operation = Operation::new("VACUUM END").with("status", if is_done { "COMPLETED" } else { "FAILED" });
    operation.with_metrics(metrics.history(HistoryOf::VacuumEnd))
}

/// Commits only this operation, and retries on top of other writers' commits.
pub(super) async fn commit(table: &Table, options: &VacuumOptions, operation: &Operation) -> Result<Committed> {
    let settings = options.commit_settings();
    let mut retry = Retry::new(table.env(), &settings, Retryable::all());
    loop {
        let transaction = Transaction::begin(&table.snapshot().await?.by_log().await?, settings.clone()).await?;
        match transaction.commit(operation.clone()).await {
            Ok(committed) => {
                if let Some(snapshot) = &committed.snapshot {
                    table.keep(snapshot).await;
                }
                return Ok(committed);
            }
            Err(error) => retry.again(error).await?,
        }
    }
}
