//! OPTIMIZE: files are written anew so that there are fewer of them, that they hold fewer deleted rows, or that queries need fewer of them.
//! No row changes.
//!
//! The way of it: `plan` decides which files are written anew, in groups that do not depend on each other; `compact` puts the files of a
//! group together, `cluster` also brings their rows into an order in which files can be skipped, `describe` fills in missing statistics;
//! `commit` puts what came of it in the place of what was there, and leaves out what others changed meanwhile. `run` goes this way. Read
//! [`Optimize`].

mod auto;
mod cluster;
mod commit;
mod compact;
mod cube;
mod describe;
mod plan;
mod progress;
mod run;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Result, Snapshot, Table};

pub use lakebed_core::layout::Method;
pub use plan::PlannedGroup;
pub use progress::{Progress, Watcher};

/// Files that are to be written anew. Nothing is read before [`run`](Optimize::run).
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> lakebed::Result<()> {
/// use std::sync::Arc;
/// use arrow_array::{Int64Array, RecordBatch};
/// use lakebed::{RecordBatchStream, Table};
///
/// let table = Table::at("memory://docs/optimize").build()?;
/// for id in 0..3 {
///     let rows = RecordBatch::try_from_iter([("id", Arc::new(Int64Array::from(vec![id])) as _)])?;
///     table.write(RecordBatchStream::from_batches(rows.schema(), vec![rows])).run().await?;
/// }
/// let outcome = table.optimize().run().await?;
/// assert_eq!((outcome.metrics.removed_files, outcome.metrics.added_files), (3, 1));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Optimize {
    table: Table,
    options: OptimizeOptions,
    watcher: Option<Watcher>,
}

/// How to write files anew.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OptimizeOptions {
    /// Only files that may hold rows for which this Spark SQL expression is true.
    #[serde(rename = "where")]
    pub filter: Option<String>,
    /// In which order rows lie in the new files.
    pub layout: Layout,
    /// About how large files become; by default what the table's properties say, else 128 MiB, and more for tables of 256 GiB and above.
    #[serde(rename = "target_file_size")]
    pub target_file_size_bytes: Option<u64>,
    /// Fewer small files than these are not put together.
    pub min_files: usize,
    /// Files of whose rows a larger share is deleted are written anew in any case.
    pub max_deleted_share: f64,
    /// Whether files are written anew too that are clustered already.
    pub full: bool,
    /// Whether files that lack statistics get them.
    pub fill_statistics: bool,
    /// What becomes a version.
    #[serde(rename = "commit")]
    pub commits: Commits,
    /// Words of the caller's own, kept in the history.
    pub user_metadata: Option<String>,
    /// How long to go on trying to commit while other writers are faster.
    #[serde(rename = "timeout", deserialize_with = "crate::option_value::seconds::deserialize")]
    pub patience: Option<Duration>,
}

/// In which order rows lie in new files.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// By the columns that cluster the table; as they come if there are none.
    #[default]
    OfTable,
    /// Along a Z-order curve over the values of these columns.
    ZOrder(Vec<String>),
    /// As it is found to let queries on these columns skip the most files: along a Z-order curve or a Hilbert curve, or by a k-d tree.
    Cluster(Vec<String>),
}

/// What becomes a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
pub enum Commits {
    /// All that is done.
    #[default]
    #[serde(rename = "run")]
    PerRun,
    /// Each group of files: what is done is there, whatever becomes of the rest.
    #[serde(rename = "group")]
    PerGroup,
}

/// What came of it.
#[derive(Debug, Clone)]
pub struct OptimizeOutcome {
    /// The last version that it became, or the latest one if nothing was done.
    pub version: u64,
    /// How many versions it became.
    pub commits: u64,
    /// What was done.
    pub metrics: OptimizeMetrics,
    /// The table as of that version; none if it could not be read since, which does not undo what was done.
    pub snapshot: Option<Snapshot>,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct OptimizeMetrics {
    /// Groups of files that were written anew.
    pub groups: u64,
    /// Groups that were given up because another writer changed one of their files meanwhile.
    pub lost_groups: u64,
    /// New files, and their sizes.
    pub added_files: u64,
    /// See above.
    pub added_bytes: u64,
    /// Files that are gone, and their sizes.
    pub removed_files: u64,
    /// See above.
    pub removed_bytes: u64,
    /// Files among them that had a deletion vector.
    pub vectors_removed: u64,
    /// Rows of the new files.
    pub rows: u64,
    /// The sizes of the new files: the smallest, those below which a quarter, half and three quarters of them are, and the largest.
    pub file_sizes: Option<[u64; 5]>,
    /// How many groups were clustered in which way.
    pub methods: BTreeMap<Method, u64>,
    /// Files that stayed and got statistics.
    pub described_files: u64,
    /// Files that were looked at in the log.
    pub seen_files: u64,
    /// What did not fit into memory and went to disk meanwhile.
    pub spilled_bytes: u64,
    /// The most that the process had reserved of its memory budget meanwhile.
    pub peak_memory_bytes: u64,
    /// How often another writer was faster.
    pub conflicts: u64,
}

impl Table {
    /// Writes files anew: puts small ones together and drops deleted rows, or clusters rows.
    pub fn optimize(&self) -> Optimize {
        Optimize { table: self.clone(), options: OptimizeOptions::default(), watcher: None }
    }
}

impl Optimize {
    /// How to do it.
    #[must_use]
    pub fn options(mut self, options: OptimizeOptions) -> Self {
        self.options = options;
        self
    }

    /// Only files that may hold rows for which this Spark SQL expression is true.
    #[must_use]
    pub fn filter(mut self, text: impl Into<String>) -> Self {
        self.options.filter = Some(text.into());
        self
    }

    /// In which order rows lie in the new files.
    #[must_use]
    pub fn layout(mut self, layout: Layout) -> Self {
        self.options.layout = layout;
        self
    }

    /// Who is told how far it has come, from time to time.
    #[must_use]
    pub fn watched_by(mut self, watcher: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.watcher = Some(Arc::new(watcher));
        self
    }

    /// Which files would be written anew together. Nothing is done.
    pub async fn plan(self) -> Result<Vec<PlannedGroup>> {
        run::plan(&self.table, &self.options).await
    }

    /// Writes the files and commits.
    pub async fn run(self) -> Result<OptimizeOutcome> {
        run::run(&self.table, self.options, self.watcher).await
    }
}

impl Default for OptimizeOptions {
    fn default() -> Self {
        Self {
            filter: None,
            layout: Layout::default(),
            target_file_size_bytes: None,
            min_files: 2,
            max_deleted_share: 0.05,
            full: false,
            fill_statistics: true,
            commits: Commits::default(),
            user_metadata: None,
            patience: None,
        }
    }
}
