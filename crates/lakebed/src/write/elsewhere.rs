//! Writes whose files other processes write: planned in one place, written in many, committed in one.
//!
//! [`Table::plan_write`] decides everything that can be decided without a row and gives a [`WriteTask`]; any number of processes hand it and
//! their share of the rows to [`write_files_at`]; [`Table::commit_write`] makes one version of what they wrote. What nobody commits is
//! named by no version.

use std::collections::HashMap;
use std::sync::Arc;

use lakebed_core::schema::StructType;
use lakebed_io::env::Env;
use lakebed_io::store::{CredentialSource, Store, StoreOptions, all_flushed};

use super::files::{WrittenFile, delete_written};
use super::identity::Part;
use super::replaced::parse_condition;
use super::rules::{Filling, WriteRules};
use super::run::{Begun, Files, Run, Step, write_part};
use super::target::Target;
use super::task::{WriteTask, WrittenFiles};
use super::{WriteOptions, WriteOutcome};
use crate::{Error, RecordBatchStream, Result, Table};

/// What there is to write.
#[derive(Debug, Clone)]
pub enum PlannedWrite {
    /// Nothing: the table is to be left alone, or knows the write already.
    Done(Box<WriteOutcome>),
    /// For whoever writes files.
    Task(Box<WriteTask>),
}

impl Table {
    /// Plans a write of rows with this schema. Everything that can be refused without reading a row is refused here.
    pub async fn plan_write(&self, schema: StructType, options: WriteOptions) -> Result<PlannedWrite> {
        let run = Run::new(self.clone(), schema, options)?;
        let begun = match run.begin().await? {
            Step::Done(outcome) => return Ok(PlannedWrite::Done(outcome)),
            Step::Begun(begun) => begun,
        };
        let task = WriteTask {
            table_url: self.store().url().to_owned(),
            version: begun.snapshot.as_ref().map(crate::Snapshot::version),
            schema: run.schema,
            table: begun.target.table,
            options: run.options,
            now_ms: self.env().now_ms(),
        };
        Ok(PlannedWrite::Task(Box::new(task)))
    }

    /// Commits what was written for a task, all of it in one version. If that cannot be done, the files are deleted.
    pub async fn commit_write(&self, task: WriteTask, written: Vec<WrittenFiles>) -> Result<WriteOutcome> {
        let target = Target::new(task.table, self.store().url(), &task.options, task.now_ms)?;
        let files = together(written, &target.rules);
        let run = Run::new(self.clone(), task.schema, task.options)?;
        let snapshot = match task.version {
            Some(version) => Some(self.snapshot_at(version).await?),
            None => None,
        };
        if let Some(outcome) = run.nothing_to_do(snapshot.as_ref()).await? {
            delete_written(self.store(), &files.written).await;
            return Ok(outcome);
        }
        let transaction = run.transaction(snapshot.as_ref()).await?;
        let condition = run.condition(snapshot.as_ref())?;
        run.finish(Begun { snapshot, transaction, target, condition }, files).await
    }

    /// Deletes what was written for a task that is not to be committed.
    pub async fn abort_write(&self, written: Vec<WrittenFiles>) {
        let files: Vec<WrittenFile> = written.into_iter().flat_map(|files| files.adds).map(WrittenFile::safe).collect();
        delete_written(self.store(), &files).await;
    }
}

/// Writes the rows of one part of a write in a process that has nothing but the task and a way to the store.
pub async fn write_files_at(
    task: &WriteTask,
    part: Part,
    data: RecordBatchStream,
    options: HashMap<String, String>,
    credentials: Option<Arc<dyn CredentialSource>>,
) -> Result<WrittenFiles> {
    let options = StoreOptions { options, credentials, ..StoreOptions::default() };
    write_files(&Store::open(&task.table_url, options)?, &Env::system(), task, part, data).await
}

/// Writes the rows of one part of a write. They are safe once this is done; if it fails, nothing is left.
pub async fn write_files(
    store: &Store,
    env: &Env,
    task: &WriteTask,
    part: Part,
    data: RecordBatchStream,
) -> Result<WrittenFiles> {
    if part.number >= part.of {
        let message = format!("{}: part {} of a write of {} parts: parts count from 0", task.table_url, part.number, part.of);
        return Err(Error::invalid_input(message));
    }
    let target = Target::new(task.table.clone(), &task.table_url, &task.options, task.now_ms)?;
    let condition = match (&task.options.replace_where, task.version) {
        (Some(text), Some(_)) => Some(parse_condition(&task.table_url, &target.rules.schema, text, task.now_ms)?),
        _ => None,
    };
    let files = write_part(store, env, data, &target, condition.as_ref(), &task.options, part).await?;
    let unflushed: Vec<_> = files.written.iter().map(|file| file.unflushed.clone()).collect();
    if let Err(error) = all_flushed(&unflushed).await {
        delete_written(store, &files.written).await;
        return Err(error);
    }
    let adds = files.written.into_iter().map(|file| file.add).collect();
    Ok(WrittenFiles { adds, rows: files.rows, marks: files.marks })
}

/// What all parts wrote. Of the marks of an identity column the one counts that is furthest along.
fn together(written: Vec<WrittenFiles>, rules: &WriteRules) -> Files {
    let mut files = Files { written: Vec::new(), rows: 0, marks: Vec::new() };
    let mut marks: HashMap<usize, i64> = HashMap::new();
    for part in written {
        files.rows += part.rows;
        files.written.extend(part.adds.into_iter().map(WrittenFile::safe));
        for (place, mark) in part.marks {
            let Some((_, Filling::Identity(identity))) = rules.filled.iter().find(|(filled, _)| *filled == place) else {
                continue;
            };
            marks.entry(place).and_modify(|known| *known = identity.further(*known, mark)).or_insert(mark);
        }
    }
    files.marks.extend(marks);
    files.marks.sort_unstable();
    files
}
