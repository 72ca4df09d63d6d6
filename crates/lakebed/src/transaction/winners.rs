//! The commits of other writers that came first. On a local file system they are found by listing
//! their names. Over a network they are read concurrently, in growing numbers, until one does not
//! exist.

use std::pin::pin;

use futures::{StreamExt, TryStreamExt, stream};
use lakebed_core::commit::winner::Winner;
use lakebed_core::path::LogPath;
use lakebed_io::log::{self, CommitPart};
use lakebed_io::store::Store;

use crate::{Error, Result};

/// The maximum number of commits that are requested at a time.
const MOST: u64 = 16;

/// A commit of another writer, and its lines.
pub(super) struct ReadWinner {
    pub(super) path: LogPath,
    pub(super) parts: Vec<CommitPart>,
}

impl ReadWinner {
    /// Parses the commit.
    pub(super) fn winner(&self) -> Result<Winner> {
        Winner::read(self.path.version, self.parts.iter().map(CommitPart::part))
    }
}

/// Reads the commits from version `from` on. That version is known to exist, and `first` contains
/// its lines if they were read already.
pub(super) async fn read_winners(store: &Store, from: u64, first: Option<Vec<CommitPart>>) -> Result<Vec<ReadWinner>> {
    if let Some(near) = log::find_tail(store, from).await? {
        let commits = near.into_iter().map(|file| file.path).filter(LogPath::is_commit);
        return read_all(store, commits.collect()).await;
    }
    let first = first.map(|parts| ReadWinner { path: LogPath::commit(from), parts });
    let mut winners = Vec::from_iter(first);
    // In most cases one other writer was first, and the version after its commit is still free.
    let mut wanted = 2 - winners.len() as u64;
    loop {
        let next = from + winners.len() as u64;
        let found = read_some(store, next, wanted).await?;
        let is_last = (found.len() as u64) < wanted;
        winners.extend(found);
        if is_last {
            break;
        }
        wanted = (wanted * 2).min(MOST);
    }
    match winners.is_empty() {
        // Put-if-absent reported that the version exists, so this is not the end of the log.
        true => Err(Error::internal(format!("{}: version {from} exists, but its commit cannot be read", store.url()))),
        false => Ok(winners),
    }
}

async fn read_all(store: &Store, commits: Vec<LogPath>) -> Result<Vec<ReadWinner>> {
    let mut parts = pin!(log::read_commits(store, &commits));
    let mut winners: Vec<ReadWinner> = commits.iter().map(|path| ReadWinner { path: path.clone(), parts: Vec::new() }).collect();
    for winner in &mut winners {
        let mut is_whole = false;
        while !is_whole {
            let part = parts.try_next().await?;
            let part = part.ok_or_else(|| Error::internal(format!("{}: a commit has no end", winner.path.name)))?;
            is_whole = part.is_last;
            winner.parts.push(part);
        }
    }
    Ok(winners)
}

/// Reads up to `count` versions, and returns those before the first one that does not exist.
async fn read_some(store: &Store, from: u64, count: u64) -> Result<Vec<ReadWinner>> {
    // Each commit is read in its own request, so that a missing one does not fail the others.
    let read = |version| async move {
        let path = LogPath::commit(version);
        let parts = log::read_commits(store, std::slice::from_ref(&path)).try_collect().await?;
        Ok(ReadWinner { path, parts })
    };
    let mut found = Vec::new();
    let mut winners = pin!(stream::iter(from..from + count).map(read).buffered(MOST as usize));
    loop {
        match winners.try_next().await {
            Ok(Some(winner)) => found.push(winner),
            Ok(None) => return Ok(found),
            Err(error) if Error::is_not_found(&error) => return Ok(found),
            Err(error) => return Err(error),
        }
    }
}
