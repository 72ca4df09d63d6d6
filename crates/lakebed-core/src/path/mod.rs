//! Names: of the files in the log, of data files as actions spell them, and of Hive-style partition
//! directories.
//!
//! Nothing here looks at a store. [`LogPath::parse`] says what a file in `_delta_log` is,
//! [`FilePath::parse`] where an action points to.

mod file;
pub mod hive;
mod log;

pub use file::{AbsolutePath, FilePath};
pub use log::{CheckpointKind, HINT_NAME, LOG_DIR, LogKind, LogPath, SIDECAR_DIR, checkpoint_name, checksum_name, commit_name};
