//! Commits a write: finds the rows that it replaces, and puts everything into one transaction.

use std::collections::HashSet;
use std::sync::Arc;

use futures::TryStreamExt;
use lakebed_expr::Filter;

use super::run::{Begun, WriteRun};
use super::{PartitionMode, SchemaMode, WriteMetrics, WriteMode, WriteOutcome};
use crate::metrics::HistoryOf;
use crate::rows::deleted::DeletedRows;
use crate::rows::effects::{Effects, FileTotals, notes_vectors};
use crate::rows::rewrite::{Moves, RecordedChange, Rewrite};
use crate::rows::search::Search;
use crate::rows::selection::{Matching, Selection};
use crate::rows::target::Target;
use crate::scan::ScanFile;
use crate::scan::read::{ReadOptions, read_files};
use crate::transaction::{Committed, Operation, Partitions, Transaction};
use crate::write::data_file::WrittenFile;
use crate::write::file_names::PartitionTexts;
use crate::write::files::take_back;
use crate::{Result, Snapshot};

impl WriteRun {
    /// Commits files on top of the version on which the write was planned.
    pub(super) async fn commit(&self, begun: Begun, files: &Effects) -> Result<WriteOutcome> {
        let Begun { snapshot, transaction, target, condition } = begun;
        let transaction = match transaction {
            Some(transaction) => transaction,
            None => {
                let (store, env) = (self.table.store().clone(), self.table.env().clone());
                target.table.begin(store, env, self.options.commit_settings())?
            }
        };
        let mut effects = Effects::default();
        if let (Some(snapshot), WriteMode::Overwrite) = (&snapshot, self.options.mode) {
            effects = self.replace(snapshot, &target, condition, files).await?;
        } else if self.options.mode == WriteMode::Overwrite {
            // There is nothing to replace. The transaction depends on that, so it is recorded as a
            // read of everything.
            effects.read.all();
        }
        let copies = effects.files();
        effects.join(files.clone());
        let outcome = self.commit_effects(transaction, &target, effects).await;
        if let Err(error) = &outcome {
            take_back(self.table.store(), &copies, error).await;
        }
        outcome
    }

    async fn commit_effects(&self, mut transaction: Transaction, target: &Target, effects: Effects) -> Result<WriteOutcome> {
        let (new_rows, copied_rows) = (effects.new_rows, effects.copied_rows);
        let mut metrics = WriteMetrics { output_rows: new_rows + copied_rows, copied_rows, ..WriteMetrics::default() };
        if transaction.snapshot().is_some() && self.options.mode == WriteMode::Overwrite {
            metrics.deleted_rows = effects.deleted.rows()?;
        }
        metrics.set_totals(&effects.register(Some(target), &mut transaction).await?);
        if let Some(application) = &self.options.txn {
            transaction.record(application, Some(new_rows));
        }
        let Committed { version, snapshot, conflicts } = transaction.commit(self.operation(target, &metrics)).await?;
        metrics.conflicts = conflicts;
        if let Some(snapshot) = &snapshot {
            self.table.keep(snapshot).await;
        }
        Ok(WriteOutcome { version, committed: true, metrics, snapshot })
    }

    /// Finds the rows that are replaced. The remaining rows of removed files are copied.
    async fn replace(
        &self,
        snapshot: &Snapshot,
        target: &Target,
        condition: Option<Arc<Filter>>,
        files: &Effects,
    ) -> Result<Effects> {
        let selection = self.selection(snapshot, condition, target, files)?;
        let deleted = Search::of_places(snapshot, &selection)?.all().await?;
        // The removed and added files already show the changes, unless rows are copied.
        let copies = !notes_vectors(snapshot) && !deleted.parts.is_empty();
        let mut rewrite = Rewrite::begin(snapshot, target, copies)?;
        if let Err(error) = record(&mut rewrite, snapshot, &deleted, files).await {
            rewrite.abort().await;
            return Err(error);
        }
        Ok(Effects { read: selection.read_set(), ..rewrite.finish(deleted, Moves::default()).await? })
    }

