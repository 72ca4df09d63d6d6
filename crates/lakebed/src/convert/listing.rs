//! Finds the files of a folder, and refuses folders that belong to a table.

use futures::{StreamExt, TryStreamExt, stream};
use lakebed_core::path::LOG_DIR;
use lakebed_io::store::{Folder, Store};
use object_store::path::Path;

use super::iceberg::is_metadata_file;
use crate::{Error, Result};

/// The number of folders that are listed at the same time.
const AT_ONCE: usize = 32;

/// A file below the folder.
#[derive(Debug, Clone)]
pub(super) struct ListedFile {
    /// The path below the folder.
    pub(super) name: String,
    pub(super) path: Path,
    pub(super) size: u64,
    pub(super) modified_ms: i64,
}

/// Returns all files that are not hidden, sorted by path.
pub(super) async fn list_files(store: &Store) -> Result<Vec<ListedFile>> {
    let mut files = Vec::new();
    let mut folders = vec![store.root().clone()];
    while !folders.is_empty() {
        let listing = stream::iter(std::mem::take(&mut folders));
        let listed: Vec<Folder> = listing
            .map(|folder| list_folder(store, folder))
            .buffered(AT_ONCE)
            .try_collect::<Vec<_>>()
            .await?
            .into_iter()
            .flatten()
            .collect();
        for Folder { objects, folders: inner, links, has_links_out, .. } in listed {
            if has_links_out || !links.is_empty() {
                let message = "there are symbolic links in this folder, and readers of the table would not follow them: replace each \
                               link by its file or folder";
                return Err(Error::invalid_input(message));
            }
            for object in objects {
                let Some(name) = store.below_root(&object.location).filter(|name| !hides(name)) else { continue };
                files.push(ListedFile {
                    name: name.to_owned(),
                    size: object.size,
                    modified_ms: object.last_modified.timestamp_millis(),
                    path: object.location.clone(),
                });
            }
            for folder in inner {
                let name = store.below_root(&folder).unwrap_or_default();
                refuse_tables(store, &folder, name).await?;
                if !hides(name) {
                    folders.push(folder);
                }
            }
        }
    }
    files.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    Ok(files)
}

async fn list_folder(store: &Store, folder: Path) -> Result<Vec<Folder>> {
    let mut pages = Vec::new();
    let mut page = None;
    loop {
        let mut found = store.list_folder(&folder, page).await?;
        page = found.next_page.take();
        pages.push(found);
        if page.is_none() {
            return Ok(pages);
        }
    }
}

/// Returns whether the last name of a path is hidden, as in Spark. The folder of a partition column
/// is not hidden, whatever its name begins with.
fn hides(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.starts_with('.') || name.starts_with('_') && !name.contains('=')
}

/// Refuses a folder that shows that the files belong to a table.
async fn refuse_tables(store: &Store, folder: &Path, name: &str) -> Result<()> {
    if name.ends_with(&format!("/{LOG_DIR}")) {
        let table = store.describe(folder);
        return Err(Error::invalid_input(format!(
            "{table}: this is the log of a Delta table inside of the folder. Some of its files may not be in the table, so they \
             cannot be converted together with others: move the table away"
        )));
    }
    if name.ends_with("/metadata") {
        let found = store.list_after(folder, "").await?;
        if let Some(file) = found.iter().find(|file| file.location.filename().is_some_and(is_metadata_file)) {
            let file = store.describe(&file.location);
            return Err(Error::invalid_input(format!(
                "{file}: this is the metadata of an Iceberg table inside of the folder. Some of its files may not be in the table, \
                 so they cannot be converted together with others: move the table away"
            )));
        }
    }
    Ok(())
}
