//! The content of a folder.

use object_store::ObjectMeta;
use object_store::path::Path;

/// The content of a folder, or one page of it.
#[derive(Debug, Default)]
pub struct Folder {
    /// The objects, in any order.
    pub objects: Vec<ObjectMeta>,
    /// The folders.
    pub folders: Vec<Path>,
    /// The targets of links in the folder. Only targets below the root are included. The links
    /// themselves are neither objects nor folders.
    pub links: Vec<Path>,
    /// Whether the folder has links whose targets are not below the root.
    pub has_links_out: bool,
    /// The time at which an entry was last added or removed, in milliseconds since the epoch. It is
    /// known only for local folders.
    pub modified_ms: Option<i64>,
    /// The token of the next page, if there is one.
    pub next_page: Option<String>,
}
