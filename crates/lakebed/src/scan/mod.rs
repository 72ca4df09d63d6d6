//! Reads a snapshot. A [`Scan`] describes the rows to read, `plan` chooses the files, and `read`
//! reads them.
//!
//! Within a process, a [`ScanSpec`] and a list of files describe a read. A [`ScanTask`] is both of
//! them as bytes for another process.

mod row_column;
mod row_tracking;
mod options;
mod file;
mod spec;
pub(crate) mod output;
pub(crate) mod row_filter;
pub mod plan;
pub mod read;
mod task;
pub(crate) mod balance;
pub(crate) mod count;
mod explain;
pub(crate) mod statistic_columns;
pub(crate) mod files;
mod file_location;
mod pieces;

use std::sync::Arc;

use arrow_schema::SchemaRef;
use lakebed_expr::{Filter, Predicate};

use self::output::OutputColumn;
use self::row_filter::not_tracked;
use crate::{Error, Result, Snapshot};

pub use explain::{ExplainedConjunct, Explanation};
pub use file::{FileRows, ScanFile};
pub use options::ScanOptions;
pub use row_column::{ChangeType, FileChange, RowColumn, RowColumnKind};
pub use row_tracking::{FileRowTracking, MaterializedColumns};
pub use spec::ScanSpec;
pub use task::{ScanTask, read_task, read_task_at};

/// A description of the rows to read from a snapshot. Nothing is read until a method such as
/// [`stream`](Self::stream) or [`count`](Self::count) runs the scan.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> lakebed::Result<()> {
/// let url = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/trips");
/// let table = lakebed::Table::at(url).open().await?;
/// let scan = table.snapshot().await?.scan().select(["city", "fare"]).filter("fare > 20");
/// let batches = scan.stream().await?.collect_all().await?;
/// assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Scan {
    snapshot: Snapshot,
    options: ScanOptions,
    /// The value of `current_timestamp` in the predicate, in milliseconds since the epoch.
    now_ms: i64,
}

impl Snapshot {
    /// Returns a scan of all rows and columns.
    pub fn scan(&self) -> Scan {
        Scan { snapshot: self.clone(), options: ScanOptions::default(), now_ms: self.env().now_ms() }
    }
}

impl Scan {
    /// Sets the options.
    #[must_use]
    pub fn options(mut self, options: ScanOptions) -> Self {
        self.options = options;
        self
    }

    /// Selects these columns, in this order, as in [`ScanOptions::columns`].
    #[must_use]
    pub fn select<T: Into<String>>(mut self, columns: impl IntoIterator<Item = T>) -> Self {
        self.options.columns = Some(columns.into_iter().map(Into::into).collect());
        self
    }

    /// Selects the rows for which this predicate is true, as in [`ScanOptions::filter`].
    #[must_use]
    pub fn filter(mut self, predicate: impl Into<Predicate>) -> Self {
        self.options.filter = Some(predicate.into());
        self
    }

    /// Limits the scan to this number of rows.
    #[must_use]
    pub fn limit(mut self, rows: u64) -> Self {
        self.options.limit = Some(rows);
        self
    }

    /// Adds columns about rows behind the other columns. They say where each row is. In a table
    /// with row tracking, they also give its row id and row commit version.
    #[must_use]
    pub fn row_columns(mut self, columns: impl IntoIterator<Item = RowColumn>) -> Self {
        self.options.row_columns = columns.into_iter().collect();
        self
    }

    /// Adds more columns about rows to those that the scan already has.
    pub(crate) fn more_row_columns(mut self, columns: impl IntoIterator<Item = RowColumn>) -> Self {
        self.options.row_columns.extend(columns);
        self
    }

    /// Returns the snapshot that is read.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Returns the same scan over the snapshot as the log describes it. This differs from the
    /// current snapshot only if a checksum contradicted the log.
    async fn by_log(&self) -> Result<Self> {
        Ok(Self { snapshot: self.snapshot.by_log().await?, ..self.clone() })
    }

    /// Returns the schema of the rows that the scan returns.
    pub fn schema(&self) -> Result<SchemaRef> {
        self.check_row_columns()?;
        self.spec().output_schema()
    }

    /// Refuses columns about rows if a scan of this table has no values for them.
    fn check_row_columns(&self) -> Result<()> {
        let (url, properties) = (self.snapshot.url(), self.snapshot.properties());
        for column in self.spec().output_columns()? {
            let OutputColumn::OfRows(RowColumn { kind, name }) = column else { continue };
            if kind.is_of_change() {
                return Err(Error::invalid_input(format!(
                    "{url}: column {name}: only the change data feed has a row's {}",
                    kind.name()
                )));
            }
            if kind == RowColumnKind::FileIndex {
                return Err(Error::invalid_input(format!(
                    "{url}: column {name}: the index of a file exists only inside a task; select file_path instead"
                )));
            }
            if kind.is_of_row_tracking() && !properties.row_tracking {
                return Err(not_tracked(url, &name, kind));
            }
        }
        Ok(())
    }

    /// Parses the predicate.
    fn parsed_filter(&self) -> Result<Option<Arc<Filter>>> {
        self.options.filter.as_ref().map(|predicate| self.snapshot.filter_of(predicate, self.now_ms)).transpose()
    }
}
