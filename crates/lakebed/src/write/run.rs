//! A write from beginning to end: what to do is decided on the newest version; if another writer changes what the decision rests on, it is
//! made again, with the files that are written already.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use lakebed_core::error::ConflictKind;
use lakebed_io::store::Store;

use super::check::Check;
use super::files::{FileSink, WrittenFile, delete_written};
use super::fill::Incoming;
use super::identity::with_mark;
use super::input::write_rows;
use super::place::PartitionTexts;
use super::replaced::{Replaced, Replacing, parse_condition};
use super::target::Target;
use super::{SchemaMode, WriteMetrics, WriteMode, WriteOptions, WriteOutcome};
use crate::create::{PlannedTable, exists, is_taken, replace_domains};
use crate::expr::Filter;
use crate::transaction::{Committed, Operation, Partitions, Transaction};
use crate::{Error, ErrorKind, RecordBatchStream, Result, Snapshot, Table};

/// So often a write begins again because others changed the table's schema or made the table.
const MOST_TRIES: usize = 20;

pub(super) async fn run(table: Table, data: RecordBatchStream, options: WriteOptions) -> Result<WriteOutcome> {
    check_options(&options)?;
    let schema = data.schema();
    let mut run = Run { table, options, schema, files: None };
    let outcome = run.until_done(data).await;
    if let (Err(error), Some(files)) = (&outcome, &run.files) {
        take_back(run.table.store(), &files.written, error).await;
    }
    outcome
}

/// Deletes what no commit names after this error; a commit that may be there may name it.
async fn take_back(store: &Store, written: &[WrittenFile], error: &Error) {
    if !matches!(error.kind(), ErrorKind::CommitUnknown { .. }) {
        delete_written(store, written).await;
    }
}

fn check_options(options: &WriteOptions) -> Result<()> {
    let is_overwrite = options.mode == WriteMode::Overwrite;
    let refuse = |why: &str| Err(Error::invalid_input(why));
    match (&options.replace_where, options.dynamic_partitions) {
        (Some(_), _) if !is_overwrite => refuse("where goes with mode=\"overwrite\": it says which rows make way"),
        (_, true) if !is_overwrite => refuse("partitions=\"dynamic\" goes with mode=\"overwrite\": it says which rows make way"),
        (Some(_), true) => refuse("where and partitions=\"dynamic\" both say which rows make way: choose one"),
        (replace_where, dynamic) if options.schema == SchemaMode::Overwrite && (replace_where.is_some() || dynamic) => {
            refuse("schema=\"overwrite\" replaces all rows: it goes neither with where nor with partitions=\"dynamic\"")
        }
        _ => Ok(()),
    }
}

struct Run {
    table: Table,
    options: WriteOptions,
    /// Of the data.
    schema: SchemaRef,
    files: Option<Files>,
}

/// Files that are written but not committed, and for which table.
struct Files {
    target: Target,
    written: Vec<WrittenFile>,
    rows: u64,
    /// Identity columns by their places, with their marks afterwards.
    marks: Vec<(usize, i64)>,
}

impl Run {
    async fn until_done(&mut self, data: RecordBatchStream) -> Result<WriteOutcome> {
        let url = self.table.store().url().to_owned();
        let mut data = Some(data);
        let mut tries = 0;
        loop {
            let snapshot = self.table.try_snapshot().await?;
            if let Some(outcome) = self.nothing_to_do(snapshot.as_ref(), &url).await? {
                return Ok(outcome);
            }
            let begun = match &snapshot {
                Some(snapshot) => Some(Transaction::begin(snapshot, self.options.commit_settings()).await?),
                None => None,
            };
            let target = Target::plan(snapshot.as_ref(), &self.schema, &self.options, &url, self.table.env()).await?;
            let condition = self.condition(snapshot.as_ref())?;
            match data.take() {
                Some(data) => self.write_files(data, target, condition.as_ref()).await?,
                None => self.keep_files_for(target, &url)?,
            }
            match self.commit(snapshot, begun, condition).await {
                Ok(outcome) => return Ok(outcome),
                Err(error) if self.may_begin_again(&error) && tries < MOST_TRIES => tries += 1,
                Err(error) => return Err(error),
            }
        }
    }

