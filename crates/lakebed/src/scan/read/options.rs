//! How files are read.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::BooleanBuffer;

use crate::Result;
use crate::runtime::memory::MemoryBudget;

/// How files are read.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// What decoded batches count against; the process's budget unless given.
    pub memory: Option<MemoryBudget>,
    /// Rows of a batch, at most; chosen by the size of rows unless given.
    pub batch_rows: Option<usize>,
    /// Cores to decode with; all unless given.
    pub cores: Option<usize>,
    /// Of local files, how many bytes are decoded ahead, about, for a taker that is slower than
    /// decoding; as many as memory allows unless given. Elsewhere each piece of a file costs
    /// requests, so pieces stay large.
    pub ahead_bytes: Option<u64>,
    /// Texts as views and short decimals in 64 bits, which is how they are decoded and encoded the
    /// fastest: for rows that go to files again. Where a file has a column as keys into a
    /// dictionary of such values it comes so. Rows that are tested come in the usual types.
    pub is_moving: bool,
    /// What rows are tested for besides the filter.
    pub test: Option<Arc<dyn RowTest>>,
}

/// A test that no text could say, such as whether a row is among many others. Its columns are
/// decoded first, the others only for rows that pass.
pub trait RowTest: std::fmt::Debug + Send + Sync {
    /// The paths of the columns that it looks at.
    fn columns(&self) -> Vec<Vec<String>>;

    /// For each row whether it is wanted, given those columns.
    fn test(&self, rows: &RecordBatch) -> Result<BooleanBuffer>;
}
