//! Builds files of a log as a store lists them.

use crate::log::segment::ListedLogFile;
use crate::path::{LogPath, checkpoint_name, commit_name};

/// Returns a file of one hundred bytes.
pub fn log_file(name: &str) -> ListedLogFile {
    log_file_with_size(name, 100)
}

/// Returns a file of this size.
pub fn log_file_with_size(name: &str, size: u64) -> ListedLogFile {
    ListedLogFile { path: LogPath::parse(name).unwrap(), size, modified_ms: 0, e_tag: None }
}

/// Returns the commit of a version.
pub fn commit_file(version: u64) -> ListedLogFile {
    log_file(&commit_name(version))
}

/// Returns the classic checkpoint of a version.
pub fn checkpoint_file(version: u64) -> ListedLogFile {
    log_file(&checkpoint_name(version))
}
