//! A change of rows from beginning to end: what to do is decided on the newest version, written, and committed; if another writer was
//! faster with something that it depends on, all of it is done again on top of that. Read [`run`].

use std::time::Duration;

use lakebed_core::error::ConflictKind;
use serde::{Deserialize, Serialize};

use crate::metrics::PlanMetrics;
use crate::rows::effects::{Effects, FileTotals};
use crate::rows::target::Target;
use crate::runtime::memory::MemoryBudget;
use crate::transaction::retry::{Retry, Retryable};
use crate::transaction::{Application, CommitSettings, Committed, Operation, Standing, Transaction};
use crate::write::files::take_back;
use crate::write::settings::{FileSettings, check_file_size};
use crate::{Error, Result, Snapshot, Table};

/// How to change rows.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ChangeOptions {
    /// An application and its own number of this change: a change that the table knows already is not done again.
    pub txn: Option<Application>,
    /// Words of the caller's own, kept in the history.
    pub user_metadata: Option<String>,
    /// About how large files become; by default what the table's properties say, else 128 MiB.
    #[serde(rename = "target_file_size")]
    pub target_file_size_bytes: Option<u64>,
    /// How long to go on trying while other writers are faster.
    #[serde(deserialize_with = "crate::option_value::seconds::deserialize")]
    pub timeout: Option<Duration>,
    /// Whether all is done again on top of a version that another writer made meanwhile and that it depends on; else that is an error.
    pub retries: bool,
}

/// What came of a change of rows.
#[derive(Debug, Clone)]
pub struct ChangeOutcome {
    /// The version that it became, or the latest one if nothing was changed.
    pub version: u64,
    /// False if there was nothing to do: no row was concerned, or the table knew the change already.
    pub committed: bool,
    /// What was done.
    pub metrics: ChangeMetrics,
    /// The table as of that version; none if it could not be read since, which does not undo the change.
    pub snapshot: Option<Snapshot>,
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct ChangeMetrics {
    /// Rows that are gone; none if the log does not tell how many there were.
    pub deleted_rows: Option<u64>,
    /// Rows that are others now.
    pub updated_rows: u64,
    /// New rows.
    pub inserted_rows: u64,
    /// Rows that stayed but had to move to new files.
    pub copied_rows: u64,
    /// Rows of a merge's source.
    pub source_rows: u64,
    /// New files, and their sizes.
    pub added_files: u64,
    /// See above.
    pub added_bytes: u64,
    /// Files that are gone, and their sizes.
    pub removed_files: u64,
    /// See above.
    pub removed_bytes: u64,
    /// Files of changed rows.
    pub change_files: u64,
    /// Files that got a deletion vector.
    pub deletion_vectors_added: u64,
    /// Files that had one and got another.
    pub deletion_vectors_updated: u64,
    /// Files that had one and are gone.
    pub deletion_vectors_removed: u64,
    /// Files that had to be looked at.
    pub scanned_files: u64,
    /// Their sizes: what is read of them is less.
    pub scanned_bytes: u64,
    /// Files that partition values ruled out; some may have left the table since its last checkpoint.
    pub skipped_by_partition: u64,
    /// The same of statistics.
    pub skipped_by_statistics: u64,
    /// What did not fit into memory and went to disk meanwhile.
    pub spilled_bytes: u64,
    /// The most that the process had reserved of its memory budget meanwhile.
    pub peak_memory_bytes: u64,
    /// How often another writer was faster.
    pub conflicts: u64,
}

/// A change that is ready to be committed.
pub(super) struct Prepared {
    pub(super) effects: Effects,
    /// What becomes of the table itself, with the marks of its identity columns; none if it stays as it is.
    pub(super) definition: Option<(Target, Vec<(usize, i64)>)>,
    /// The metrics so far, without those of files.
    pub(super) metrics: ChangeMetrics,
    /// What the history says, once all metrics are known.
    pub(super) operation: Box<dyn FnOnce(&ChangeMetrics) -> Operation + Send>,
    /// Whether anything changes.
    pub(super) is_empty: bool,
}

/// A way to change rows.
pub(super) trait Change: Sync {
    /// Whether it takes no row away and changes none.
    fn only_inserts(&self) -> bool {
        false
    }

    /// Does everything but committing it, on top of a version.
    fn prepare(&self, snapshot: &Snapshot) -> impl Future<Output = Result<Prepared>> + Send;
}

impl Default for ChangeOptions {
    fn default() -> Self {
        Self { txn: None, user_metadata: None, target_file_size_bytes: None, timeout: None, retries: true }
    }
}

impl ChangeOptions {
    fn commit_settings(&self) -> CommitSettings {
        let defaults = CommitSettings::default();
        CommitSettings {
            user_metadata: self.user_metadata.clone(),
            timeout: self.timeout.unwrap_or(defaults.timeout),
            ..defaults
        }
    }

    /// The conflicts after which the change is done again on a newer version. Another writer of the
    /// same application may have done it already, which only a look at the newest version tells.
    fn retryable(&self) -> Retryable {
        let all = if self.retries { Retryable::all() } else { Retryable::default() };
        all.or_if(self.txn.is_some(), [ConflictKind::ConcurrentTransaction])
    }

