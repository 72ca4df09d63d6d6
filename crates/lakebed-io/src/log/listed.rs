//! A file of the log, as a listing or a look at one object shows it.

use lakebed_core::log::segment::ListedLogFile;
use lakebed_core::path::LogPath;
use object_store::ObjectMeta;

/// The file of the log that an object in the store is.
pub(super) fn listed_file(path: LogPath, object: ObjectMeta) -> ListedLogFile {
    let modified_ms = object.last_modified.timestamp_millis();
    ListedLogFile { path, size: object.size, modified_ms, e_tag: object.e_tag.map(|tag| unquoted(&tag)) }
}

/// Services quote the mark in some answers and not in others.
pub(super) fn unquoted(e_tag: &str) -> String {
    e_tag.trim_matches('"').to_owned()
}