    async fn nothing_to_do(&self, snapshot: Option<&Snapshot>, url: &str) -> Result<Option<WriteOutcome>> {
        let Some(snapshot) = snapshot else { return Ok(None) };
        let is_done = match (self.options.mode, &self.options.application) {
            (WriteMode::Error, _) => return Err(exists(url)),
            (WriteMode::Ignore, _) => true,
            (_, Some((app_id, version))) => snapshot.transaction_version(app_id).await?.is_some_and(|known| known >= *version),
            (_, None) => false,
        };
        if !is_done {
            return Ok(None);
        }
        if let Some(files) = &self.files {
            delete_written(self.table.store(), &files.written).await;
        }
        Ok(Some(WriteOutcome {
            version: snapshot.version(),
            is_committed: false,
            metrics: WriteMetrics::default(),
            snapshot: Some(snapshot.clone()),
        }))
    }

    /// Which rows make way, where that is said by a condition.
    fn condition(&self, snapshot: Option<&Snapshot>) -> Result<Option<Arc<Filter>>> {
        let (Some(text), Some(snapshot)) = (&self.options.replace_where, snapshot) else { return Ok(None) };
        parse_condition(snapshot, text, self.table.env().now_ms()).map(Some)
    }

    /// New rows meet the condition of the rows that make way: else they could not be replaced in the same way again.
    async fn write_files(&mut self, data: RecordBatchStream, target: Target, condition: Option<&Arc<Filter>>) -> Result<()> {
        let check = |filter: &Arc<Filter>| {
            let (table, filter) = (self.table.store().url(), filter.as_ref().clone());
            Check::of_filter(table, "the condition of the overwrite".to_owned(), filter, &target.rules.arrow_schema)
        };
        let check = condition.map(check).transpose()?;
        let incoming = Incoming::new(Arc::clone(&target.rules), &self.schema, self.options.on_lossy)?.also_checking(check);
        let incoming = Arc::new(incoming);
        let mut sink = self.sink(&target)?;
        let outcome = match write_rows(data, Arc::clone(&incoming), &mut sink).await {
            Ok(rows) => sink.finish().await.map(|written| (written, rows)),
            Err(error) => {
                sink.abort().await;
                Err(error)
            }
        };
        let (written, rows) = outcome?;
        let marks = incoming.identity_marks(rows);
        self.files = Some(Files { target, written, rows, marks });
        Ok(())
    }

    fn sink(&self, target: &Target) -> Result<FileSink> {
        let (store, env) = (self.table.store().clone(), self.table.env().clone());
        FileSink::new(store, env, Arc::clone(&target.rules), target.files.clone())
    }

    /// Files that were written in an earlier try must be right for the table as it is now.
    fn keep_files_for(&mut self, target: Target, url: &str) -> Result<()> {
        let files = self.files.as_mut().ok_or_else(|| Error::internal("a write without files"))?;
        if !target.takes_files_of(&files.target) {
            let message = format!(
                "{url}: another writer changed the table's schema or rules while the rows were written; write them again"
            );
            let kind = ErrorKind::CommitConflict { kind: ConflictKind::MetadataChanged, winner_version: 0, retryable: true };
            return Err(Error::new(kind, message));
        }
        files.target = target;
        Ok(())
    }

