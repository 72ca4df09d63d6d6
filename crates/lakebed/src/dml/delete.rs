//! DELETE: deletes rows that a predicate selects.
//!
//! A file with no remaining rows is removed as a whole, without reading it if the log proves this.
//! In other files, deletion vectors mark the deleted rows if the table supports them. Without
//! deletion vectors, the remaining rows are copied to new files.

use serde::Deserialize;

use super::change::{ChangeMetrics, ChangeOptions, ChangeOutcome, Prepared, RowLevelOperation, run};
use crate::metrics::HistoryOf;
use crate::rows::effects::{Effects, notes_vectors};
use crate::rows::rewrite::{Moves, Rewrite};
use crate::rows::search::Search;
use crate::rows::selection::{Matching, Selection};
use crate::rows::target::Target;
use crate::transaction::Operation;
use crate::{Result, Snapshot, Table};

/// The options of a delete.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DeleteOptions {
    /// Only rows for which this Spark SQL expression is true are deleted. Without it, all rows are.
    #[serde(rename = "where")]
    pub filter: Option<String>,
    /// The options that all changes of rows have. The binding reads them by themselves.
    #[serde(skip)]
    pub change: ChangeOptions,
}

/// A delete. Nothing is read before [`run`](Delete::run).
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> lakebed::Result<()> {
/// use std::sync::Arc;
/// use arrow_array::{Int64Array, RecordBatch};
/// use lakebed::{RecordBatchStream, Table};
///
/// let rows = RecordBatch::try_from_iter([("id", Arc::new(Int64Array::from(vec![1, 2, 3])) as _)])?;
/// let table = Table::at("memory://docs/delete").build()?;
/// table.write(RecordBatchStream::from_batches(rows.schema(), vec![rows])).run().await?;
/// let outcome = table.delete().filter("id = 2").run().await?;
/// assert_eq!((outcome.version, outcome.metrics.deleted_rows), (1, Some(1)));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Delete {
    table: Table,
    options: DeleteOptions,
}

impl Table {
    /// Deletes rows. Without a filter, all rows are deleted.
    pub fn delete(&self) -> Delete {
        Delete { table: self.clone(), options: DeleteOptions::default() }
    }
}

impl Delete {
    /// Deletes only the rows for which this Spark SQL expression is true.
    #[must_use]
    pub fn filter(mut self, text: impl Into<String>) -> Self {
        self.options.filter = Some(text.into());
        self
    }

    /// Sets the options.
    #[must_use]
    pub fn options(mut self, options: DeleteOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets the options that all changes of rows have.
    #[must_use]
    pub fn change(mut self, options: ChangeOptions) -> Self {
        self.options.change = options;
        self
    }

    /// Deletes the rows and commits.
    pub async fn run(self) -> Result<ChangeOutcome> {
        let now_ms = self.table.env().now_ms();
        run(&self.table, &self.options.change, &Deletion { options: &self.options, now_ms }).await
    }
}

struct Deletion<'a> {
    options: &'a DeleteOptions,
    now_ms: i64,
}

impl RowLevelOperation for Deletion<'_> {
    async fn prepare(&self, snapshot: &Snapshot) -> Result<Prepared> {
        let DeleteOptions { filter, change } = self.options;
        let matching = |text: &String| Matching::new(snapshot, snapshot.parse_row_filter(text, self.now_ms)?);
        let selection = Selection::from(filter.as_ref().map(matching).transpose()?);
        let target = Target::of_table(snapshot, None, &change.file_settings(), self.now_ms).await?;
        let search = Search::of_places(snapshot, &selection)?;
        let plan = search.metrics();
        let deleted = search.all().await?;
        let mut metrics = ChangeMetrics::default();
        metrics.add_plan(&plan);
        metrics.deleted_rows = deleted.rows()?;
        let is_empty = deleted.is_empty();
        // The removed files and deletion vectors already show the changes, unless rows are copied.
        let copies = !notes_vectors(snapshot) && !deleted.parts.is_empty();
        let mut rewrite = Rewrite::begin(snapshot, &target, copies)?;
        if let Err(error) = rewrite.record_deleted(&deleted).await {
            rewrite.abort().await;
            return Err(error);
        }
        let effects = Effects { read: selection.read_set(), ..rewrite.finish(deleted, Moves::default()).await? };
        let predicates: Vec<&String> = filter.iter().collect();
        let operation = Operation::new("DELETE").with("predicate", serde_json::json!(predicates).to_string());
        let operation = |metrics: &ChangeMetrics| metrics.record(HistoryOf::Delete, operation);
        Ok(Prepared { effects, definition: None, metrics, operation: Box::new(operation), is_empty })
    }
}
