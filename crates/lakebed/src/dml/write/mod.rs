//! Writes of rows: append and overwrite.
//!
//! `target` decides the schema and properties that the table will have. `run` writes the rows of
//! the caller to files and retries on newer versions. `commit` finds the rows that an overwrite
//! replaces and commits everything. Nothing is visible before the commit. The files of a failed
//! write are deleted. Begin with [`Write`].

mod commit;
mod elsewhere;
mod known;
mod options;
mod outcome;
mod part;
mod run;
mod target;
mod task;

use crate::{RecordBatchStream, Result, Table};

pub use elsewhere::{PlannedWrite, write_files, write_files_at};
pub use options::{PartitionMode, SchemaMode, WriteMode, WriteOptions};
pub use outcome::{WriteMetrics, WriteOutcome};
pub use task::WriteTask;

/// A write of rows into a table. No row is read before [`run`](Write::run).
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

impl Table {
    /// Writes rows. The default mode is append. A table that does not exist is created.
    pub fn write(&self, data: RecordBatchStream) -> Write {
        Write { table: self.clone(), data, options: WriteOptions::default() }
    }
}

impl Write {
    /// Sets the options.
    #[must_use]
    pub fn options(mut self, options: WriteOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets the mode, which determines the treatment of existing rows.
    #[must_use]
    pub fn mode(mut self, mode: WriteMode) -> Self {
        self.options.mode = mode;
        self
    }

    /// Writes the rows and commits.
    pub async fn run(self) -> Result<WriteOutcome> {
        run::run(self.table, self.data, self.options).await
    }
}
