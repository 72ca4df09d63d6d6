//! Walks through the folders below a table, many at a time, and lists everything that is not
//! hidden.

use std::sync::Arc;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use lakebed_io::store::{Folder, Store};
use object_store::path::Path;

use super::candidates::{Candidate, CandidateBatch, CandidateStream};
use super::hidden_names::HiddenNames;
use crate::runtime::stream::produce;
use crate::{Error, Result};

/// The number of folders, or pages of them, that are listed at a time.
const AT_ONCE: usize = 16;

/// Returns all files except hidden ones. It also returns folders that have been empty since before
/// `cutoff_ms`.
pub(super) fn walk(store: &Store, hidden: HiddenNames, cutoff_ms: i64) -> CandidateStream {
    let walk = FolderWalk { store: store.clone(), hidden: Arc::new(hidden), cutoff_ms };
    produce(AT_ONCE, |sender| async move {
        let mut running = FuturesUnordered::new();
        // Folders are taken from the end: the deepest come first, so that the list stays short.
        let mut waiting = vec![(walk.store.root().clone(), None)];
        loop {
            while running.len() < AT_ONCE
                && let Some((folder, page)) = waiting.pop()
            {
                running.push(walk.list(folder, page));
            }
            let Some(looked) = running.next().await else { return Ok(()) };
            let (folder, is_first, mut found) = looked?;
            waiting.extend(found.next_page.take().map(|page| (folder.clone(), Some(page))));
            let open = found.folders.iter().filter(|folder| walk.is_open(folder));
            waiting.extend(open.map(|folder| (folder.clone(), None)));
            let part = walk.part(&folder, is_first, found);
            sender.send(Ok(part)).await.map_err(|_| Error::internal("the receiver of a listing has ended"))?;
        }
    })
}

struct FolderWalk {
    store: Store,
    hidden: Arc<HiddenNames>,
    cutoff_ms: i64,
}

impl FolderWalk {
    async fn list(&self, folder: Path, page: Option<String>) -> Result<(Path, bool, Folder)> {
        let is_first = page.is_none();
        let found = self.store.list_folder(&folder, page).await?;
        Ok((folder, is_first, found))
    }

    fn is_open(&self, path: &Path) -> bool {
        self.store.below_root(path).is_some_and(|name| !self.hidden.hides(name))
    }

    fn part(&self, folder: &Path, is_first: bool, found: Folder) -> CandidateBatch {
        let is_old = found.modified_ms.is_some_and(|modified| modified < self.cutoff_ms);
        let is_empty = is_old && found.objects.is_empty() && found.links.is_empty() && folder != self.store.root();
        let linked = found.links.iter().filter_map(|target| self.store.below_root(target)).map(str::to_owned).collect();
        let file = |object: object_store::ObjectMeta| {
            let path = self.store.below_root(&object.location).filter(|path| !self.hidden.hides(path))?.to_owned();
            Some(Candidate { path, size_bytes: object.size, modified_ms: Some(object.last_modified.timestamp_millis()) })
        };
        CandidateBatch {
            files: found.objects.into_iter().filter_map(file).collect(),
            folders: u64::from(is_first),
            linked,
            empty: is_empty.then(|| folder.clone()),
        }
    }
}
