//! The commit of a write: what makes way is found, and everything goes into one transaction.

use std::collections::HashSet;
use std::sync::Arc;

use lakebed_core::action::Metadata;

use super::files::{FileSink, WrittenFile};
use super::identity::with_mark;
use super::place::PartitionTexts;
use super::replaced::{Replaced, Replacing};
use super::run::{Begun, Files, Run, take_back};
use super::target::Target;
use super::{SchemaMode, WriteMetrics, WriteMode, WriteOutcome};
use crate::create::{PlannedTable, replace_domains};
use crate::expr::Filter;
use crate::transaction::{Committed, Operation, Partitions, Transaction};
use crate::{Error, Result, Snapshot};

impl Run {
    /// Commits files on top of the version that was looked at.
    pub(super) async fn commit(&self, begun: Begun, files: &Files) -> Result<WriteOutcome> {
        let Begun { snapshot, transaction, target, condition } = begun;
        let mut transaction = match transaction {
            Some(transaction) => transaction,
            None => {
                let (store, env) = (self.table.store().clone(), self.table.env().clone());
                let (protocol, metadata) = (target.table.protocol.clone(), target.table.metadata.clone());
                Transaction::create(store, env, protocol, metadata, self.options.commit_settings())?
            }
        };
        let mut metrics = WriteMetrics::default();
        metrics.add_files(&files.written, files.rows);
        let mut copies = Vec::new();
        if snapshot.is_none() && self.options.mode == WriteMode::Overwrite {
            // There is nothing to replace, but to know that is to have looked.
            transaction.read_all();
        }
        if let (Some(snapshot), WriteMode::Overwrite) = (&snapshot, self.options.mode) {
            let replaced = self.replaced(snapshot, condition, &target, files);
            let (replacing, written) = self.replace(snapshot, &target, &replaced).await?;
            (metrics.removed_files, metrics.removed_bytes) = replacing.totals()?;
            (metrics.copied_rows, metrics.deleted_rows) = (replacing.copied_rows, replacing.deleted_rows()?);
            metrics.add_files(&written, replacing.copied_rows);
            register(&mut transaction, snapshot, replaced, replacing)?;
            copies = written;
        }
        let outcome = self.commit_all(transaction, snapshot, &target, files, &copies, metrics).await;
        if let Err(error) = &outcome {
            take_back(self.table.store(), &copies, error).await;
        }
        outcome
    }

    async fn commit_all(
        &self,
        mut transaction: Transaction,
        snapshot: Option<Snapshot>,
        target: &Target,
        files: &Files,
        copies: &[WrittenFile],
        mut metrics: WriteMetrics,
    ) -> Result<WriteOutcome> {
        for file in files.written.iter().chain(copies) {
            transaction.add_unflushed(file.add.clone(), file.unflushed.clone());
        }
        if let Some(snapshot) = &snapshot {
            change_table(&mut transaction, snapshot, target, &files.marks).await?;
        } else {
            target.table.domains.iter().for_each(|domain| transaction.set_domain(domain.clone()));
            if !files.marks.is_empty() {
                transaction.set_metadata(with_marks(target, &files.marks)?);
            }
        }
        if let Some((app_id, version)) = &self.options.application {
            transaction.read_application(app_id);
            transaction.set_application(app_id, *version);
        }
        let Committed { version, snapshot, conflicts } = transaction.commit(self.operation(target, &metrics)).await?;
        metrics.conflicts = conflicts;
        if let Some(snapshot) = &snapshot {
            self.table.keep(snapshot).await;
        }
        Ok(WriteOutcome { version, is_committed: true, metrics, snapshot })
    }

    /// Finds what makes way, and copies the rows that stay of files that go.
    async fn replace(&self, snapshot: &Snapshot, target: &Target, replaced: &Replaced) -> Result<(Replacing, Vec<WrittenFile>)> {
        let (store, env) = (self.table.store().clone(), self.table.env().clone());
        let mut sink = FileSink::new(store, env, Arc::clone(&target.rules), target.files.clone())?;
        match Replacing::find(snapshot, replaced, &target.rules, &mut sink).await {
            Ok(replacing) => Ok((replacing, sink.finish().await?)),
            Err(error) => {
                sink.abort().await;
                Err(error)
            }
        }
    }

