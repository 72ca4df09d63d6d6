//! What to read of a Parquet file, and how.

use std::sync::Arc;

use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, RowFilter, RowSelection, RowSelectionPolicy};

/// Makes the filter anew for each decoder.
pub type FilterSource = Arc<dyn Fn() -> RowFilter + Send + Sync>;

/// What to read of a file, and how. The default is everything.
#[derive(Clone, Default)]
pub struct ReadOptions {
    /// From [`ParquetFile::reader_metadata`](crate::parquet::ParquetFile::reader_metadata), when columns are to be read as other types than the file's own.
    pub metadata: Option<ArrowReaderMetadata>,
    /// The leaves.
    pub projection: Option<ProjectionMask>,
    /// The row groups, ascending.
    pub row_groups: Option<Vec<usize>>,
    /// Rows of the chosen row groups.
    pub selection: Option<RowSelection>,
    /// How a selection is applied; the default chooses by its shape.
    pub selection_policy: RowSelectionPolicy,
    /// A filter whose columns are decoded first.
    pub filter: Option<FilterSource>,
    /// The rows of a batch, at most.
    pub batch_rows: Option<usize>,
    /// The rows of all, at most.
    pub limit: Option<usize>,
    /// Leaves that may come as keys into a dictionary. They do if one row group is read whole and they are stored so.
    pub keyed: Vec<usize>,
}