    /// How new files are written.
    pub(super) fn file_settings(&self) -> FileSettings {
        FileSettings { target_file_size_bytes: self.target_file_size_bytes, ..FileSettings::default() }
    }
}

/// Does a change, and commits it.
pub(super) async fn run(table: &Table, options: &ChangeOptions, change: &impl Change) -> Result<ChangeOutcome> {
    check_file_size(options.target_file_size_bytes)?;
    options.txn.as_ref().map_or(Ok(()), Application::check)?;
    let mut retry = Retry::new(table.env(), &options.commit_settings(), options.retryable());
    loop {
        let snapshot = table.snapshot().await?.by_log().await?;
        match attempt(table, &snapshot, options, change).await {
            Ok(mut outcome) => {
                if outcome.committed {
                    outcome.metrics.conflicts += retry.conflicts();
                }
                return Ok(outcome);
            }
            Err(error) => retry.again(error).await?,
        }
    }
}

async fn attempt(table: &Table, snapshot: &Snapshot, options: &ChangeOptions, change: &impl Change) -> Result<ChangeOutcome> {
    let nothing =
        |metrics| ChangeOutcome { version: snapshot.version(), committed: false, metrics, snapshot: Some(snapshot.clone()) };
    if let Some(application) = &options.txn {
        match application.standing(snapshot, None).await? {
            Standing::New => {}
            Standing::Known => return Ok(nothing(ChangeMetrics::default())),
            Standing::Uncounted => return Err(not_told(snapshot, application)),
        }
    }
    if !change.only_inserts() {
        refuse_append_only(snapshot)?;
    }
    let (begun, memory) = (snapshot.env().monotonic(), MemoryBudget::of_process().watch());
    // A table that cannot be written is refused before the work.
    let mut transaction = Transaction::begin(snapshot, options.commit_settings()).await?;
    let prepared = change.prepare(snapshot).await?;
    let files = prepared.effects.files();
    let outcome = async {
        let Prepared { effects, definition, mut metrics, operation, is_empty } = prepared;
        metrics.copied_rows = effects.copied_rows;
        metrics.set_totals(&effects.register(&mut transaction).await?);
        if let Some((target, marks)) = definition {
            target.register(&marks, &mut transaction, snapshot).await?;
        }
        let mut operation = operation(&metrics);
        metrics.peak_memory_bytes = memory.peak_bytes();
        match &options.txn {
            // That it is done is worth a commit, whether rows changed or not.
            Some(application) => transaction.record(application, None),
            None if is_empty => return Ok(nothing(metrics)),
            None => {}
        }
        let taken_ms = (snapshot.env().monotonic() - begun).as_millis();
        operation.metrics.insert("executionTimeMs".to_owned(), i64::try_from(taken_ms).unwrap_or(i64::MAX));
        let Committed { version, snapshot, conflicts } = transaction.commit(operation).await?;
        metrics.conflicts = conflicts;
        if let Some(snapshot) = &snapshot {
            table.keep(snapshot).await;
        }
        Ok(ChangeOutcome { version, committed: true, metrics, snapshot })
    };
    let outcome = outcome.await;
    if let Err(error) = &outcome {
        take_back(table.store(), &files, error).await;
    }
    outcome
}

/// A change has no rows of its own to be counted.
fn not_told(snapshot: &Snapshot, Application { id, version, .. }: &Application) -> Error {
    Error::invalid_input(format!(
        "{}: the table has batch {version} of stream '{id}', and nothing tells whether this change is the same batch: give the offsets at which \
         it ends, or say that its number alone may be trusted",
        snapshot.url()
    ))
}

/// Told before anything is read.
fn refuse_append_only(snapshot: &Snapshot) -> Result<()> {
    if !snapshot.properties().append_only {
        return Ok(());
    }
    Err(Error::invalid_input(format!(
        "{}: the table is append-only (delta.appendOnly is true), so no rows may be removed or changed; unset the property first",
        snapshot.url()
    )))
}

impl ChangeMetrics {
    pub(super) fn add_plan(&mut self, plan: &PlanMetrics) {
        self.scanned_files += plan.kept.get();
        self.scanned_bytes += plan.kept_bytes.get();
        self.skipped_by_partition += plan.skipped_by_partition.get();
        self.skipped_by_statistics += plan.skipped_by_statistics.get();
    }

    pub(super) fn set_totals(&mut self, totals: &FileTotals) {
        (self.added_files, self.added_bytes) = (totals.added_files, totals.added_bytes);
        (self.removed_files, self.removed_bytes) = (totals.removed_files, totals.removed_bytes);
        self.change_files = totals.change_files;
        self.deletion_vectors_added = totals.deletion_vectors_added;
        self.deletion_vectors_updated = totals.deletion_vectors_updated;
        self.deletion_vectors_removed = totals.deletion_vectors_removed;
    }

    /// By Delta Spark's names for DELETE and UPDATE.
    pub(super) fn to_operation(self, operation: Operation) -> Operation {
        let all = [
            ("numRemovedFiles", self.removed_files),
            ("numRemovedBytes", self.removed_bytes),
            ("numAddedFiles", self.added_files),
            ("numAddedBytes", self.added_bytes),
            ("numCopiedRows", self.copied_rows),
            ("numAddedChangeFiles", self.change_files),
            ("numDeletionVectorsAdded", self.deletion_vectors_added + self.deletion_vectors_updated),
            ("numDeletionVectorsUpdated", self.deletion_vectors_updated),
            ("numDeletionVectorsRemoved", self.deletion_vectors_removed + self.deletion_vectors_updated),
        ];
        operation.with_metrics(all)
    }
}
