//! The memory and the cores that decoding may use.

use lakebed_io::parquet::Cores;

use super::options::ReadOptions;
use crate::runtime::memory::MemoryBudget;

/// The number of pieces per core that are decoded or wait to be taken.
const PIECES_PER_CORE: usize = 2;

/// The memory and the cores that decoding may use, and the sizes that the caller chose.
pub(super) struct ReadResources {
    pub(super) memory: MemoryBudget,
    pub(super) cores: Cores,
    /// The number of decoded bytes that may wait for the consumer.
    pub(super) ahead_bytes: Option<u64>,
    /// The number of rows of a batch, if the caller chose it.
    pub(super) batch_rows: Option<usize>,
    /// Whether there are fewer files than cores.
    pub(super) has_few_files: bool,
}

impl ReadResources {
    pub(super) fn new(options: &ReadOptions, files: usize) -> Self {
        let cores = options.cores.map_or_else(Cores::new, Cores::of);
        Self {
            memory: options.memory.clone().unwrap_or_else(MemoryBudget::of_process),
            has_few_files: files < cores.count(),
            cores,
            ahead_bytes: options.ahead_bytes,
            batch_rows: options.batch_rows,
        }
    }

    /// Returns how many pieces are decoded, or wait to be taken, at once.
    pub(super) fn lanes(&self) -> usize {
        self.cores.count() * PIECES_PER_CORE
    }
}
