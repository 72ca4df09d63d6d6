//! Lists the objects directly in a folder, from a name on. Objects in subfolders are not listed if
//! the store can avoid it.

use futures::TryStreamExt;
use lakebed_core::error::Result;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore};

use crate::store::Store;
use crate::store::abilities::Listing;
use crate::store::local::file_path::file_path;
use crate::store::local::files;

impl Store {
    /// Returns the objects directly in `folder` with names after `after`, sorted by name. A folder
    /// that does not exist is empty.
    pub async fn list_after(&self, folder: &Path, after: &str) -> Result<Vec<ObjectMeta>> {
        self.list_between(folder, after, None).await
    }

    /// Returns the objects like [`Store::list_after`], but only those with names before `before`.
    /// If the store lists in order, later names are not requested.
    pub async fn list_between(&self, folder: &Path, after: &str, before: Option<&str>) -> Result<Vec<ObjectMeta>> {
        self.list_first(folder, after, before, usize::MAX).await
    }

    /// Returns the objects like [`Store::list_between`]. If the store lists in order, only the
    /// first `most` objects are returned.
    pub async fn list_first(&self, folder: &Path, after: &str, before: Option<&str>, most: usize) -> Result<Vec<ObjectMeta>> {
        let range = Names { after, before };
        let listed = match &self.0.connection.listing {
            Listing::Local => return self.list_local(folder, range).await,
            Listing::Ordered => self.retry(|| self.list_ordered(folder, range, most)).await,
            Listing::Whole => self.retry(|| list_whole(self.object_store().as_ref(), folder, range)).await,
            Listing::Web(lister) => list_whole(lister.as_ref(), folder, range).await,
        };
        match listed {
            Ok(mut found) => {
                found.sort_unstable_by(|a, b| a.location.as_ref().cmp(b.location.as_ref()));
                Ok(found)
            }
            Err(object_store::Error::NotFound { .. }) => Ok(Vec::new()),
            Err(error) => Err(self.failed(&error, folder)),
        }
    }

    async fn list_local(&self, folder: &Path, range: Names<'_>) -> Result<Vec<ObjectMeta>> {
        let (own, after, before) = (folder.clone(), range.after.to_owned(), range.before.map(str::to_owned));
        let work = move |_| files::list(&own, |name| Names { after: &after, before: before.as_deref() }.contains(name));
        self.blocking(folder, file_path(folder), work).await
    }

    async fn list_ordered(&self, folder: &Path, range: Names<'_>, most: usize) -> object_store::Result<Vec<ObjectMeta>> {
        let mut found = Vec::new();
        let offset = Path::parse(format!("{folder}/{}", range.after))?;
        let mut stream = self.object_store().list_with_offset(Some(folder), &offset);
        while let Some(object) = stream.try_next().await? {
            let Some(name) = name_in(&object.location, folder) else { continue };
            // The order of keys differs from the order of names, because the slash of a folder is
            // part of a key. But no key in a folder sorts before the name of the folder.
            if range.before.is_some_and(|before| name >= before) {
                break;
            }
            if !name.contains('/') && range.contains(name) {
                found.push(object);
            }
            if found.len() >= most {
                break;
            }
        }
        Ok(found)
    }
}

async fn list_whole(store: &dyn ObjectStore, folder: &Path, range: Names<'_>) -> object_store::Result<Vec<ObjectMeta>> {
    let listed = store.list_with_delimiter(Some(folder)).await?;
    let inside =
        |object: &ObjectMeta| name_in(&object.location, folder).is_some_and(|name| !name.contains('/') && range.contains(name));
    Ok(listed.objects.into_iter().filter(inside).collect())
}

/// The names after one name and before another.
#[derive(Clone, Copy)]
struct Names<'a> {
    after: &'a str,
    before: Option<&'a str>,
}

impl Names<'_> {
    fn contains(self, name: &str) -> bool {
        name > self.after && self.before.is_none_or(|before| name < before)
    }
}

/// Returns the rest of an object's key after the folder.
fn name_in<'a>(location: &'a Path, folder: &Path) -> Option<&'a str> {
    match folder.as_ref() {
        "" => Some(location.as_ref()),
        folder => location.as_ref().strip_prefix(folder)?.strip_prefix('/'),
    }
}
