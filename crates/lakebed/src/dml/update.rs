//! UPDATE: updates rows that a predicate selects.
//!
//! Rows are found and changed in one pass. In each file, the columns of the predicate are read
//! first, and then the other columns of the selected rows. The updated rows are written to new
//! files. The old rows are deleted in the same way as DELETE does it.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use lakebed_expr::{Options, filter_schema, parse_expr};
use lakebed_io::parquet::Cores;
use serde::Deserialize;

use super::assign::Assignments;
use super::change::{ChangeMetrics, ChangeOptions, ChangeOutcome, Prepared, RowLevelOperation, run};
use crate::metrics::HistoryOf;
use crate::rows::effects::Effects;
use crate::rows::rewrite::{Moves, Rewrite, reading};
use crate::rows::search::Search;
use crate::rows::selection::{Matching, Selection};
use crate::rows::shape::{id_columns, ids};
use crate::rows::target::Target;
use crate::transaction::Operation;
use crate::write::incoming::Incoming;
use crate::write::rules::WriteRules;
use crate::{Error, Result, Snapshot, Table};

/// The options of an update.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UpdateOptions {
    /// The assigned columns, each with a Spark SQL expression for its new value. `a.b` is a field of
    /// a struct.
    pub set: Vec<(String, String)>,
    /// Only rows for which this Spark SQL expression is true are updated. Without it, all rows are.
    #[serde(rename = "where")]
    pub filter: Option<String>,
    /// The options that all changes of rows have. The binding reads them by themselves.
    #[serde(skip)]
    pub change: ChangeOptions,
}

/// An update. Nothing is read before [`run`](Update::run).
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> lakebed::Result<()> {
/// use std::sync::Arc;
/// use arrow_array::{Int64Array, RecordBatch};
/// use lakebed::{RecordBatchStream, Table};
///
/// let rows = RecordBatch::try_from_iter([("id", Arc::new(Int64Array::from(vec![1, 2, 3])) as _)])?;
/// let table = Table::at("memory://docs/update").build()?;
/// table.write(RecordBatchStream::from_batches(rows.schema(), vec![rows])).run().await?;
/// let outcome = table.update().set("id", "id * 10").filter("id > 1").run().await?;
/// assert_eq!((outcome.version, outcome.metrics.updated_rows), (1, 2));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Update {
    table: Table,
    options: UpdateOptions,
}

impl Table {
    /// Updates rows. Without a filter, all rows are updated.
    pub fn update(&self) -> Update {
        Update { table: self.clone(), options: UpdateOptions::default() }
    }
}

impl Update {
    /// Assigns the value of a Spark SQL expression over the row to a column; `a.b` is a field of a
    /// struct.
    #[must_use]
    pub fn set(mut self, column: impl Into<String>, expression: impl Into<String>) -> Self {
        self.options.set.push((column.into(), expression.into()));
        self
    }

    /// Updates only the rows for which this Spark SQL expression is true.
    #[must_use]
    pub fn filter(mut self, text: impl Into<String>) -> Self {
        self.options.filter = Some(text.into());
        self
    }

    /// Sets the options.
    #[must_use]
    pub fn options(mut self, options: UpdateOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets the options that all changes of rows have.
    #[must_use]
    pub fn change(mut self, options: ChangeOptions) -> Self {
        self.options.change = options;
        self
    }

    /// Updates the rows and commits.
    pub async fn run(self) -> Result<ChangeOutcome> {
        if self.options.set.is_empty() {
            return Err(Error::invalid_input(format!("{}: an update sets at least one column", self.table.store().url())));
        }
        let now_ms = self.table.env().now_ms();
        run(&self.table, &self.options.change, &Updating { options: &self.options, now_ms }).await
    }
}

struct Updating<'a> {
    options: &'a UpdateOptions,
    now_ms: i64,
}

/// Computes the updated rows.
struct Changer {
    assignments: Assignments,
    incoming: Incoming,
}

impl RowLevelOperation for Updating<'_> {
    async fn prepare(&self, snapshot: &Snapshot) -> Result<Prepared> {
        let UpdateOptions { set, filter, change } = self.options;
        let matching = |text: &String| Matching::new(snapshot, snapshot.parse_row_filter(text, self.now_ms)?);
        let selection = Selection::from(filter.as_ref().map(matching).transpose()?);
        let target = Target::of_table(snapshot, None, &change.file_settings(), self.now_ms).await?;
        let schema = filter_schema(snapshot.schema())?;
        let parse = |text: &str| parse_expr(text, &schema, &Options { now_ms: Some(self.now_ms) });
        let assignments = Assignments::new(snapshot.schema(), set, &parse).map_err(|error| error.within(snapshot.url()))?;
        let changer = Arc::new(Changer::new(&target.rules, assignments)?);

        let scan = snapshot.scan().row_columns(id_columns(snapshot));
        let expected_bytes = if selection.matching().is_some() { 0 } else { u64::MAX };
        let mut search = Search::of_rows(scan, selection.matching(), reading(snapshot, expected_bytes));
        let mut rewrite = Rewrite::begin(snapshot, &target, true)?;
        let mut metrics = ChangeMetrics::default();
        match change_rows(&mut search, &mut rewrite, &changer).await {
            Ok(rows) => metrics.updated_rows = rows,
            Err(error) => {
                rewrite.abort().await;
                return Err(error);
            }
        }
        metrics.add_plan(&search.metrics());
        let deleted = search.finish()?;
        let is_empty = deleted.is_empty();
        let moves = Moves { came_in: metrics.updated_rows, to_leave: Some(metrics.updated_rows) };
        let effects = Effects { read: selection.read_set(), ..rewrite.finish(deleted, moves).await? };
        let predicates: Vec<&String> = filter.iter().collect();
        let operation = Operation::new("UPDATE").with("predicate", serde_json::json!(predicates).to_string());
        let operation = |metrics: &ChangeMetrics| metrics.record(HistoryOf::Update, operation);
        Ok(Prepared { effects, definition: None, metrics, operation: Box::new(operation), is_empty })
    }
}

/// Updates all rows that are found and writes them; returns their number.
async fn change_rows(search: &mut Search, rewrite: &mut Rewrite, changer: &Arc<Changer>) -> Result<u64> {
    let (cores, mut rows) = (Cores::new(), 0);
    while let Some(found) = search.next().await? {
        rows += found.rows.num_rows() as u64;
        search.leave(&found, 0..found.rows.num_rows())?;
        let before = rewrite.shape().written(&found.rows)?;
        let (changer, given) = (Arc::clone(changer), before.clone());
        let after = cores.compute("updating rows", move || changer.change(&given)).await?;
        rewrite.update(&before, &after, ids(&found.rows)).await?;
    }
    Ok(rows)
}

impl Changer {
    fn new(rules: &Arc<WriteRules>, assignments: Assignments) -> Result<Self> {
        let incoming = Incoming::of_changed(Arc::clone(rules), &assignments.columns())?;
        Ok(Self { assignments, incoming })
    }

    /// Returns the rows after the update, and checks every constraint of the table.
    fn change(&self, before: &RecordBatch) -> Result<RecordBatch> {
        let columns = self.assignments.apply(before.columns(), before)?;
        let options = RecordBatchOptions::new().with_row_count(Some(before.num_rows()));
        self.incoming.rows(&RecordBatch::try_new_with_options(before.schema(), columns, &options)?, 0)
    }
}
