//! What lies directly in a folder.

use object_store::ObjectMeta;
use object_store::path::Path;

/// What lies directly in a folder, or a part of it.
#[derive(Debug, Default)]
pub struct Folder {
    /// The objects, in no order.
    pub objects: Vec<ObjectMeta>,
    /// The folders.
    pub folders: Vec<Path>,
    /// Where links of the file system lead that lie in it, as far as that is below the root. They themselves are neither objects nor folders.
    pub links: Vec<Path>,
    /// When something was added to it or taken away, in milliseconds since the epoch; known of folders of this machine.
    pub modified_ms: Option<i64>,
    /// What to ask for next, if there is more of it.
    pub next_page: Option<String>,
}
