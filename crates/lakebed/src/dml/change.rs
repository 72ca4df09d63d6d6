//! Runs a change of rows: plans it on the newest version, writes files, and commits. After a
//! conflict, the whole change is retried on a newer version. Begin with [`run`].

use std::time::Duration;

use lakebed_core::error::ConflictKind;
use lakebed_io::parquet::write::Codec;
use serde::{Deserialize, Serialize};

use crate::metrics::{HistoryOf, PlanMetrics, metrics};
use crate::rows::effects::{Effects, FileTotals};
use crate::rows::target::Target;
use crate::runtime::memory::MemoryBudget;
use crate::transaction::retry::{Retry, Retryable};
use crate::transaction::{Application, CommitSettings, Committed, InfoEntries, Operation, Standing, Transaction};
use crate::upkeep::UpkeepOptions;
use crate::write::files::take_back;
use crate::write::settings::{FileSettings, check_file_size};
use crate::{Error, Result, Snapshot, Table};

/// The options of a change of rows.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ChangeOptions {
    /// An application id and its number of this change. If the table has the change already, it is
    /// not committed again.
    pub txn: Option<Application>,
    /// A text of the caller that is stored in the history.
    pub user_metadata: Option<String>,
    /// Entries of the caller in `commitInfo`, beside those that lakebed records.
    pub commit_info: InfoEntries,
    /// Whether a checkpoint and a cleanup of the log may follow the commit.
    pub upkeep: UpkeepOptions,
    /// The approximate size of new files. The default is the table's property; without one it is
    /// 128 MiB.
    #[serde(rename = "target_file_size")]
    pub target_file_size_bytes: Option<u64>,
    /// The compression of pages in new files. The default is the table's property; without one it is
    /// Snappy.
    #[serde(deserialize_with = "crate::option_value::compression::deserialize")]
    pub compression: Option<Codec>,
    /// The most rows of a row group in new files.
    pub row_group_rows: Option<usize>,
    /// The columns that get Bloom filters in new files. A field of a struct is written as `a.b`.
    pub bloom_columns: Vec<String>,
    /// The time limit for retries after conflicts.
    #[serde(deserialize_with = "crate::option_value::seconds::deserialize")]
    pub timeout: Option<Duration>,
    /// Whether the change is retried on a newer version after a conflict. If false, a conflict is
    /// an error.
    pub retries: bool,
}

/// The outcome of a change of rows.
#[derive(Debug, Clone)]
pub struct ChangeOutcome {
    /// The version that was committed, or the latest version if nothing changed.
    pub version: u64,
    /// False if there was nothing to do: no row was selected, or the table already had the change.
    pub committed: bool,
    /// The metrics of the change.
    pub metrics: ChangeMetrics,
    /// The snapshot of that version. None if it could not be read after the commit; the commit is
    /// valid all the same.
    pub snapshot: Option<Snapshot>,
}

metrics! {
    /// The metrics of a change of rows.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
    pub struct ChangeMetrics {
        /// The number of deleted rows; None if the log does not contain the row counts.
        #[history(Delete = "numDeletedRows", Merge = "numTargetRowsDeleted")]
        pub deleted_rows: Option<u64>,
        /// The number of updated rows.
        #[history(Update = "numUpdatedRows", Merge = "numTargetRowsUpdated")]
        pub updated_rows: u64,
        /// The number of inserted rows.
        #[history(Merge = "numTargetRowsInserted")]
        pub inserted_rows: u64,
        /// The number of unchanged rows that were copied to new files.
        #[history(Delete = "numCopiedRows", Update = "numCopiedRows", Merge = "numTargetRowsCopied")]
        pub copied_rows: u64,
        /// The number of source rows of a merge.
        #[history(Merge = "numSourceRows")]
        pub source_rows: u64,
        /// The number of added files.
        #[history(Delete = "numAddedFiles", Update = "numAddedFiles", Merge = "numTargetFilesAdded")]
        pub added_files: u64,
        /// The total size of the added files.
        #[history(Delete = "numAddedBytes", Update = "numAddedBytes", Merge = "numTargetBytesAdded")]
        pub added_bytes: u64,
        /// The number of removed files.
        #[history(Delete = "numRemovedFiles", Update = "numRemovedFiles", Merge = "numTargetFilesRemoved")]
        pub removed_files: u64,
        /// The total size of the removed files.
        #[history(Delete = "numRemovedBytes", Update = "numRemovedBytes", Merge = "numTargetBytesRemoved")]
        pub removed_bytes: u64,
        /// The number of change data files.
        #[history(Delete = "numAddedChangeFiles", Update = "numAddedChangeFiles", Merge = "numTargetChangeFilesAdded")]
        pub change_files: u64,
        /// The number of files that got their first deletion vector.
        #[history(Delete = "numDeletionVectorsAdded", Update = "numDeletionVectorsAdded", Merge = "numTargetDeletionVectorsAdded")]
        pub deletion_vectors_added: u64,
        /// The number of files that got another deletion vector in place of an old one.
        #[history(Delete = "numDeletionVectorsUpdated", Update = "numDeletionVectorsUpdated", Merge = "numTargetDeletionVectorsUpdated")]
        pub deletion_vectors_updated: u64,
        /// The number of removed files that had a deletion vector.
        #[history(Delete = "numDeletionVectorsRemoved", Update = "numDeletionVectorsRemoved", Merge = "numTargetDeletionVectorsRemoved")]
        pub deletion_vectors_removed: u64,
        /// The number of files that had to be searched for rows.
        pub scanned_files: u64,
        /// The total size of these files. Fewer bytes are read.
        pub scanned_bytes: u64,
        /// The number of files that partition values pruned. Some of them may have left the table
        /// since its last checkpoint.
        pub skipped_by_partition: u64,
        /// The number of files that statistics pruned. Some of them may have left the table since
        /// its last checkpoint.
        pub skipped_by_statistics: u64,
        /// The number of bytes that spilled to disk.
        pub spilled_bytes: u64,
        /// The most memory that the process had reserved from its memory budget during the change.
        pub peak_memory_bytes: u64,
        /// The number of conflicts.
        pub conflicts: u64,
    }
}

