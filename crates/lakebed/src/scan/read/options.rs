//! Options for reading files.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::BooleanBuffer;

use crate::Result;
use crate::runtime::memory::MemoryBudget;

/// Options for reading files.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// The budget that decoded batches count against. By default it is that of the process.
    pub memory: Option<MemoryBudget>,
    /// The greatest number of rows of a batch. By default it follows from the size of the rows.
    pub batch_rows: Option<usize>,
    /// The number of cores to decode with. By default all cores are used.
    pub cores: Option<usize>,
    /// About how many bytes of local files are decoded ahead for a consumer that is slower than
    /// decoding. By default it is as many as memory allows. In other stores each piece of a file
    /// costs requests, so pieces stay large.
    pub ahead_bytes: Option<u64>,
    /// Whether strings are returned as views and short decimals in 64 bits. These types are the
    /// fastest to decode and encode, and are meant for rows that are written to files again. A
    /// column that a file stores as keys into a dictionary of such values is returned in this form.
    /// Rows that are tested have the usual types.
    pub is_moving: bool,
    /// A test that rows must pass besides the predicate.
    pub test: Option<Arc<dyn RowTest>>,
}

/// A test that a predicate cannot express, such as whether a row is among many other rows. The
/// columns of the test are decoded first. The other columns are decoded only for rows that pass.
pub trait RowTest: std::fmt::Debug + Send + Sync {
    /// Returns the paths of the columns that the test uses.
    fn columns(&self) -> Vec<Vec<String>>;

    /// Returns for each row whether it passes, given these columns.
    fn test(&self, rows: &RecordBatch) -> Result<BooleanBuffer>;
}
