//! Parquet files of a table: their metadata, their columns as Arrow batches, and new files out of batches ([`write`]).
//!
//! What the columns mean (names, types, deleted rows) is decided above, in `lakebed::scan`. Read [`ParquetFile::open`] first, then
//! [`Decoding`], which turns some row groups of one file into batches; [`order`] runs many of those side by side and keeps their order.

mod complete_stats;
mod file;
mod footer;
mod int96;
mod null_columns;
pub mod order;
mod page_index;
mod read;
pub(crate) mod row_group_buffer;
mod row_slices;
mod file_bytes;
#[cfg(test)]
mod tests;
pub mod write;

pub use file::ParquetFile;
pub use page_index::PageIndex;
pub use read::{Cores, Decoding, FilterSource, ReadOptions};

/// In a page of plain texts, the length before each.
const LENGTH_BYTES: usize = size_of::<u32>();
