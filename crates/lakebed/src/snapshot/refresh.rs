//! Creates a newer snapshot from an older one, at the cost of the commits between them.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use lakebed_core::Result;
use lakebed_core::log::segment::LogSegment;
use lakebed_core::path::LogPath;
use lakebed_io::log::{self, CommitPart, ListedLogFile};
use tokio::sync::OnceCell;

use super::commits::{KEPT_BYTES, ReadCommits, fold};
use super::{CommitStamp, Head, Inner, Snapshot, load};

/// The most layers. With more of them, one fold of all commits is cheaper than a search in each
/// layer.
const MAX_LAYERS: usize = 32;

impl Snapshot {
    /// Returns the latest version, or this snapshot itself if there is no newer one.
    pub async fn refresh(&self) -> Result<Snapshot> {
        let known = self.known_by_log();
        if !Arc::ptr_eq(&known.inner, &self.inner) {
            return Box::pin(known.refresh()).await;
        }
        // This version is listed again, so that a table that was dropped and created again is
        // noticed.
        let listed = match log::find_tail(self.store(), self.version()).await? {
            Some(listed) => listed,
            None => log::list_log(self.store(), Some(self.version())).await?,
        };
        let Some(newer) = commits_after(&listed, self.version()) else { return self.reload().await };
        let stamp_of =
            |version: u64| listed.iter().find(|file| file.path.is_commit() && file.path.version == version).map(CommitStamp::of);
        if let (Some(known), Some(found)) = (&self.inner.stamp, stamp_of(self.version()))
            && !known.is_of(&found)
        {
            return self.reload().await;
        }
        let Some(newest) = newer.first() else { return Ok(self.clone()) };
        let stamp = stamp_of(newest.version);
        let read = ReadCommits::read(self.store(), &newer).await?;
        self.extended(newer, read, stamp).await
    }

    /// Returns the version that these commits make on top of this one. They are all commits since
    /// this version, oldest first, with their lines. The last of them was just written; `e_tag` is
    /// its ETag, if known.
    pub(crate) async fn advanced(&self, commits: Vec<(LogPath, Vec<CommitPart>)>, e_tag: Option<String>) -> Result<Snapshot> {
        let stamp = match commits.last() {
            Some((path, parts)) => self.stamp_of_own(path, parts, e_tag).await?,
            None => None,
        };
        let newest_first = commits.into_iter().rev();
        let (newer, parts): (Vec<LogPath>, Vec<Vec<CommitPart>>) = newest_first.unzip();
        let parts = parts.into_iter().flatten().collect();
        self.known_by_log().extended(newer, ReadCommits::of_parts(parts)?, stamp).await
    }

    /// Returns the stamp of a commit that this process wrote. The time of a local file is free to
    /// read; for other files the ETag must do.
    async fn stamp_of_own(&self, path: &LogPath, parts: &[CommitPart], e_tag: Option<String>) -> Result<Option<CommitStamp>> {
        let Some(last) = parts.last().filter(|part| part.is_last) else { return Ok(None) };
        let size_bytes = last.start + last.lines.len() as u64;
        let near = log::find_tail(self.store(), path.version).await?.unwrap_or_default();
        let modified_ms = near.iter().find(|file| file.path == *path).map(|file| file.modified_ms);
        Ok(Some(CommitStamp { size_bytes, modified_ms, e_tag }))
    }

    /// Returns the version that newer commits make. They come newest first.
    async fn extended(&self, newer: Vec<LogPath>, read: ReadCommits, stamp: Option<CommitStamp>) -> Result<Snapshot> {
        let ReadCommits { protocol, metadata, parts } = read;
        let renewed = metadata.as_ref().is_some_and(|metadata| metadata.id != self.metadata().id);
        let layers = self.inner.layers.get();
        if renewed || layers.is_some_and(|layers| layers.depth() >= MAX_LAYERS) {
            return self.reload().await;
        }
        let head = match (protocol, metadata) {
            (None, None) => Head { checksum: None, ..self.inner.head.clone() },
            (protocol, metadata) => {
                let trusted = self.inner.head.trusted.clone().filter(|_| protocol.is_none() || metadata.is_none());
                let protocol = protocol.unwrap_or_else(|| self.protocol().clone());
                let metadata = metadata.unwrap_or_else(|| self.metadata().clone());
                load::follow_sources(self.store(), &metadata).await?;
                Head { trusted, ..Head::new(self.url(), protocol, metadata, None)? }
            }
        };
        let version = newer.first().map_or(self.version(), |path| path.version);
        let layers = match layers {
            Some(layers) => {
                let layer = fold(self.store(), parts, &newer, KEPT_BYTES / MAX_LAYERS).await?;
                OnceCell::new_with(Some(layers.with_newer(layer)))
            }
            None => OnceCell::new(),
        };
        let segment = LogSegment {
            version,
            commits: newer.into_iter().chain(self.segment().commits.iter().cloned()).collect(),
            checksum: None,
            ..self.segment().clone()
        };
        let (store, env) = (self.store().clone(), self.env().clone());
        let read_commits = Mutex::new(None);
        Ok(Snapshot {
            inner: Arc::new(Inner {
                store,
                env,
                segment,
                stamp,
                unusable: self.inner.unusable.clone(),
                head,
                read_commits,
                layers,
                is_checksum_wrong: AtomicBool::new(self.is_checksum_wrong()),
                replacement: OnceCell::new(),
                pending: None,
            }),
        })
    }

    async fn reload(&self) -> Result<Snapshot> {
        load::load(self.store().clone(), self.env().clone(), None).await
    }
}

/// Returns the commits above `version`, newest first; None if the listing does not continue from it
/// without a gap.
fn commits_after(listed: &[ListedLogFile], version: u64) -> Option<Vec<LogPath>> {
    let mut commits: Vec<_> = listed.iter().map(|file| &file.path).filter(|path| path.is_commit()).cloned().collect();
    commits.sort_by_key(|path| path.version);
    let joined = commits.iter().zip(version..).all(|(path, expected)| path.version == expected);
    if commits.is_empty() || !joined {
        return None;
    }
    Some(commits.into_iter().skip(1).rev().collect())
}
