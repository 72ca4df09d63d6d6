//! Finds files that do not exist any more.
//!
//! A few files are requested one by one. For many files of one folder, the folder is listed, which
//! takes one request for about a thousand files. A folder may hold far more files than are wanted,
//! so a listing that has returned ten times as many is given up. Files that a listing did not show
//! are requested one by one.

use std::collections::{BTreeMap, HashSet};

use futures::{StreamExt, TryStreamExt, stream};
use lakebed_core::dv::{self, DvLocation};
use lakebed_core::log::files::FileBatch;
use lakebed_core::path::FilePath;
use lakebed_io::store::Store;
use object_store::path::Path;

use crate::{Error, Result};

/// The number of requests at a time.
const AT_ONCE: usize = 32;

/// The least number of wanted files for which a folder is listed.
const LISTED: usize = 200;

/// A listing is given up when it has returned this many times as many files as are wanted.
const TOO_MANY: usize = 10;

/// The files that should exist.
#[derive(Default)]
pub(super) struct WantedFiles {
    /// The names of files in the folders of the table, by folder.
    folders: BTreeMap<Path, Vec<Path>>,
    /// Files elsewhere.
    elsewhere: Vec<(Store, Path)>,
}

impl WantedFiles {
    /// Adds the data files of a batch, and the files of their deletion vectors.
    pub(super) fn add(&mut self, store: &Store, files: &FileBatch) -> Result<()> {
        for (row, path) in files.paths()?.iter().enumerate() {
            self.push(store, &FilePath::parse(path.unwrap_or_default())?)?;
            if let Some(vector) = files.deletion_vector(row)?
                && let DvLocation::File { path, .. } = dv::location(&vector)?
            {
                self.push(store, &path)?;
            }
        }
        Ok(())
    }

    fn push(&mut self, store: &Store, path: &FilePath) -> Result<()> {
        let (home, path) = store.resolve(path)?;
        if matches!(store.below_root(&path), Some(name) if !name.is_empty()) && home.identity() == store.identity() {
            let folder = parent(&path);
            self.folders.entry(folder).or_default().push(path);
        } else {
            self.elsewhere.push((home, path));
        }
        Ok(())
    }

    /// Returns the descriptions of the files that do not exist.
    pub(super) async fn missing(self, store: &Store) -> Result<HashSet<String>> {
        let Self { folders, elsewhere } = self;
        let unseen = stream::iter(folders).map(|(folder, wanted)| unseen(store, folder, wanted)).buffered(AT_ONCE);
        let unseen: Vec<Vec<Path>> = unseen.try_collect().await?;
        let here = unseen.into_iter().flatten().map(|path| (store.clone(), path));
        stream::iter(here.chain(elsewhere))
            .map(|(store, path)| async move {
                match store.head(&path).await {
                    Ok(_) => Ok(None),
                    Err(error) if error.is_not_found() => Ok(Some(store.describe(&path))),
                    Err(error) => Err(error),
                }
            })
            .buffered(AT_ONCE)
            .try_filter_map(|missing: Option<String>| async move { Ok::<_, Error>(missing) })
            .try_collect()
            .await
    }
}

/// Returns the wanted files of a folder that a listing does not show.
async fn unseen(store: &Store, folder: Path, mut wanted: Vec<Path>) -> Result<Vec<Path>> {
    wanted.sort_unstable();
    wanted.dedup();
    if wanted.len() < LISTED || store.is_web() {
        return Ok(wanted);
    }
    let most = wanted.len().saturating_mul(TOO_MANY);
    let mut seen = vec![false; wanted.len()];
    let (mut page, mut listed) = (None, 0);
    loop {
        let found = store.list_folder(&folder, page).await?;
        listed += found.objects.len();
        for object in &found.objects {
            if let Ok(at) = wanted.binary_search(&object.location)
                && let Some(seen) = seen.get_mut(at)
            {
                *seen = true;
            }
        }
        page = found.next_page;
        if page.is_none() || listed > most {
            break;
        }
    }
    Ok(wanted.into_iter().zip(seen).filter(|(_, seen)| !seen).map(|(path, _)| path).collect())
}

fn parent(path: &Path) -> Path {
    let text = path.as_ref();
    Path::from(text.rsplit_once('/').map_or("", |(folder, _)| folder))
}
