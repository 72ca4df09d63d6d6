//! The options for writing the files of a table.

use lakebed_io::parquet::write::WriteOptions;

use super::rules::Contents;

/// The options for writing the files of a table.
#[derive(Debug, Clone)]
pub struct FileOptions {
    /// The approximate size of a file.
    pub target_file_size_bytes: u64,
    /// The encoding of the files.
    pub parquet: WriteOptions,
    /// The kind of rows in the files.
    pub contents: Contents,
    /// Whether rows come in the types of
    /// [`ReadOptions::is_moving`](crate::scan::read::ReadOptions::is_moving).
    pub is_moving: bool,
}
