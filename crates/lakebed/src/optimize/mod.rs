//! OPTIMIZE: rewrites files so that there are fewer of them, that they contain fewer deleted rows,
//! or that queries read fewer of them. No row changes.
//!
//! `plan` decides which files are rewritten, in independent groups. `compact` combines the files of
//! a group. `cluster` also sorts their rows so that files can be pruned. `statistics` adds missing
//! statistics. `commit` replaces the old files with the new ones, and leaves out groups that
//! another writer changed meanwhile. `run` does all these steps. Begin with [`Optimize`].

mod auto_compact;
mod candidate;
mod cluster;
mod cluster_spec;
mod commit;
mod compact;
mod context;
mod options;
mod outcome;
mod plan;
mod progress;
mod reorg;
mod reorg_files;
mod run;
mod statistics;
mod zcube;

use std::sync::Arc;

use crate::{Result, Table};

pub use lakebed_core::layout::Method;
pub use options::{Commits, Layout, OptimizeOptions};
pub use outcome::{OptimizeMetrics, OptimizeOutcome};
pub use plan::PlannedGroup;
pub use progress::{Progress, Watcher};
pub(crate) use reorg::{RewrittenFiles, reorg, rewrite_as};
pub(crate) use reorg_files::Reorg;

/// An OPTIMIZE of a table. Nothing is read before [`run`](Optimize::run).
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

impl Table {
    /// Rewrites files: compacts small files and drops deleted rows, or clusters rows.
    pub fn optimize(&self) -> Optimize {
        Optimize { table: self.clone(), options: OptimizeOptions::default(), watcher: None }
    }
}

impl Optimize {
    /// Sets the options.
    #[must_use]
    pub fn options(mut self, options: OptimizeOptions) -> Self {
        self.options = options;
        self
    }

    /// Rewrites only files that may contain rows for which this Spark SQL expression is true.
    #[must_use]
    pub fn filter(mut self, text: impl Into<String>) -> Self {
        self.options.filter = Some(text.into());
        self
    }

    /// Sets the order of rows in the new files.
    #[must_use]
    pub fn layout(mut self, layout: Layout) -> Self {
        self.options.layout = layout;
        self
    }

    /// Sets a function that is called with the progress from time to time.
    #[must_use]
    pub fn watched_by(mut self, watcher: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.watcher = Some(Arc::new(watcher));
        self
    }

    /// Returns the groups of files that would be rewritten together. Nothing is written.
    pub async fn plan(self) -> Result<Vec<PlannedGroup>> {
        run::plan(&self.table, &self.options).await
    }

    /// Rewrites the files and commits.
    pub async fn run(self) -> Result<OptimizeOutcome> {
        run::run(&self.table, self.options, self.watcher).await
    }
}
