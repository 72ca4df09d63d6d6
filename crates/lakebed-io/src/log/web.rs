//! Finds the log on a web server that cannot list, by requesting files by name.
//!
//! This finds the files of most tables: one classic checkpoint and the commits above it. It does
//! not find names that cannot be guessed: log compactions, checkpoints with several parts or unique
//! names, and commits after a gap.

use futures::{StreamExt, TryStreamExt, stream};
use lakebed_core::error::Result;
use lakebed_core::log::segment::ListedLogFile;
use lakebed_core::path::{LogPath, checkpoint_name, checksum_name, commit_name};

use super::commits::CONCURRENCY;
use super::listed::listed_file;
use crate::store::Store;

/// Returns the checkpoint of version `from`, the commits from there up to the first missing one,
/// and the checksum of the last commit.
pub(super) async fn find_log(store: &Store, from: u64) -> Result<Vec<ListedLogFile>> {
    let mut files: Vec<ListedLogFile> = find(store, checkpoint_name(from)).await?.into_iter().collect();
    // Log cleanup may have deleted the commit of the checkpoint's version.
    files.extend(find(store, commit_name(from)).await?);
    if files.is_empty() {
        return Ok(files);
    }
    let mut next = from.saturating_add(1);
    let last = loop {
        let names = (next..next.saturating_add(CONCURRENCY as u64)).map(commit_name);
        let found: Vec<_> = stream::iter(names).map(|name| find(store, name)).buffered(CONCURRENCY).try_collect().await?;
        let present = found.iter().take_while(|file| file.is_some()).count();
        let complete = present == found.len() && present > 0;
        files.extend(found.into_iter().flatten().take(present));
        next = next.saturating_add(present as u64);
        if !complete {
            break next.saturating_sub(1);
        }
    };
    files.extend(find(store, checksum_name(last)).await?);
    Ok(files)
}

async fn find(store: &Store, name: String) -> Result<Option<ListedLogFile>> {
    let Some(path) = LogPath::parse(&name) else { return Ok(None) };
    match store.head(&store.log_path(&name)?).await {
        Ok(object) => Ok(Some(listed_file(path, object))),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}
