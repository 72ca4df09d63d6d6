//! How the files of a table are written.

use lakebed_io::parquet::write::WriteOptions;

use super::rules::Contents;

/// How the files of a table are written.
#[derive(Debug, Clone)]
pub struct FileOptions {
    /// About how large files become.
    pub target_file_size_bytes: u64,
    /// How they are encoded.
    pub parquet: WriteOptions,
    /// What they hold.
    pub contents: Contents,
    /// Whether rows come in the types of [`ReadOptions::is_moving`](crate::scan::read::ReadOptions::is_moving).
    pub is_moving: bool,
}
