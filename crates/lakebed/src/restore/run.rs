//! Runs a restore. Begin with [`run`].

use std::collections::HashSet;

use arrow_array::BooleanArray;
use lakebed_core::dv::{self, DvLocation};
use lakebed_core::log::files::{FileBatch, column};
use lakebed_core::path::FilePath;
use serde_json::Value;

use super::missing::WantedFiles;
use super::options::RestoreOptions;
use super::outcome::{RestoreMetrics, RestoreOutcome};
use crate::definition::Definition;
use crate::file_difference::FileDifference;
use crate::metrics::HistoryOf;
use crate::transaction::retry::{Retry, Retryable};
use crate::transaction::{Committed, Operation, Transaction};
use crate::{Error, ErrorKind, Result, Snapshot, Table};

/// The remedies for missing files.
const RESTORE_ADVICE: &str = ". Restore a later version, or restore the files that still exist (ignore_missing_files)";

/// The number of missing files that an error names.
const NAMED: usize = 5;

pub(super) async fn run(table: &Table, options: &RestoreOptions) -> Result<RestoreOutcome> {
    let target = target_version(table, options).await?;
    let mut retry = Retry::new(table.env(), &options.commit_settings(), Retryable::all());
    loop {
        match attempt(table, options, target).await {
            Ok(mut outcome) => {
                outcome.metrics.conflicts += retry.conflicts();
                return Ok(outcome);
            }
            Err(error) => retry.again(error).await?,
        }
    }
}

/// Returns the version to which the table goes back. A timestamp is resolved once, so that a retry
/// means the same version.
async fn target_version(table: &Table, options: &RestoreOptions) -> Result<u64> {
    match (options.version, options.timestamp_ms) {
        (Some(version), None) => Ok(version),
        (None, Some(timestamp_ms)) => Ok(table.snapshot_at_timestamp(timestamp_ms).await?.version()),
        _ => Err(Error::invalid_input("restore: give either version or timestamp")),
    }
}

async fn attempt(table: &Table, options: &RestoreOptions, version: u64) -> Result<RestoreOutcome> {
    let current = table.snapshot().await?.by_log().await?;
    let mut transaction = Transaction::begin(&current, options.commit_settings()).await?;
    let target = match version == current.version() {
        true => current.clone(),
        false => table.snapshot_at(version).await?.by_log().await?,
    };
    let mut difference = FileDifference::of(&current, &target).await?;
    difference.take_over_row_ids()?;
    let definition = Definition::restored(&current, &target).await?;
    let mut metrics = counts(&difference)?;
    let mut restored = difference.restored;
    let missing = missing_files(&current, &restored).await?;
    metrics.missing_files = missing.len() as u64;
    if !missing.is_empty() {
        if !options.ignore_missing_files {
            return Err(are_missing(&current, &missing, &format!("version {version} cannot be restored"), RESTORE_ADVICE));
        }
        (restored, metrics) = without(&current, restored, &missing, metrics)?;
    }
    refuse_append_only(&current, &difference.removed)?;
    let is_same = restored.is_empty() && difference.removed.is_empty();
    let is_unchanged = is_same && !definition.changes_table() && definition.domains.is_empty();
    if is_unchanged || options.dry_run {
        let version_now = current.version();
        return Ok(RestoreOutcome {
            version: version_now,
            restored_version: version,
            committed: false,
            metrics,
            snapshot: Some(current),
        });
    }
    transaction.read().list_of_files();
    restored.into_iter().for_each(|files| transaction.restore(files));
    difference.removed.into_iter().for_each(|files| transaction.remove(files, true));
    definition.register(None, &mut transaction, &current).await?;
    // Metadata is committed even if it is the same, so that a change by another writer is a
    // conflict.
    transaction.set_metadata(definition.metadata().clone());
    let Committed { version: new, snapshot, conflicts } = transaction.commit(operation(options, &metrics)).await?;
    metrics.conflicts = conflicts;
    if let Some(snapshot) = &snapshot {
        table.keep(snapshot).await;
    }
    Ok(RestoreOutcome { version: new, restored_version: version, committed: true, metrics, snapshot })
}

/// Returns the operation with Delta Spark's parameters: one of them is null.
fn operation(options: &RestoreOptions, metrics: &RestoreMetrics) -> Operation {
    let timestamp = options.timestamp_ms.and_then(chrono::DateTime::from_timestamp_millis);
    let timestamp = timestamp.map(|moment| without_last_zeros(&moment.format("%Y-%m-%d %H:%M:%S%.3f").to_string()));
    Operation::new("RESTORE")
        .with("version", options.version.map_or(Value::Null, Value::from))
        .with("timestamp", timestamp.map_or(Value::Null, Value::from))
        .with_metrics(metrics.history(HistoryOf::Restore))
}

