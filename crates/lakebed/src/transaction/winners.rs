//! The commits that came first: on this machine found by their names; over a network read side by side, in growing numbers, until one is
//! not there.

use std::pin::pin;

use futures::{StreamExt, TryStreamExt, stream};
use lakebed_core::commit::winner::Winner;
use lakebed_core::path::LogPath;
use lakebed_io::log::{self, CommitPart};
use lakebed_io::store::Store;

use crate::{Error, Result};

/// So many are asked for at a time.
const MOST: u64 = 16;

/// A commit of another, and its lines.
pub(super) struct ReadWinner {
    pub(super) path: LogPath,
    pub(super) parts: Vec<CommitPart>,
}

impl ReadWinner {
    /// What it says.
    pub(super) fn winner(&self) -> Result<Winner> {
        Winner::read(self.path.version, self.parts.iter().map(CommitPart::part))
    }
}

/// The commits from a version on that is known to be there, and may have been read already.
pub(super) async fn read_winners(store: &Store, from: u64, first: Option<Vec<CommitPart>>) -> Result<Vec<ReadWinner>> {
    if let Some(near) = log::find_tail(store, from).await? {
        let commits = near.into_iter().map(|file| file.path).filter(LogPath::is_commit);
        return read_all(store, commits.collect()).await;
    }
    let first = first.map(|parts| ReadWinner { path: LogPath::commit(from), parts });
    let mut winners = Vec::from_iter(first);
    // Mostly one was faster, and the version after it is still free.
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
        // Put-if-absent said that it is there, so this is no end of the log.
        true => Err(Error::internal(format!("{}: version {from} is taken, but cannot be read", store.url()))),
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
            let part = part.ok_or_else(|| Error::internal(format!("{}: a commit without an end", winner.path.name)))?;
            is_whole = part.is_last;
            winner.parts.push(part);
        }
    }
    Ok(winners)
}

/// Of so many versions those that are there, up to the first gap.
async fn read_some(store: &Store, from: u64, count: u64) -> Result<Vec<ReadWinner>> {
    // Each by itself, as one that is not there must not take others with it.
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
