//! RESTORE: brings a table back to an older version, in a new version.
//!
//! The log alone is read. Files that the older version has and the newest one lacks come back, and
//! files that only the newest version has leave (`file_difference`). The definition goes back
//! (`definition::restored`). Files that would come back and were deleted are found before the
//! commit (`missing`). Begin with [`Restore`].

mod missing;
mod options;
mod outcome;
mod run;

use crate::{Result, Table};

pub use options::RestoreOptions;
pub use outcome::{RestoreMetrics, RestoreOutcome};
pub(crate) use run::check_files;

/// A restore of a table. Nothing is read before [`run`](Restore::run).
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> lakebed::Result<()> {
/// use std::sync::Arc;
/// use arrow_array::{Int64Array, RecordBatch};
/// use lakebed::restore::RestoreOptions;
/// use lakebed::{RecordBatchStream, Table};
///
/// let rows = RecordBatch::try_from_iter([("id", Arc::new(Int64Array::from(vec![1, 2, 3])) as _)])?;
/// let table = Table::at("memory://docs/restore").build()?;
/// table.write(RecordBatchStream::from_batches(rows.schema(), vec![rows])).run().await?;
/// table.delete().run().await?;
/// let outcome = table.restore().options(RestoreOptions { version: Some(0), ..RestoreOptions::default() }).run().await?;
/// assert_eq!((outcome.version, outcome.metrics.restored_files), (2, 1));
/// assert_eq!(table.snapshot().await?.scan().count().await?, 3);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Restore {
    table: Table,
    options: RestoreOptions,
}

impl Table {
    /// Brings the table back to an older version, in a new version.
    pub fn restore(&self) -> Restore {
        Restore { table: self.clone(), options: RestoreOptions::default() }
    }
}

impl Restore {
    /// Sets the options. One of them names the version.
    #[must_use]
    pub fn options(mut self, options: RestoreOptions) -> Self {
        self.options = options;
        self
    }

    /// Restores the table and commits. If other writers change the table meanwhile, it starts again
    /// on top of their commits, with the same older version.
    pub async fn run(self) -> Result<RestoreOutcome> {
        self.table.refuse_in_transaction("RESTORE")?;
        run::run(&self.table, &self.options).await
    }
}