    fn replaced(&self, snapshot: &Snapshot, condition: Option<Arc<Filter>>, target: &Target, files: &Files) -> Replaced {
        let columns = &target.rules.partition_columns;
        match condition {
            Some(filter) => Replaced::Where(filter),
            None if self.options.dynamic_partitions && !columns.is_empty() => {
                let columns = columns.iter().map(|column| column.physical.clone()).collect();
                Replaced::Partitions(Partitions::new(Some(snapshot), columns, partitions_of(target, &files.written)))
            }
            None => Replaced::All,
        }
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
        if self.options.dynamic_partitions {
            operation = operation.with("isDynamicPartitionOverwrite", true);
        }
        operation = match self.options.schema {
            SchemaMode::Enforce => operation,
            SchemaMode::Merge => operation.with("canMergeSchema", true),
            SchemaMode::Overwrite => operation.with("canOverwriteSchema", true),
        };
        let mut set = |name: &str, value: u64| {
            operation.metrics.insert(name.to_owned(), i64::try_from(value).unwrap_or(i64::MAX));
        };
        set("numFiles", metrics.files);
        set("numOutputRows", metrics.output_rows);
        set("numOutputBytes", metrics.output_bytes);
        if is_overwrite {
            set("numRemovedFiles", metrics.removed_files);
            set("numRemovedBytes", metrics.removed_bytes);
        }
        if self.options.replace_where.is_some() {
            set("numAddedChangeFiles", 0);
            set("numCopiedRows", metrics.copied_rows);
            if let Some(rows) = metrics.deleted_rows {
                set("numDeletedRows", rows);
            }
        }
        operation
    }
}

/// Tells the transaction what was read and what goes.
fn register(transaction: &mut Transaction, snapshot: &Snapshot, replaced: Replaced, replacing: Replacing) -> Result<()> {
    match replaced {
        Replaced::All => transaction.read_all(),
        Replaced::Where(filter) => transaction.read_where(snapshot.pruner(&filter)?),
        Replaced::Partitions(partitions) => transaction.read_all_of(partitions),
    }
    for files in replacing.removed {
        transaction.read_files(&files)?;
        transaction.remove(files, true);
    }
    Ok(())
}

impl WriteMetrics {
    pub(super) fn add_files(&mut self, written: &[WrittenFile], rows: u64) {
        self.files += written.len() as u64;
        self.output_rows += rows;
        self.output_bytes += written.iter().filter_map(|file| u64::try_from(file.add.size).ok()).sum::<u64>();
    }
}

fn partitions_of(target: &Target, written: &[WrittenFile]) -> HashSet<PartitionTexts> {
    let columns = &target.rules.partition_columns;
    let texts = |file: &WrittenFile| -> PartitionTexts {
        columns.iter().map(|column| file.add.partition_values.get(&column.physical).cloned().flatten()).collect()
    };
    written.iter().map(texts).collect()
}

async fn change_table(transaction: &mut Transaction, snapshot: &Snapshot, target: &Target, marks: &[(usize, i64)]) -> Result<()> {
    let change = &target.table;
    if change.changes_protocol {
        transaction.set_protocol(change.protocol.clone());
    }
    if !marks.is_empty() {
        transaction.set_metadata(with_marks(target, marks)?);
        if !change.changes_metadata {
            transaction.mark_identity_only();
        }
    } else if change.changes_metadata {
        transaction.set_metadata(change.metadata.clone());
    }
    if change.is_replaced {
        let (protocol, metadata, domains) = (change.protocol.clone(), change.metadata.clone(), change.domains.clone());
        replace_domains(transaction, snapshot, &PlannedTable { protocol, metadata, domains }).await?;
    }
    Ok(())
}

/// The metadata with the marks of identity columns moved on.
fn with_marks(target: &Target, marks: &[(usize, i64)]) -> Result<Metadata> {
    let mut schema = target.rules.schema.clone();
    for (place, mark) in marks {
        let field = schema.fields.get_mut(*place).ok_or_else(|| Error::internal("an identity column that is not there"))?;
        *field = with_mark(field, *mark);
    }
    Ok(Metadata { schema_string: schema.to_json(), ..target.table.metadata.clone() })
}
