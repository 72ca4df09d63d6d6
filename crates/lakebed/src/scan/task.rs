//! A part of a scan that can cross processes: how to read, and which files.
//!
//! [`ScanTask::to_bytes`] and [`ScanTask::from_bytes`] are each other's inverse. The bytes hold no secrets: whoever reads the task finds
//! credentials by itself. They are input like any other, so `from_bytes` believes nothing.

#[cfg(test)]
mod tests;
mod wire;

use lakebed_io::store::{Store, StoreOptions};

use super::file::ScanFile;
use super::read::{ReadOptions, read_files};
use super::spec::ScanSpec;
use crate::runtime::stream::RecordBatchStream;
use crate::{Error, Result};

/// Files of one table, and what to read of them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ScanTask {
    /// How to read.
    pub spec: ScanSpec,
    /// The files, in the order in which their rows come out.
    pub files: Vec<ScanFile>,
}

impl ScanTask {
    /// What the bytes of a stranger could get wrong.
    pub(super) fn check(&self) -> Result<()> {
        crate::wire::check_root(&self.spec.table_url)?;
        for column in &self.spec.partition_columns {
            if self.spec.schema.field(column).is_none() {
                return Err(invalid(format!("partition column {column} is not in the schema")));
            }
        }
        self.spec.output_schema()?;
        self.files.iter().try_for_each(ScanFile::check)?;
        let asks = self.spec.row_columns.iter().find(|column| column.kind.is_of_change());
        match (asks, self.files.iter().find(|file| file.change.is_none())) {
            (Some(column), Some(file)) => {
                Err(invalid(format!("column {} tells of changes, of which {} is none", column.name, file.path)))
            }
            _ => Ok(()),
        }
    }
}

/// The rows of a task, in the order of its files. Must be called within a Tokio runtime.
///
/// Reading starts when the stream is made and runs ahead of the reader as far as memory allows. Dropping the stream stops it.
pub async fn read_task(store: &Store, task: ScanTask) -> Result<RecordBatchStream> {
    read_files(store, &task.spec, task.files, ReadOptions::default())
}

/// Reads a task in a process that has nothing but the task and a way to the store.
pub async fn read_task_at(task: ScanTask, options: StoreOptions) -> Result<RecordBatchStream> {
    let store = Store::open(&task.spec.table_url, options)?;
    read_task(&store, task).await
}

fn invalid(message: impl std::fmt::Display) -> Error {
    Error::invalid_input(format!("not a scan task that can be read: {message}"))
}