    /// Returns the rows that are replaced.
    fn selection(
        &self,
        snapshot: &Snapshot,
        condition: Option<Arc<Filter>>,
        target: &Target,
        files: &Effects,
    ) -> Result<Selection> {
        let columns = &target.rules.partition_columns;
        Ok(match condition {
            Some(filter) => Selection::Matching(Matching::new(snapshot, filter)?),
            None if self.options.partitions == PartitionMode::Dynamic && !columns.is_empty() => {
                let columns = columns.iter().map(|column| column.physical.clone()).collect();
                Selection::Partitions(Partitions::new(Some(snapshot), columns, partitions_of(target, &files.added)))
            }
            None => Selection::All,
        })
    }

    fn operation(&self, target: &Target, metrics: &WriteMetrics) -> Operation {
        let (mode, is_overwrite) = match self.options.mode {
            WriteMode::Append => ("Append", false),
            WriteMode::Overwrite => ("Overwrite", true),
            WriteMode::Error => ("ErrorIfExists", false),
            WriteMode::Ignore => ("Ignore", false),
        };
        let mut operation =
            Operation::new("WRITE").with("mode", mode).with_names("partitionBy", &target.table.metadata.partition_columns);
        if let Some(text) = &self.options.replace_where {
            operation = operation.with("predicate", text.clone());
        }
        if self.options.partitions == PartitionMode::Dynamic {
            operation = operation.with("isDynamicPartitionOverwrite", true);
        }
        operation = match self.options.schema_mode {
            SchemaMode::Enforce => operation,
            SchemaMode::Merge => operation.with("canMergeSchema", true),
            SchemaMode::Overwrite => operation.with("canOverwriteSchema", true),
        };
        operation = operation.with_metrics(metrics.history(HistoryOf::Write));
        if is_overwrite {
            operation = operation.with_metrics(metrics.history(HistoryOf::Overwrite));
        }
        if self.options.replace_where.is_some() {
            operation = operation.with_metrics(metrics.history(HistoryOf::ReplaceWhere));
        }
        operation
    }
}

/// Writes the change data of an overwrite, if the commit needs it.
async fn record(rewrite: &mut Rewrite, snapshot: &Snapshot, deleted: &DeletedRows, files: &Effects) -> Result<()> {
    if !rewrite.records() {
        return Ok(());
    }
    rewrite.record_deleted(deleted).await?;
    let added = files.added.iter().map(|file| ScanFile::new(file.add.clone(), None)).collect::<Result<Vec<_>>>()?;
    let mut rows = read_files(snapshot.store(), &snapshot.scan().spec(), added, ReadOptions::default())?;
    while let Some(batch) = rows.try_next().await? {
        let batch = rewrite.shape().written(&batch)?;
        rewrite.record(&batch, RecordedChange::Insert).await?;
    }
    Ok(())
}

impl WriteMetrics {
    pub(super) fn add_files(&mut self, files: &Effects) {
        self.added_files += files.added.len() as u64;
        self.output_rows += files.new_rows;
        self.output_bytes += files.added.iter().filter_map(|file| u64::try_from(file.add.size).ok()).sum::<u64>();
    }

    fn set_totals(&mut self, totals: &FileTotals) {
        (self.added_files, self.output_bytes) = (totals.added_files, totals.added_bytes);
        (self.removed_files, self.removed_bytes) = (totals.removed_files, totals.removed_bytes);
        self.change_files = totals.change_files;
    }
}

fn partitions_of(target: &Target, written: &[WrittenFile]) -> HashSet<PartitionTexts> {
    let columns = &target.rules.partition_columns;
    let texts = |file: &WrittenFile| -> PartitionTexts {
        columns.iter().map(|column| file.add.partition_values.get(&column.physical).cloned().flatten()).collect()
    };
    written.iter().map(texts).collect()
}
