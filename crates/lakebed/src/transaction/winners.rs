//! The commits that came first: read side by side, in growing numbers, until one is not there.

use std::pin::pin;

use futures::{StreamExt, TryStreamExt};
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

/// The commits from a version on that is known to be there.
pub(super) async fn read_winners(store: &Store, from: u64) -> Result<Vec<ReadWinner>> {
    let mut winners = Vec::new();
    let mut wanted = 1;
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

/// Of so many versions those that are there, up to the first gap.
async fn read_some(store: &Store, from: u64, count: u64) -> Result<Vec<ReadWinner>> {
    let paths: Vec<LogPath> = (from..from + count).map(LogPath::commit).collect();
    let mut found: Vec<ReadWinner> = Vec::new();
    let mut open: Vec<CommitPart> = Vec::new();
    let mut parts = pin!(log::read_commits(store, &paths).fuse());
    loop {
        match parts.try_next().await {
            Ok(Some(part)) => {
                let is_last = part.is_last;
                open.push(part);
                if is_last {
                    let path = LogPath::commit(from + found.len() as u64);
                    found.push(ReadWinner { path, parts: std::mem::take(&mut open) });
                }
            }
            Ok(None) => return Ok(found),
            Err(error) if error.is_not_found() && open.is_empty() => return Ok(found),
            Err(error) => return Err(error),
        }
    }
}
