//! A part of a scan as bytes for another process: how to read, and which files to read.
//!
//! [`ScanTask::to_bytes`] and [`ScanTask::from_bytes`] are inverse to each other. The bytes hold no
//! secrets. The process that reads the task must find credentials itself. The bytes are untrusted
//! input, so `from_bytes` checks all of them.

#[cfg(test)]
mod tests;
mod wire;

use lakebed_io::store::{Store, StoreOptions};

use super::file::{ScanFile, invalid_task};
use super::read::{ReadOptions, read_files};
use super::spec::ScanSpec;
use crate::Result;
use crate::runtime::stream::RecordBatchStream;

/// Files of one table, and the parts of them to read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ScanTask {
    /// The description of the read.
    pub spec: ScanSpec,
    /// The files, in the order in which their rows are returned.
    pub files: Vec<ScanFile>,
}

impl ScanTask {
    /// Checks everything that can be wrong in bytes from an unknown source.
    pub(super) fn check(&self) -> Result<()> {
        crate::wire::check_root(&self.spec.table_url)?;
        self.spec.clone_sources.iter().try_for_each(|source| crate::wire::check_root(source))?;
        for column in &self.spec.partition_columns {
            if self.spec.schema.field(column).is_none() {
                return Err(invalid_task(format!("partition column {column} is not in the schema")));
            }
        }
        self.spec.output_schema()?;
        self.files.iter().try_for_each(ScanFile::check)?;
        let asks = self.spec.row_columns.iter().find(|column| column.kind.is_of_change());
        match (asks, self.files.iter().find(|file| file.change.is_none())) {
            (Some(column), Some(file)) => {
                Err(invalid_task(format!("column {} is about changes, but {} is not a file of a change", column.name, file.path)))
            }
            _ => Ok(()),
        }
    }
}

/// Returns the rows of a task, in the order of its files. It must be called within a Tokio runtime.
///
/// Reading starts when the stream is created. It runs ahead of the consumer as far as memory
/// allows. Dropping the stream stops it.
pub async fn read_task(store: &Store, task: ScanTask) -> Result<RecordBatchStream> {
    read_files(store, &task.spec, task.files, ReadOptions::default())
}

/// Reads a task in a process that has only the task and the options to open the store.
pub async fn read_task_at(task: ScanTask, options: StoreOptions) -> Result<RecordBatchStream> {
    let store = Store::open(&task.spec.table_url, options)?;
    for source in &task.spec.clone_sources {
        store.follow(source)?;
    }
    read_task(&store, task).await
}
