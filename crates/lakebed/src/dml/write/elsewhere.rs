//! Distributed writes: one process plans the write, many write files, and one commits.
//!
//! [`Table::plan_write`] decides everything that does not depend on rows and returns a
//! [`WriteTask`]. Any number of processes pass the task and their share of the rows to
//! [`write_files_at`]. [`Table::commit_write`] commits all files as one version. Files that are
//! never committed are not part of any version.

use std::collections::HashSet;

use lakebed_core::action::Add;
use lakebed_core::error::ConflictKind;
use lakebed_core::schema::StructType;
use lakebed_io::env::Env;
use lakebed_io::store::{Store, StoreOptions, all_flushed};

use super::part::PartWriter;
use super::run::{Begun, Step, WriteRun, counted_already, outcome_of};
use super::task::WriteTask;
use super::{WriteOptions, WriteOutcome};
use crate::rows::effects::Effects;
use crate::rows::selection::parse_condition;
use crate::rows::target::Target;
use crate::write::account;
use crate::write::data_file::WrittenFile;
use crate::write::files::delete_written;
use crate::write::identity_column::PartNumber;
use crate::{Error, ErrorKind, RecordBatchStream, Result, Table};

/// The result of planning a write.
#[derive(Debug, Clone)]
pub enum PlannedWrite {
    /// Nothing to write: the mode leaves the existing table unchanged, or the table already has the
    /// write.
    Done(Box<WriteOutcome>),
    /// The table has a batch of this number, and only the row count shows whether it is the same
    /// batch. Count the rows, and plan again with [`Batch::rows`](crate::transaction::Batch::rows).
    CountRows,
    /// The task for the processes that write files.
    Task(Box<WriteTask>),
}

impl Table {
    /// Plans a write of rows with this schema. Everything that can be refused without reading a row
    /// is refused here.
    pub async fn plan_write(&self, schema: StructType, options: WriteOptions) -> Result<PlannedWrite> {
        self.refuse_in_transaction("a write in several processes")?;
        let run = WriteRun::new(self.clone(), schema, options, self.env().now_ms())?;
        let begun = match run.begin(None).await? {
            Step::Done(outcome) => return Ok(PlannedWrite::Done(outcome)),
            Step::CountRows => return Ok(PlannedWrite::CountRows),
            Step::Begun(begun) => begun,
        };
        let task = WriteTask {
            table_url: self.store().url().to_owned(),
            version: begun.snapshot.as_ref().map(crate::Snapshot::version),
            schema: run.schema,
            options: WriteOptions { target_file_size_bytes: Some(begun.target.target_file_size_bytes()), ..run.options },
            table: begun.target.table,
            now_ms: run.now_ms,
        };
        Ok(PlannedWrite::Task(Box::new(task)))
    }

    /// Commits the files that were written for a task, all in one version and only once. If a
    /// version already contains the files, its outcome is returned. If a conflict makes the commit
    /// impossible, the files are deleted and the rows have to be written again. If the store fails,
    /// the files stay, and the commit can be tried again.
    pub async fn commit_write(&self, task: WriteTask, written: Vec<Effects>) -> Result<WriteOutcome> {
        let after = task.version;
        let target = Target::new(task.table.clone(), self.store().url(), &task.options.file_settings(), task.now_ms)?;
        let mut files = Effects::default();
        for part in written {
            check_part(&target, &part)?;
            files.join(part);
        }
        if let Some(outcome) = outcome_of(self, after, &files).await? {
            return Ok(outcome);
        }
        let outcome = self.commit_files(task, target, &files).await;
        let is_settled = match &outcome {
            Ok(outcome) => outcome.committed,
            Err(error) => matches!(error.kind(), ErrorKind::CommitUnknown { .. } | ErrorKind::Store { .. }),
        };
        if is_settled {
            return outcome;
        }
        // The conflicting commit may be a commit of the same files by another process.
        if let Some(outcome) = outcome_of(self, after, &files).await? {
            return Ok(outcome);
        }
        delete_written(self.store(), &files.added).await;
        outcome
    }

