//! Merging rows of a source into a table: rows that match are updated or deleted, others inserted.
//!
//! The source is read once and kept, in memory or beside it (`source`); what it says about the target rules out most of that (`plan`,
//! `summary`); rows meet by hash (`index`), part by part of the source, and what becomes of them is decided in `probe` and written in
//! `run`. Read [`Merge`].

mod clause;
mod explain;
mod given;
mod index;
mod keys;
mod lossless;
mod names;
mod on;
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
use given::Given;
use run::Merging;
use source::Source;

/// Of the memory budget, what the rows of a source may take. More of them are kept in a file.
const SOURCE_SHARE: u64 = 4;

/// The rows of a source, read and kept: in memory, or in a temporary file if they are many.
#[derive(Debug, Clone)]
pub struct MergeSource(Arc<Source>);

/// Rows that are to be merged into a table. Nothing is read before [`run`](Merge::run).
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
    given: Given,
}

impl MergeSource {
    /// Reads all rows.
    pub async fn read(data: RecordBatchStream) -> Result<Self> {
        Self::read_with(data, OnLossy::default()).await
    }

    /// The same, with a word on digits that no column can hold.
    pub async fn read_with(data: RecordBatchStream, on_lossy: OnLossy) -> Result<Self> {
        let most_bytes = MemoryBudget::of_process().limit_bytes() / SOURCE_SHARE;
        Source::read(data, on_lossy, most_bytes).await.map(Arc::new).map(Self)
    }

    /// How many rows there are.
    pub fn rows(&self) -> u64 {
        self.0.rows()
    }
}

impl Table {
    /// Merges rows into the table. Rows of both for which the condition is true match; it names their columns as `target.a` and `source.b`.
    pub fn merge(&self, source: &MergeSource, on: impl Into<String>) -> Merge {
        let given = Given {
            on: on.into(),
            keys: Vec::new(),
            target_alias: "target".to_owned(),
            source_alias: "source".to_owned(),
            clauses: Vec::new(),
            evolves: false,
            options: ChangeOptions::default(),
            now_ms: self.env().now_ms(),
        };
        Merge { table: self.clone(), source: source.clone(), given }
    }
}

impl Merge {
    /// What becomes of some rows. Of several clauses about the same rows the first one does it whose condition is true.
    #[must_use]
    pub fn when(mut self, clause: Clause) -> Self {
        self.given.clauses.push(clause);
        self
    }

    /// Rows match that have the same values in these columns, instead of those that meet a condition. Null equals null, and the values of
    /// the source count in the form in which the table keeps them: an empty text in a partition column is null.
    #[must_use]
    pub fn on_keys(mut self, keys: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.given.keys = keys.into_iter().map(Into::into).collect();
        self.given.on = keys::equal_columns(&self.given.keys, &self.given.target_alias, &self.given.source_alias);
        self
    }

    /// Other names for the table and the source.
    #[must_use]
    pub fn aliases(mut self, target: impl Into<String>, source: impl Into<String>) -> Self {
        (self.given.target_alias, self.given.source_alias) = (target.into(), source.into());
        self
    }

    /// Whether the table gets the columns that it lacks.
    #[must_use]
    pub fn evolve_schema(mut self, evolves: bool) -> Self {
        self.given.evolves = evolves;
        self
    }

    /// How to do it.
    #[must_use]
    pub fn options(mut self, options: ChangeOptions) -> Self {
        self.given.options = options;
        self
    }

    /// Merges the rows and commits.
    pub async fn run(self) -> Result<ChangeOutcome> {
        run(&self.table, &self.given.options, &Merging { given: &self.given, source: &self.source.0 }).await
    }
}
