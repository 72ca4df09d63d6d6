//! Lists a tree of folders one folder at a time. The caller decides which folders to list, and how
//! many at once.

use lakebed_core::error::Result;
use object_store::list::PaginatedListOptions;
use object_store::path::Path;
use object_store::{ListResult, ObjectStore};

use crate::store::Store;
use crate::store::abilities::Listing;
use crate::store::local::file_path::file_path;
use crate::store::local::files;
use crate::store::request::folder::Folder;

impl Store {
    /// Returns the content of a folder. `page` is the token of the next page from the last call. A
    /// folder that does not exist is empty.
    pub async fn list_folder(&self, folder: &Path, page: Option<String>) -> Result<Folder> {
        let listed = match (&self.0.connection.listing, &self.0.connection.pages) {
            (Listing::Local, _) => return self.list_local_folder(folder).await,
            (Listing::Web(lister), _) => whole(lister.as_ref(), folder).await,
            (_, None) => self.retry(|| whole(self.object_store().as_ref(), folder)).await,
            (_, Some(pages)) => {
                let prefix = if folder.as_ref().is_empty() { None } else { Some(format!("{folder}/")) };
                let ask = || {
                    let delimiter = Some("/".into());
                    let options = PaginatedListOptions { delimiter, page_token: page.clone(), ..PaginatedListOptions::default() };
                    pages.list_paginated(prefix.as_deref(), options)
                };
                self.retry(ask).await.map(|listed| folder_of(listed.result, listed.page_token))
            }
        };
        match listed {
            Ok(mut found) => {
                // The marker object of a folder is not part of its content.
                found.objects.retain(|object| object.location != *folder);
                Ok(found)
            }
            Err(object_store::Error::NotFound { .. }) => Ok(Folder::default()),
            Err(error) => Err(self.failed(&error, folder)),
        }
    }

    async fn list_local_folder(&self, folder: &Path) -> Result<Folder> {
        let (own, root) = (folder.clone(), self.root().clone());
        self.blocking(folder, file_path(folder), move |_| files::list_folder(&own, &root)).await
    }

    /// Removes empty folders, in this order, and returns how many. Only local folders exist on
    /// their own.
    pub async fn remove_empty_folders(&self, folders: &[Path]) -> Result<u64> {
        let paths: Vec<_> = folders.iter().filter_map(|folder| self.local_path(folder)).collect();
        let Some(first) = folders.first().filter(|_| !paths.is_empty()) else { return Ok(0) };
        // If another writer puts a file into the folder first, the removal fails and the file
        // stays.
        let remove = move |_| Ok(paths.iter().filter(|path| std::fs::remove_dir(path).is_ok()).count() as u64);
        self.blocking(first, file_path(first), remove).await
    }
}

async fn whole(store: &dyn ObjectStore, folder: &Path) -> object_store::Result<Folder> {
    store.list_with_delimiter(Some(folder)).await.map(|listed| folder_of(listed, None))
}

fn folder_of(listed: ListResult, next_page: Option<String>) -> Folder {
    Folder { objects: listed.objects, folders: listed.common_prefixes, next_page, ..Folder::default() }
}