    async fn commit_files(&self, task: WriteTask, target: Target, files: &Effects) -> Result<WriteOutcome> {
        let run = WriteRun::new(self.clone(), task.schema, task.options, task.now_ms)?;
        let snapshot = match task.version {
            Some(version) => Some(self.snapshot_at(version).await?),
            None => None,
        };
        if let Some(snapshot) = snapshot.as_ref().filter(|snapshot| snapshot.metadata().id != target.table.metadata.id) {
            let message = format!(
                "{}: the table was deleted and created again while the rows were written; write them again",
                snapshot.url()
            );
            let winner_version = snapshot.version();
            return Err(Error::new(
                ErrorKind::CommitConflict { kind: ConflictKind::MetadataChanged, winner_version, retryable: true },
                message,
            ));
        }
        match run.nothing_to_do(snapshot.as_ref(), Some(files.new_rows)).await? {
            Some(Step::Done(outcome)) => return Ok(*outcome),
            Some(Step::CountRows) => return Err(counted_already()),
            Some(Step::Begun(_)) | None => {}
        }
        let transaction = run.transaction(snapshot.as_ref()).await?;
        let condition = run.condition(snapshot.as_ref(), &target)?;
        run.until_committed(Begun { snapshot, transaction, target, condition }, files).await
    }

    /// Deletes the files of a task for which no commit was tried. After a try,
    /// [`Self::commit_write`] has already cleaned up.
    pub async fn abort_write(&self, written: Vec<Effects>) {
        let files: Vec<WrittenFile> = written.iter().flat_map(Effects::files).collect();
        delete_written(self.store(), &files).await;
    }
}

/// Checks that a part only adds rows, that its files belong to this table, and that they hold all
/// of its rows.
fn check_part(target: &Target, part: &Effects) -> Result<()> {
    let table = &target.rules.table;
    if !part.only_adds_rows() {
        return Err(Error::invalid_input(format!(
            "{table}: one of the effects deletes, changes or copies rows; a write commits only the effects of parts that add rows"
        )));
    }
    check_partitions(target, part)?;
    account::check(table, part.new_rows, part.added.iter().map(|file| &file.add))
}

/// Checks that new files have a value for each partition column and for no other column.
fn check_partitions(target: &Target, part: &Effects) -> Result<()> {
    let columns: HashSet<&str> = target.rules.partition_columns.iter().map(|column| column.physical.as_str()).collect();
    let is_other = |add: &&Add| add.partition_values.keys().map(String::as_str).collect::<HashSet<_>>() != columns;
    match part.added.iter().map(|file| &file.add).find(is_other) {
        Some(add) => Err(Error::invalid_input(format!(
            "{}: the file was written for another table: its partition columns differ",
            add.path
        ))),
        None => Ok(()),
    }
}

/// Writes the rows of one part of a write in a process that has only the task and access to the
/// store.
pub async fn write_files_at(
    task: &WriteTask,
    part: PartNumber,
    data: RecordBatchStream,
    options: StoreOptions,
) -> Result<Effects> {
    write_files(&Store::open(&task.table_url, options)?, &Env::system(), task, part, data).await
}

/// Writes the rows of one part of a write. When this returns, the files are durable. If it fails,
/// no file is left.
pub async fn write_files(
    store: &Store,
    env: &Env,
    task: &WriteTask,
    part: PartNumber,
    data: RecordBatchStream,
) -> Result<Effects> {
    if part.number >= part.of {
        let message = format!(
            "{}: part {} of a write of {} parts does not exist: parts are numbered from 0",
            task.table_url, part.number, part.of
        );
        return Err(Error::invalid_input(message));
    }
    let target = Target::new(task.table.clone(), &task.table_url, &task.options.file_settings(), task.now_ms)?;
    let parse = |text: &String| parse_condition(&task.table_url, &target.rules.schema, text, task.now_ms);
    let condition = task.options.replace_where.as_ref().map(parse).transpose()?;
    let (condition, on_lossy) = (condition.as_ref(), task.on_lossy());
    let files = PartWriter { store, env, target: &target, condition, on_lossy }.write(part, data).await?;
    let unflushed: Vec<_> = files.added.iter().map(|file| file.unflushed.clone()).collect();
    if let Err(error) = all_flushed(&unflushed).await {
        delete_written(store, &files.added).await;
        return Err(error);
    }
    Ok(files)
}