    async fn commit(
        &self,
        snapshot: Option<Snapshot>,
        begun: Option<Transaction>,
        condition: Option<Arc<Filter>>,
    ) -> Result<WriteOutcome> {
        let files = self.files.as_ref().ok_or_else(|| Error::internal("a write without files"))?;
        let target = &files.target;
        let mut transaction = match begun {
            Some(transaction) => transaction,
            None => {
                let (store, env) = (self.table.store().clone(), self.table.env().clone());
                let (protocol, metadata) = (target.protocol.clone(), target.metadata.clone());
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
            let replaced = self.replaced(snapshot, condition, files);
            let (replacing, written) = self.replace(snapshot, target, &replaced).await?;
            (metrics.removed_files, metrics.removed_bytes) = replacing.totals()?;
            (metrics.copied_rows, metrics.deleted_rows) = (replacing.copied_rows, replacing.deleted_rows()?);
            metrics.add_files(&written, replacing.copied_rows);
            register(&mut transaction, snapshot, replaced, replacing)?;
            copies = written;
        }
        let outcome = self.commit_all(transaction, snapshot, files, &copies, metrics).await;
        if let Err(error) = &outcome {
            take_back(self.table.store(), &copies, error).await;
        }
        outcome
    }

    async fn commit_all(
        &self,
        mut transaction: Transaction,
        snapshot: Option<Snapshot>,
        files: &Files,
        copies: &[WrittenFile],
        mut metrics: WriteMetrics,
    ) -> Result<WriteOutcome> {
        let target = &files.target;
        for file in files.written.iter().chain(copies) {
            transaction.add_unflushed(file.add.clone(), file.unflushed.clone());
        }
        if let Some(snapshot) = &snapshot {
            self.change_table(&mut transaction, snapshot, files).await?;
        } else {
            target.domains.iter().for_each(|domain| transaction.set_domain(domain.clone()));
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

    async fn change_table(&self, transaction: &mut Transaction, snapshot: &Snapshot, files: &Files) -> Result<()> {
        let target = &files.target;
        if target.changes_protocol {
            transaction.set_protocol(target.protocol.clone());
        }
        if !files.marks.is_empty() {
            transaction.set_metadata(with_marks(target, &files.marks)?);
            if !target.changes_metadata {
                transaction.mark_identity_only();
            }
        } else if target.changes_metadata {
            transaction.set_metadata(target.metadata.clone());
        }
        if target.is_replaced {
            let (protocol, metadata, domains) = (target.protocol.clone(), target.metadata.clone(), target.domains.clone());
            replace_domains(transaction, snapshot, &PlannedTable { protocol, metadata, domains }).await?;
        }
        Ok(())
    }

    /// Finds what makes way, and copies the rows that stay of files that go.
    async fn replace(&self, snapshot: &Snapshot, target: &Target, replaced: &Replaced) -> Result<(Replacing, Vec<WrittenFile>)> {
        let mut sink = self.sink(target)?;
        match Replacing::find(snapshot, replaced, &target.rules, &mut sink).await {
            Ok(replacing) => Ok((replacing, sink.finish().await?)),
            Err(error) => {
                sink.abort().await;
                Err(error)
            }
        }
    }

    fn replaced(&self, snapshot: &Snapshot, condition: Option<Arc<Filter>>, files: &Files) -> Replaced {
        let columns = &files.target.rules.partition_columns;
        match condition {
            Some(filter) => Replaced::Where(filter),
            None if self.options.dynamic_partitions && !columns.is_empty() => {
                let columns = columns.iter().map(|column| column.physical.clone()).collect();
                Replaced::Partitions(Partitions::new(Some(snapshot), columns, partitions_of(&files.target, &files.written)))
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
            Operation::new("WRITE").with("mode", mode).with_names("partitionBy", &target.metadata.partition_columns);
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

    /// Appends do not depend on what others write; and a table that another made first can be appended to.
    fn may_begin_again(&self, error: &Error) -> bool {
        let ErrorKind::CommitConflict { kind, .. } = error.kind() else { return false };
        let by_kind = match kind {
            ConflictKind::MetadataChanged | ConflictKind::ProtocolChanged => self.options.mode == WriteMode::Append,
            ConflictKind::ConcurrentTransaction => self.options.application.is_some(),
            _ => false,
        };
        by_kind || is_taken(error)
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
    fn add_files(&mut self, written: &[WrittenFile], rows: u64) {
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

/// The metadata with the marks of identity columns moved on.
fn with_marks(target: &Target, marks: &[(usize, i64)]) -> Result<lakebed_core::action::Metadata> {
    let mut schema = target.rules.schema.clone();
    for (place, mark) in marks {
        let field = schema.fields.get_mut(*place).ok_or_else(|| Error::internal("an identity column that is not there"))?;
        *field = with_mark(field, *mark);
    }
    Ok(lakebed_core::action::Metadata { schema_string: schema.to_json(), ..target.metadata.clone() })
}
