//! Runs an erase. Begin with [`run`].

use std::collections::BTreeSet;

use serde_json::json;

use super::account::Account;
use super::history;
use super::log_search::LogSearch;
use super::newest::{FoundFiles, NewFiles};
use super::options::EraseOptions;
use super::outcome::{EraseMetrics, EraseOutcome, HoldingVersions};
use crate::dml::refuse_append_only;
use crate::metrics::HistoryOf;
use crate::rows::selection::{Matching, Selection};
use crate::transaction::retry::{Retry, Retryable};
use crate::transaction::{Committed, Operation, Transaction};
use crate::write::files::take_back;
use crate::write::settings::check_file_size;
use crate::{Error, Result, Snapshot, Table};

/// What the attempts of an erase have committed.
#[derive(Default)]
struct Done {
    metrics: EraseMetrics,
    /// The last version that was committed.
    version: Option<u64>,
}

pub(super) async fn run(table: &Table, options: &EraseOptions) -> Result<EraseOutcome> {
    check_file_size(options.target_file_size_bytes)?;
    if options.filter.trim().is_empty() {
        return Err(Error::invalid_input("where: an erase needs a predicate; to erase all rows, give \"true\""));
    }
    let now_ms = table.env().now_ms();
    let mut retry = Retry::new(table.env(), &options.commit_settings(), Retryable::all());
    let mut done = Done::default();
    loop {
        match attempt(table, options, now_ms, &mut done).await {
            Ok(mut outcome) => {
                outcome.metrics.conflicts += retry.conflicts();
                return Ok(outcome);
            }
            Err(error) => retry.again(error).await.map_err(|error| done.told_with(error))?,
        }
    }
}

async fn attempt(table: &Table, options: &EraseOptions, now_ms: i64, done: &mut Done) -> Result<EraseOutcome> {
    let current = table.snapshot().await?.by_log().await?;
    refuse_append_only(&current)?;
    let transaction = Transaction::begin(&current, options.commit_settings()).await?;
    let filter = current.parse_row_filter(&options.filter, now_ms)?;
    let matching = Matching::new(&current, filter)?;
    let selection = Selection::Matching(matching.clone());
    let found = FoundFiles::search(&current, &selection, &matching).await?;
    let known = found.paths.clone();
    let search = LogSearch { table, newest: &current, text: &options.filter, now_ms, known: &known };
    if options.dry_run {
        let account = Account::read(&search).await?;
        let (files, bytes) = found.counted()?;
        let mut metrics = EraseMetrics { removed_files: files, removed_bytes: bytes, ..found.metrics };
        metrics.outside_files = account.outside_files();
        let older = account.holding_versions(&current)?;
        return Ok(EraseOutcome { version: current.version(), committed: false, metrics, older, snapshot: Some(current) });
    }
    if options.history && history::may_refuse(&current)? && Account::read(&search).await?.has_history() {
        history::refuse_kept(&current, current.version() + 1)?;
    }
    let newest = match found.is_empty() {
        true => {
            // An earlier attempt may have committed already.
            if done.version.is_none() {
                done.metrics = found.metrics;
            }
            current.clone()
        }
        false => {
            let columns = matching.filter.columns().iter().map(|path| path.join(".")).collect::<BTreeSet<_>>();
            let operation =
                Operation::new("ERASE").with("columns", json!(columns).to_string()).with("history", options.history.to_string());
            let new = found.metrics;
            let files = found.rewrite(&current, options, now_ms).await?;
            let written = files.written();
            match commit(transaction, &selection, files, new, operation).await {
                Ok((committed, metrics)) => {
                    done.add(metrics, &committed);
                    match committed.snapshot {
                        Some(snapshot) => snapshot,
                        None => table.snapshot_at(committed.version).await?,
                    }
                }
                Err(error) => {
                    take_back(table.store(), &written, &error).await;
                    return Err(error);
                }
            }
        }
    };
    let account = Account::read(&LogSearch { newest: &newest, ..search }).await?;
    done.metrics.outside_files = account.outside_files();
    if !options.history || !account.has_history() {
        let older = account.holding_versions(&newest)?;
        return Ok(done.outcome(newest, older));
    }
    let newest = history::erase(table, &newest, &selection, &account, options, &mut done.metrics).await?;
    done.version = Some(newest.version());
    table.keep(&newest).await;
    Ok(done.outcome(newest, Vec::new()))
}

/// Commits the new files. The history does not get the predicate, because it names values of the
/// rows.
async fn commit(
    mut transaction: Transaction,
    selection: &Selection,
    files: NewFiles,
    mut metrics: EraseMetrics,
    operation: Operation,
) -> Result<(Committed, EraseMetrics)> {
    files.register(selection, &mut transaction, &mut metrics).await?;
    let operation = operation.with_metrics(metrics.history(HistoryOf::Erase));
    Ok((transaction.commit(operation).await?, metrics))
}

impl Done {
    /// Adds the metrics of a commit. A second one follows if others brought rows back meanwhile.
    fn add(&mut self, new: EraseMetrics, committed: &Committed) {
        let before = self.metrics;
        let is_first = self.version.is_none();
        self.version = Some(committed.version);
        self.metrics = EraseMetrics {
            erased_rows: if is_first { new.erased_rows } else { before.erased_rows.zip(new.erased_rows).map(|(a, b)| a + b) },
            copied_rows: before.copied_rows + new.copied_rows,
            added_files: before.added_files + new.added_files,
            added_bytes: before.added_bytes + new.added_bytes,
            removed_files: before.removed_files + new.removed_files,
            removed_bytes: before.removed_bytes + new.removed_bytes,
            deletion_vectors_removed: before.deletion_vectors_removed + new.deletion_vectors_removed,
            purged_files: before.purged_files + new.purged_files,
            scanned_files: before.scanned_files + new.scanned_files,
            scanned_bytes: before.scanned_bytes + new.scanned_bytes,
            conflicts: before.conflicts + committed.conflicts,
            ..before
        };
    }

    /// Adds the committed version to an error that came after the commit.
    fn told_with(&self, error: Error) -> Error {
        match self.version {
            Some(version) => error.within(format!(
                "version {version} no longer holds these rows, but what older versions hold is not known: erase again"
            )),
            None => error,
        }
    }

    fn outcome(&self, newest: Snapshot, older: Vec<HoldingVersions>) -> EraseOutcome {
        EraseOutcome {
            version: newest.version(),
            committed: self.version.is_some(),
            metrics: self.metrics,
            older,
            snapshot: Some(newest),
        }
    }
}
