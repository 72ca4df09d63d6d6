//! MERGE: merges source rows into a table. Matching rows are updated or deleted, and other source
//! rows are inserted.
//!
//! The source is read once and kept in memory or spilled (`source`). The values of the source prune
//! most of the target (`plan`, `summary`). Rows are matched by hash, one part of the source at a
//! time (`index`). `probe` decides what happens to the rows, and `run` writes it. Begin with
//! [`Merge`].

mod clause;
mod explain;
mod index;
mod keys;
mod lossless;
mod names;
mod on;
mod options;
mod plan;
mod probe;
mod ranges;
mod run;
mod source;
mod summary;

use std::sync::Arc;

use super::change::{ChangeOptions, ChangeOutcome, run};
use crate::runtime::memory::MemoryBudget;
use crate::write::OnLossy;
use crate::{RecordBatchStream, Result, Table};

pub use clause::{Action, Clause, When};
pub use explain::{MergeExplanation, MergeKey};
pub use options::{MergeOptions, MergeSchemaMode};
use run::Merging;
use source::Source;

/// Source rows may take this part of the memory budget (one fourth). A larger source spills to a
/// temporary file.
const SOURCE_SHARE: u64 = 4;

/// The rows of a source, read and kept in memory, or in a temporary file if they are many.
#[derive(Debug, Clone)]
pub struct MergeSource(Arc<Source>);

/// A merge of rows into a table. Nothing is read before [`run`](Merge::run).
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> lakebed::Result<()> {
/// use std::sync::Arc;
/// use arrow_array::{Int64Array, RecordBatch, StringArray};
/// use lakebed::dml::merge::{Action, Clause, MergeSource, When};
/// use lakebed::{RecordBatchStream, Table};
///
/// let rows = |ids: Vec<i64>, name: &str| {
///     let names = StringArray::from(vec![name; ids.len()]);
///     let rows = RecordBatch::try_from_iter([("id", Arc::new(Int64Array::from(ids)) as _), ("name", Arc::new(names) as _)])?;
///     Ok::<_, lakebed::Error>(RecordBatchStream::from_batches(rows.schema(), vec![rows]))
/// };
/// let table = Table::at("memory://docs/merge").build()?;
/// table.write(rows(vec![1, 2, 3], "old")?).run().await?;
/// let source = MergeSource::read(rows(vec![3, 4], "new")?).await?;
/// let outcome = table
///     .merge(&source, "target.id = source.id")
///     .when(Clause { when: When::Matched, condition: None, action: Action::UpdateAll })
///     .when(Clause { when: When::NotMatched, condition: None, action: Action::InsertAll })
///     .run()
///     .await?;
/// assert_eq!((outcome.metrics.updated_rows, outcome.metrics.inserted_rows), (1, 1));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Merge {
    table: Table,
    source: MergeSource,
    options: MergeOptions,
    /// The value of the current time for the whole merge.
    now_ms: i64,
}

impl MergeSource {
    /// Reads all rows of the source.
    pub async fn read(data: RecordBatchStream) -> Result<Self> {
        Self::read_with(data, OnLossy::default()).await
    }

    /// Reads all rows as [`Self::read`] does. `on_lossy` determines how digits that a column cannot
    /// hold are treated.
    pub async fn read_with(data: RecordBatchStream, on_lossy: OnLossy) -> Result<Self> {
        let most_bytes = MemoryBudget::of_process().limit_bytes() / SOURCE_SHARE;
        Source::read(data, on_lossy, most_bytes).await.map(Arc::new).map(Self)
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        self.0.rows()
    }
}

impl Table {
    /// Merges rows into the table. A target row and a source row match if the condition is true for
    /// them. The condition names columns as `target.a` and `source.b`.
    pub fn merge(&self, source: &MergeSource, on: impl Into<String>) -> Merge {
        let options = MergeOptions { on: on.into(), ..MergeOptions::default() };
        Merge { table: self.clone(), source: source.clone(), options, now_ms: self.env().now_ms() }
    }
}

impl Merge {
    /// Adds a clause. If several clauses apply to the same rows, the first one with a true
    /// condition takes effect.
    #[must_use]
    pub fn when(mut self, clause: Clause) -> Self {
        self.options.clauses.push(clause);
        self
    }

    /// Matches rows that have the same values in these columns, instead of rows for which a
    /// condition is true. Null equals null. Source values are compared in the form in which the
    /// table stores them: an empty text in a partition column is null.
    #[must_use]
    pub fn on_keys(mut self, keys: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.options.keys = keys.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the aliases of the table and the source.
    #[must_use]
    pub fn aliases(mut self, target: impl Into<String>, source: impl Into<String>) -> Self {
        (self.options.target_alias, self.options.source_alias) = (target.into(), source.into());
        self
    }

    /// Sets whether columns that the table lacks are added to it.
    #[must_use]
    pub fn evolve_schema(mut self, evolves: bool) -> Self {
        self.options.schema_mode = if evolves { MergeSchemaMode::Merge } else { MergeSchemaMode::Enforce };
        self
    }

    /// Sets the options.
    #[must_use]
    pub fn options(mut self, options: MergeOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets the options that all changes of rows have.
    #[must_use]
    pub fn change(mut self, options: ChangeOptions) -> Self {
        self.options.change = options;
        self
    }

    /// Merges the rows and commits.
    pub async fn run(self) -> Result<ChangeOutcome> {
        let merging = Merging { given: &self.options, source: &self.source.0, now_ms: self.now_ms };
        run(&self.table, &self.options.change, &merging).await
    }
}