/// A change that is ready to be committed.
pub(super) struct Prepared {
    pub(super) effects: Effects,
    /// The new definition of the table; None if it does not change.
    pub(super) definition: Option<Target>,
    /// The metrics so far, without the metrics of files.
    pub(super) metrics: ChangeMetrics,
    /// Returns the operation for the history, from the complete metrics.
    pub(super) operation: Box<dyn FnOnce(&ChangeMetrics) -> Operation + Send>,
    /// Whether the change changes nothing.
    pub(super) is_empty: bool,
}

/// A kind of change of rows.
pub(super) trait RowLevelOperation: Sync {
    /// Returns whether the change neither removes nor changes any row.
    fn only_inserts(&self) -> bool {
        false
    }

    /// Prepares the change on a version: does everything but the commit.
    fn prepare(&self, snapshot: &Snapshot) -> impl Future<Output = Result<Prepared>> + Send;
}

impl Default for ChangeOptions {
    fn default() -> Self {
        Self {
            txn: None,
            user_metadata: None,
            commit_info: InfoEntries::default(),
            upkeep: UpkeepOptions::default(),
            target_file_size_bytes: None,
            compression: None,
            row_group_rows: None,
            bloom_columns: Vec::new(),
            timeout: None,
            retries: true,
        }
    }
}

impl ChangeOptions {
    fn commit_settings(&self) -> CommitSettings {
        CommitSettings::of(self.user_metadata.as_ref(), &self.commit_info, self.upkeep, self.timeout)
    }

    /// Returns the conflicts after which the change is retried on a newer version. After a conflict
    /// with another writer of the same application, only the newest version shows whether that
    /// writer has already done the change.
    fn retryable(&self) -> Retryable {
        let all = if self.retries { Retryable::all() } else { Retryable::default() };
        all.or_if(self.txn.is_some(), [ConflictKind::ConcurrentTransaction])
    }

    /// Returns the settings for new files.
    pub(super) fn file_settings(&self) -> FileSettings {
        FileSettings {
            target_file_size_bytes: self.target_file_size_bytes,
            compression: self.compression,
            row_group_rows: self.row_group_rows,
            bloom_columns: self.bloom_columns.clone(),
        }
    }
}

/// Does a change and commits it.
pub(super) async fn run(table: &Table, options: &ChangeOptions, change: &impl RowLevelOperation) -> Result<ChangeOutcome> {
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

async fn attempt(
    table: &Table,
    snapshot: &Snapshot,
    options: &ChangeOptions,
    change: &impl RowLevelOperation,
) -> Result<ChangeOutcome> {
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
    // A table that cannot be written is refused before any work.
    let mut transaction = Transaction::begin(snapshot, options.commit_settings()).await?;
    let prepared = change.prepare(snapshot).await?;
    let files = prepared.effects.files();
    let outcome = async {
        let Prepared { effects, definition, mut metrics, operation, is_empty } = prepared;
        metrics.copied_rows = effects.copied_rows;
        metrics.set_totals(&effects.register(definition.as_ref(), &mut transaction).await?);
        let mut operation = operation(&metrics);
        metrics.peak_memory_bytes = memory.peak_bytes();
        match &options.txn {
            // A transaction identifier is committed even if no row changed.
            Some(application) => transaction.record(application, None),
            None if is_empty => {
                transaction.end_unchanged().await?;
                return Ok(nothing(metrics));
            }
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

/// Returns the error for a batch with a number that the table already has. A change has no rows to
/// count, so the row count cannot identify the batch.
fn not_told(snapshot: &Snapshot, Application { id, version, .. }: &Application) -> Error {
    Error::invalid_input(format!(
        "{}: the table has batch {version} of stream '{id}', and lakebed cannot check whether this change is the same batch: \
         give the offsets at which it ends, or trust its number alone (is_trusted)",
        snapshot.url()
    ))
}

/// Refuses a change of an append-only table. This check comes before any read.
pub(crate) fn refuse_append_only(snapshot: &Snapshot) -> Result<()> {
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

    /// Adds the metrics to the operation. Delta Spark counts a replaced deletion vector as one that
    /// is removed and one that is added.
    pub(super) fn record(self, of: HistoryOf, operation: Operation) -> Operation {
        let updated = self.deletion_vectors_updated;
        let counted = Self {
            deletion_vectors_added: self.deletion_vectors_added + updated,
            deletion_vectors_removed: self.deletion_vectors_removed + updated,
            ..self
        };
        operation.with_metrics(counted.history(of))
    }
}