/// Returns a timestamp as Java prints it: the fraction has no zeros at its end, but one digit.
fn without_last_zeros(text: &str) -> String {
    match text.trim_end_matches('0') {
        whole if whole.ends_with('.') => format!("{whole}0"),
        shorter => shorter.to_owned(),
    }
}

fn counts(difference: &FileDifference) -> Result<RestoreMetrics> {
    let (restored_files, restored_bytes) = count(&difference.restored)?;
    let (removed_files, removed_bytes) = count(&difference.removed)?;
    Ok(RestoreMetrics {
        restored_files,
        restored_bytes,
        removed_files,
        removed_bytes,
        num_files: difference.num_files,
        size_bytes: difference.size_bytes,
        ..RestoreMetrics::default()
    })
}

fn count(batches: &[FileBatch]) -> Result<(u64, u64)> {
    let (mut files, mut bytes) = (0, 0);
    for batch in batches {
        files += batch.len() as u64;
        bytes += batch.longs(column::SIZE)?.iter().flatten().filter_map(|size| u64::try_from(size).ok()).sum::<u64>();
    }
    Ok((files, bytes))
}

async fn missing_files(current: &Snapshot, restored: &[FileBatch]) -> Result<HashSet<String>> {
    let mut wanted = WantedFiles::default();
    for files in restored {
        wanted.add(current.store(), files)?;
    }
    wanted.missing(current.store()).await
}

/// Checks that the files of an older version exist, except those that the newest version has, too.
pub(crate) async fn check_files(current: &Snapshot, target: &Snapshot) -> Result<()> {
    let difference = FileDifference::of(current, target).await?;
    let missing = missing_files(current, &difference.restored).await?;
    match missing.is_empty() {
        true => Ok(()),
        false => Err(are_missing(current, &missing, &format!("version {} cannot be read", target.version()), "")),
    }
}

fn are_missing(current: &Snapshot, missing: &HashSet<String>, what: &str, advice: &str) -> Error {
    let mut names: Vec<&str> = missing.iter().map(String::as_str).collect();
    names.sort_unstable();
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let message = format!(
        "{}: {what}, because files of it were deleted, mostly by a vacuum: {}{more}{advice}",
        current.url(),
        names.join(", ")
    );
    Error::new(ErrorKind::VersionNotFound, message)
}

/// Returns the files that exist, and the metrics without the others. A file whose deletion vector
/// does not exist counts as missing, because its deleted rows are unknown.
fn without(
    current: &Snapshot,
    restored: Vec<FileBatch>,
    missing: &HashSet<String>,
    metrics: RestoreMetrics,
) -> Result<(Vec<FileBatch>, RestoreMetrics)> {
    let (files_before, bytes_before) = count(&restored)?;
    let exists = |path: &FilePath| -> Result<bool> {
        let (store, path) = current.store().resolve(path)?;
        Ok(!missing.contains(&store.describe(&path)))
    };
    let mut existing = Vec::with_capacity(restored.len());
    for files in restored {
        let mut keep = Vec::with_capacity(files.len());
        for (row, path) in files.paths()?.iter().enumerate() {
            let has_vector = match files.deletion_vector(row)?.map(|vector| dv::location(&vector)).transpose()? {
                Some(DvLocation::File { path, .. }) => exists(&path)?,
                Some(DvLocation::Inline) | None => true,
            };
            keep.push(has_vector && exists(&FilePath::parse(path.unwrap_or_default())?)?);
        }
        existing.push(files.filter(&BooleanArray::from(keep))?);
    }
    existing.retain(|files| !files.is_empty());
    let (restored_files, restored_bytes) = count(&existing)?;
    let metrics = RestoreMetrics {
        restored_files,
        restored_bytes,
        num_files: metrics.num_files - (files_before - restored_files),
        size_bytes: metrics.size_bytes.saturating_sub(bytes_before - restored_bytes),
        ..metrics
    };
    Ok((existing, metrics))
}

fn refuse_append_only(current: &Snapshot, removed: &[FileBatch]) -> Result<()> {
    if !current.properties().append_only || removed.is_empty() {
        return Ok(());
    }
    Err(Error::invalid_input(format!(
        "{}: the table is append-only (delta.appendOnly is true), so the restore may not remove the files that were added since; \
         unset the property first",
        current.url()
    )))
}
