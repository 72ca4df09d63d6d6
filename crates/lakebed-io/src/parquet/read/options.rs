//! Options for reading a Parquet file.

use std::sync::Arc;

use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, RowFilter, RowSelection, RowSelectionPolicy};

/// Creates a new filter for each decoder.
pub type FilterSource = Arc<dyn Fn() -> RowFilter + Send + Sync>;

/// The parts of a file that are read, and the way to read them. The default is to read everything.
#[derive(Clone, Default)]
pub struct ReadOptions {
    /// The metadata of
    /// [`ParquetFile::reader_metadata`](crate::parquet::ParquetFile::reader_metadata), if columns
    /// are read as other types than those of the file.
    pub metadata: Option<ArrowReaderMetadata>,
    /// The leaf columns.
    pub projection: Option<ProjectionMask>,
    /// The row groups, in ascending order.
    pub row_groups: Option<Vec<usize>>,
    /// The rows of the chosen row groups.
    pub selection: Option<RowSelection>,
    /// The way in which a selection is applied. The default depends on its shape.
    pub selection_policy: RowSelectionPolicy,
    /// A filter. Its columns are decoded first.
    pub filter: Option<FilterSource>,
    /// The greatest number of rows in a batch.
    pub batch_rows: Option<usize>,
    /// The greatest number of rows in total.
    pub limit: Option<usize>,
    /// Leaf columns that may be read as keys into a dictionary. They are read as keys if a single
    /// row group is read as a whole and the file stores them as keys.
    pub dictionary_leaves: Vec<usize>,
}
