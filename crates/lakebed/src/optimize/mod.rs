//! OPTIMIZE: files are written anew so that there are fewer of them, that they hold fewer deleted rows, or that queries need fewer of them.
//! No row changes.
//!
//! The way of it: `plan` decides which files are written anew, in groups that do not depend on each other; `compact` puts the files of a
//! group together, `cluster` also brings their rows into an order in which files can be skipped, `statistics` fills in missing statistics;
//! `commit` puts what came of it in the place of what was there, and leaves out what others changed meanwhile. `run` goes this way. Read
//! [`Optimize`].

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
