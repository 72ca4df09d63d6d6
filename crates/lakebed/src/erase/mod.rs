//! ERASE: rows go from the table and from its files, as data protection laws demand.
//!
//! A delete may leave the bytes of deleted rows in files of the newest version, and older versions
//! keep the rows anyway. An erase rewrites every file of the newest version that holds a matching
//! row, also if the row was deleted before (`newest`). Then it searches everything that the log
//! names for files that hold matching rows (`log_search`), and reports the versions that have these
//! files (`account`). With `history`, it drops these versions: a fence commit and a checkpoint of
//! it become the beginning of the log, and the files and the older log are deleted (`history`).
//! Begin with [`Erase`].

mod options;
mod outcome;
mod held_rows;
mod newest;
mod definition;
mod logged_files;
mod log_search;
mod presence;
mod account;
mod placeholder;
mod history;
mod run;

use crate::{Result, Table};

pub use options::EraseOptions;
pub use outcome::{EraseMetrics, EraseOutcome, HoldingVersions};

/// An erase of rows. Nothing is read before [`run`](Erase::run).
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> lakebed::Result<()> {
/// use std::sync::Arc;
/// use arrow_array::{Int64Array, RecordBatch};
/// use lakebed::erase::EraseOptions;
/// use lakebed::{RecordBatchStream, Table};
///
/// let rows = RecordBatch::try_from_iter([("id", Arc::new(Int64Array::from(vec![1, 2, 3])) as _)])?;
/// let table = Table::at("memory://docs/erase").build()?;
/// table.write(RecordBatchStream::from_batches(rows.schema(), vec![rows])).run().await?;
/// let outcome = table.erase("id = 2").run().await?;
/// assert_eq!((outcome.version, outcome.metrics.erased_rows), (1, Some(1)));
/// assert_eq!((outcome.older[0].first_version, outcome.older[0].last_version), (0, 0));
///
/// let options = EraseOptions { history: true, ..EraseOptions::new("id = 2") };
/// let outcome = table.erase("id = 2").options(options).run().await?;
/// assert!(outcome.older.is_empty() && table.snapshot_at(0).await.is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Erase {
    table: Table,
    options: EraseOptions,
}

impl Table {
    /// Erases the rows for which this Spark SQL expression is true.
    pub fn erase(&self, filter: impl Into<String>) -> Erase {
        Erase { table: self.clone(), options: EraseOptions::new(filter) }
    }
}

impl Erase {
    /// Sets the options, including the expression.
    #[must_use]
    pub fn options(mut self, options: EraseOptions) -> Self {
        self.options = options;
        self
    }

    /// Erases the rows. If other writers change the table meanwhile, it starts again on top of their
    /// commits. If it is interrupted, another run does the rest.
    pub async fn run(self) -> Result<EraseOutcome> {
        self.table.refuse_in_transaction("ERASE")?;
        run::run(&self.table, &self.options).await
    }
}
