//! Vacuum: the end of files that no version within the retention needs.
//!
//! What may not go is collected first (`kept`): every file, and every file of deletion vectors, of the newest version and of what left the
//! table within the retention. Candidates come from one of three sources: a walk through the folders (`full`), the commits since the last
//! time (`lite`), or a list that the caller has (`inventory`). Nothing is a candidate that is hidden (`hidden`) or younger than the
//! retention. Before anything goes the newest version is looked at again (`run`). Read [`Vacuum`] first.

mod full;
mod hidden;
mod inventory;
mod kept;
mod list;
mod lite;
mod retention;
mod run;
mod tell;

use std::time::Duration;

use arrow_array::RecordBatch;
use serde::{Deserialize, Serialize};

use crate::{RecordBatchStream, Result, Snapshot, Table};

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

/// How to vacuum.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct VacuumOptions {
    /// Where candidates come from.
    pub mode: VacuumMode,
    /// What left the table within this time stays, and so does what is younger; by default `delta.deletedFileRetentionDuration`, a week if the
    /// table does not set it.
    #[serde(rename = "retention_hours", deserialize_with = "crate::option_value::hours")]
    pub retention: Option<Duration>,
    /// Whether a retention shorter than that property is refused. Without it, readers of an older version and writers that have not committed
    /// yet may lose their files: then nobody else may use the table meanwhile.
    pub enforce_retention: bool,
    /// Whether nothing is deleted or written: the outcome tells what would go.
    pub dry_run: bool,
    /// Whether two commits without files tell of it in the history, one before and one after.
    pub log_commits: bool,
    /// Words of the caller's own, kept in the history.
    pub user_metadata: Option<String>,
}

/// Where a vacuum looks for files to delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VacuumMode {
    /// In the folders of the table: finds also what no commit ever named, such as files of writers that died.
    #[default]
    Full,
    /// In the commits since the last vacuum: costs nothing of the size of the table's folders.
    Lite,
}

/// What came of a vacuum.
#[derive(Debug, Clone)]
pub struct VacuumOutcome {
    /// The newest version afterwards that is known.
    pub version: u64,
    /// What was done.
    pub metrics: VacuumMetrics,
    /// What went, or in a dry run would go: `path` below the table as the store names it, `size_bytes`, and `modification_time`, which is null
    /// where it was not asked for. Of more than a million files the first million.
    pub files: RecordBatch,
    /// The table as of that version; none if it could not be read since.
    pub snapshot: Option<Snapshot>,
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct VacuumMetrics {
    /// Files that were looked at: in folders, in an inventory, or among what commits removed.
    pub listed_files: u64,
    /// Folders that were looked into.
    pub listed_folders: u64,
    /// Files that no version needs, but that are younger than the retention.
    pub young_files: u64,
    /// Files that were to go, and their sizes; a commit does not tell the sizes of deletion vectors' files.
    pub found_files: u64,
    /// See above.
    pub found_bytes: u64,
    /// Files that went, and their sizes.
    pub deleted_files: u64,
    /// See above.
    pub deleted_bytes: u64,
    /// Files that were not there any more.
    pub missing_files: u64,
    /// Folders of this machine that went: old ones with nothing in them.
    pub deleted_folders: u64,
}

impl Table {
    /// Deletes the files that no version within the retention needs.
    pub fn vacuum(&self) -> Vacuum {
        Vacuum { table: self.clone(), options: VacuumOptions::default(), inventory: None }
    }
}

impl Default for VacuumOptions {
    fn default() -> Self {
        Self {
            mode: VacuumMode::Full,
            retention: None,
            enforce_retention: true,
            dry_run: false,
            log_commits: true,
            user_metadata: None,
        }
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
