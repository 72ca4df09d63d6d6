//! A file of the log, made from an entry of a listing or from a reply with its metadata.

use lakebed_core::log::segment::ListedLogFile;
use lakebed_core::path::LogPath;
use object_store::ObjectMeta;

/// Returns the log file for this object.
pub(super) fn listed_file(path: LogPath, object: ObjectMeta) -> ListedLogFile {
    let modified_ms = object.last_modified.timestamp_millis();
    ListedLogFile { path, size: object.size, modified_ms, e_tag: object.e_tag.map(|tag| unquoted(&tag)) }
}

/// Returns the entity tag without quotation marks. Services quote it in some replies and not in
/// others.
pub(super) fn unquoted(e_tag: &str) -> String {
    e_tag.trim_matches('"').to_owned()
}
