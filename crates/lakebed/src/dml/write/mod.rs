//! Writing rows: appending them, or replacing others by them.
//!
//! The way of a write: `target` decides which schema and properties the table will have, `run` writes the rows of the caller to
//! files and retries on newer versions, and `commit` finds the rows that an overwrite replaces and commits everything. Nothing is
//! visible before. The files of a failed write are deleted. Begin with [`Write`].

mod commit;
mod elsewhere;
mod known;
mod run;
mod target;
mod task;

use std::collections::HashMap;
use std::time::Duration;

use lakebed_io::parquet::write::Codec;
use serde::{Deserialize, Serialize};

use crate::transaction::{Application, CommitSettings};
use crate::write::OnLossy;
use crate::write::settings::FileSettings;
use crate::{RecordBatchStream, Result, Snapshot, Table};

pub use elsewhere::{PlannedWrite, write_files, write_files_at};
pub use task::{WriteTask, WrittenFiles};

/// Rows on their way into a table. Nothing is read of them before [`run`](Write::run).
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> lakebed::Result<()> {
/// use std::sync::Arc;
/// use arrow_array::{Int64Array, RecordBatch};
/// use lakebed::{RecordBatchStream, Table};
///
/// let rows = RecordBatch::try_from_iter([("id", Arc::new(Int64Array::from(vec![1, 2, 3])) as _)])?;
/// let table = Table::at("memory://docs/write").build()?;
/// let outcome = table.write(RecordBatchStream::from_batches(rows.schema(), vec![rows])).run().await?;
/// assert_eq!((outcome.version, outcome.metrics.output_rows), (0, 3));
/// assert_eq!(table.snapshot().await?.scan().count().await?, 3);
/// # Ok(())
/// # }
/// ```
pub struct Write {
    table: Table,
    data: RecordBatchStream,
    options: WriteOptions,
}

/// How to write rows.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WriteOptions {
    /// What becomes of the rows that are there.
    pub mode: WriteMode,
    /// Of an overwrite: only the rows for which this is true make way, and all new rows must meet it.
    #[serde(rename = "where")]
    pub replace_where: Option<String>,
    /// Of an overwrite: which partitions make way.
    pub partitions: PartitionMode,
    /// What becomes of the table's schema if the data has another.
    pub schema_mode: SchemaMode,
    /// Of a new table, or with another schema: the columns by whose values files are kept apart. An existing table must have the same.
    pub partition_by: Option<Vec<String>>,
    /// Of a new table, or with another schema: the columns by whose values files are kept together.
    pub cluster_by: Option<Vec<String>>,
    /// Of a new table: its properties. An existing table must have the same.
    pub properties: HashMap<String, String>,
    /// An application and its own number of this write: a write that the table knows already is not done again.
    pub txn: Option<Application>,
    /// Words of the caller's own, kept in the history.
    pub user_metadata: Option<String>,
    /// The approximate size of new files, at least [`LEAST_FILE_SIZE_BYTES`](crate::write::LEAST_FILE_SIZE_BYTES). The default is the table's property; without one it is 128 MiB,
    /// and more for tables of 256 GiB and above.
    #[serde(rename = "target_file_size")]
    pub target_file_size_bytes: Option<u64>,
    /// How pages are compressed; by default what the table's properties say, else Snappy.
    #[serde(with = "crate::option_value::compression")]
    pub compression: Option<Codec>,
    /// The rows of a row group, at most.
    pub row_group_rows: Option<usize>,
    /// Columns that get Bloom filters; fields of structs as `a.b`.
    pub bloom_columns: Vec<String>,
    /// What to do with digits that a column cannot hold.
    pub on_lossy: OnLossy,
    /// How long to go on trying while other writers are faster.
    #[serde(with = "crate::option_value::seconds")]
    pub timeout: Option<Duration>,
}

/// What becomes of the rows that are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteMode {
    /// They stay.
    #[default]
    Append,
    /// They make way, all or some.
    Overwrite,
    /// There may be no table.
    Error,
    /// If there is a table, nothing is written.
    Ignore,
}

/// Which partitions an overwrite replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartitionMode {
    /// All of them, or those that the condition tells.
    #[default]
    Static,
    /// Only those into which rows are written.
    Dynamic,
}

/// What becomes of the table's schema if the data has another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchemaMode {
    /// The data must fit.
    #[default]
    Enforce,
    /// Columns that the table lacks are added, and types become wider where the table allows it.
    Merge,
    /// Of an overwrite: the table gets the schema of the data.
    Overwrite,
}

/// What came of a write.
#[derive(Debug, Clone)]
pub struct WriteOutcome {
    /// The version that it became, or the latest one if nothing was written.
    pub version: u64,
    /// False if there was nothing to do: the table was to be left alone, or knew the write already.
    pub committed: bool,
    /// What was written.
    pub metrics: WriteMetrics,
    /// The table as of that version; none if it could not be read since, which does not undo the write.
    pub snapshot: Option<Snapshot>,
}

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct WriteMetrics {
    /// New files.
    pub added_files: u64,
    /// Their rows, those among them that were copied.
    pub output_rows: u64,
    /// The sizes of the new files.
    pub output_bytes: u64,
    /// Files that made way.
    pub removed_files: u64,
    /// Their sizes.
    pub removed_bytes: u64,
    /// Rows that stayed but had to move to new files.
    pub copied_rows: u64,
    /// Rows that made way, if the log tells how many there were.
    pub deleted_rows: Option<u64>,
    /// Files of changed rows.
    pub change_files: u64,
    /// How often another writer was faster.
    pub conflicts: u64,
}

impl Table {
    /// Writes rows: appends them, unless told otherwise. A table that does not exist is made.
    pub fn write(&self, data: RecordBatchStream) -> Write {
        Write { table: self.clone(), data, options: WriteOptions::default() }
    }
}

impl Write {
    /// How to write.
    #[must_use]
    pub fn options(mut self, options: WriteOptions) -> Self {
        self.options = options;
        self
    }

    /// What becomes of the rows that are there.
    #[must_use]
    pub fn mode(mut self, mode: WriteMode) -> Self {
        self.options.mode = mode;
        self
    }

    /// Writes and commits.
    pub async fn run(self) -> Result<WriteOutcome> {
        run::run(self.table, self.data, self.options).await
    }
}

impl WriteOptions {
    fn file_settings(&self) -> FileSettings {
        FileSettings {
            target_file_size_bytes: self.target_file_size_bytes,
            compression: self.compression,
            row_group_rows: self.row_group_rows,
            bloom_columns: self.bloom_columns.clone(),
        }
    }

    fn commit_settings(&self) -> CommitSettings {
        let defaults = CommitSettings::default();
        CommitSettings {
            user_metadata: self.user_metadata.clone(),
            timeout: self.timeout.unwrap_or(defaults.timeout),
            ..defaults
        }
    }
}
