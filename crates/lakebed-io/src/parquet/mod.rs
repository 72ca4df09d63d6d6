//! Parquet files of a table: reads their metadata and their columns as Arrow batches, and writes
//! new files from batches ([`write`]).
//!
//! `lakebed::scan` gives the columns their meaning (names, types, deleted rows). Read
//! [`ParquetFile::open`] first, then [`Decoding`], which turns row groups of one file into batches.
//! [`order`] runs several tasks at once and keeps the order of their results.

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

/// The size of the length before each value in a `PLAIN` page of strings.
const LENGTH_BYTES: usize = size_of::<u32>();
