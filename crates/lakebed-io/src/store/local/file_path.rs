//! The path of the local file behind an object.

use std::path::PathBuf;

use object_store::path::Path;

/// Returns the path of the local file behind an object.
pub(in crate::store) fn file_path(path: &Path) -> PathBuf {
    let text = path.as_ref();
    // On Windows an absolute path begins with a drive and not with a slash.
    if cfg!(windows) { PathBuf::from(text) } else { PathBuf::from(format!("/{text}")) }
}
