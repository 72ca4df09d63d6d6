//! Vacuum: the end of files that no version within the retention needs.
//!
//! What may not go is collected first (`retained`): every file, and every file of deletion vectors, of the newest version and of what left the
//! table within the retention. Candidates come from one of three sources: a walk through the folders (`folders`), the commits since the last
//! time (`commits`), or a list that the caller has (`inventory`). Nothing is a candidate that is hidden (`hidden_names`) or younger than the
//! retention. Before anything goes the newest version is looked at again (`run`). Read [`Vacuum`] first.

mod candidates;
mod commits;
mod folders;
mod hidden_names;
mod history;
mod inventory;
mod options;
mod outcome;
mod retained;
mod retention;
mod run;

use crate::{RecordBatchStream, Result, Table};

pub use options::{VacuumMode, VacuumOptions};
pub use outcome::{VacuumMetrics, VacuumOutcome};

/// Files that are to go, since no version within the retention needs them. Nothing is read before [`run`](Vacuum::run).
///
/// Whatever a file is called and wherever it comes from: below the table's folder everything is the table's, but for names that begin with
/// `_` or `.` and a folder `metadata`. Of those with `_` the folders of partitions, changes and indexes are no exception.
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
    /// Deletes the files that no version within the retention needs.
    pub fn vacuum(&self) -> Vacuum {
        Vacuum { table: self.clone(), options: VacuumOptions::default(), inventory: None }
    }
}

impl Vacuum {
    /// How to do it.
    #[must_use]
    pub fn options(mut self, options: VacuumOptions) -> Self {
        self.options = options;
        self
    }

    /// Looks at these objects instead of the folders: with the columns `path` (below the table, or whole, neither encoded), `length`, `isDir`
    /// and `modificationTime` (a timestamp, or milliseconds since the epoch). What is not below the table is passed over, what is missing
    /// stays.
    #[must_use]
    pub fn inventory(mut self, objects: RecordBatchStream) -> Self {
        self.inventory = Some(objects);
        self
    }

    /// Deletes the files. What is to go and cannot does not keep the others, and is an error in the end; a vacuum that ended early is just
    /// begun anew.
    pub async fn run(self) -> Result<VacuumOutcome> {
        run::run(&self.table, self.options, self.inventory).await
    }
}
