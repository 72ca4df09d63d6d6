//! The names of files in the log, of data files in actions, and of Hive-style partition
//! directories.
//!
//! This module does not access a store. [`LogPath::parse`] identifies a file of `_delta_log`, and
//! [`FilePath::parse`] decodes the location that an action names.

mod file;
pub mod hive;
mod log;

pub use file::{AbsolutePath, FilePath};
pub use log::{CheckpointKind, HINT_NAME, LOG_DIR, LogKind, LogPath, SIDECAR_DIR, checkpoint_name, checksum_name, commit_name};
