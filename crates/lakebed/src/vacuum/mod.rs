//! VACUUM: deletes files that no version within the retention period needs.
//!
//! First, the files to keep are collected (`retained`): all data files and deletion vector files of
//! the newest version, of the tombstones within the retention period, and of tagged versions. Candidates for deletion
//! come from one of three sources: a walk through the folders (`folders`), the commits since the
//! last vacuum (`commits`), or a list of the caller (`inventory`). Hidden files (`hidden_names`)
//! and files within the retention period are not candidates. Before files are deleted, the newest
//! version is read again (`run`). Begin with [`Vacuum`].

mod candidates;
mod commits;
mod folders;
mod hidden_names;
mod history;
mod inventory;
mod options;
mod orphans;
mod outcome;
mod retained;
mod retention;
mod run;

use crate::{RecordBatchStream, Result, Table};

pub use options::{VacuumMode, VacuumOptions};
pub(crate) use orphans::{delete_orphaned_vectors, orphaned_vectors};
pub use outcome::{VacuumMetrics, VacuumOutcome};

/// A vacuum of a table: deletes the files that no version within the retention period needs.
/// Nothing is read before [`run`](Vacuum::run).
///
/// Everything below the table's folder belongs to the table, whatever its name and origin. The
/// exceptions are names that begin with `_` or `.`, and a folder `metadata`. Names with `_` of the
/// folders of partitions, change data and indexes belong to the table all the same.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> lakebed::Result<()> {
/// use std::sync::Arc;
/// use std::time::Duration;
/// use arrow_array::{Int64Array, RecordBatch};
/// use lakebed::vacuum::VacuumOptions;
/// use lakebed::{RecordBatchStream, Table};
///
/// let rows = RecordBatch::try_from_iter([("id", Arc::new(Int64Array::from(vec![1, 2, 3])) as _)])?;
/// let table = Table::at("memory://docs/vacuum").build()?;
/// table.write(RecordBatchStream::from_batches(rows.schema(), vec![rows])).run().await?;
/// table.delete().run().await?;
/// // The table remembers for a week what left it.
/// assert_eq!(table.vacuum().run().await?.metrics.found_files, 0);
/// let refused = table.vacuum().options(VacuumOptions { retention: Some(Duration::ZERO), ..VacuumOptions::default() }).run().await;
/// assert!(refused.unwrap_err().to_string().contains("enforce_retention"));
/// # Ok(())
/// # }
/// ```
pub struct Vacuum {
    table: Table,
    options: VacuumOptions,
    inventory: Option<RecordBatchStream>,
}

impl Table {
    /// Deletes the files that no version within the retention period needs.
    pub fn vacuum(&self) -> Vacuum {
        Vacuum { table: self.clone(), options: VacuumOptions::default(), inventory: None }
    }
}

impl Vacuum {
    /// Sets the options.
    #[must_use]
    pub fn options(mut self, options: VacuumOptions) -> Self {
        self.options = options;
        self
    }

    /// Uses these objects instead of listing folders. The columns are `path` (below the table, or
    /// absolute, neither encoded), `length`, `isDir` and `modificationTime` (a timestamp, or
    /// milliseconds since the epoch). Objects outside of the table are ignored. Files that the list
    /// does not contain stay.
    #[must_use]
    pub fn inventory(mut self, objects: RecordBatchStream) -> Self {
        self.inventory = Some(objects);
        self
    }

    /// Deletes the files. If a file cannot be deleted, the others are deleted all the same, and the
    /// vacuum returns an error at the end. A vacuum that ended early can simply be run again.
    pub async fn run(self) -> Result<VacuumOutcome> {
        run::run(&self.table, self.options, self.inventory).await
    }
}
