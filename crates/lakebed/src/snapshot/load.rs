//! Loads a snapshot from a location: reads the hint and the listing, chooses the files that make
//! the version, and reads its protocol and metadata.
//!
//! Hints, checkpoints and checksums can be replaced. If any of them is missing, out of date,
//! incomplete or wrong, it is ignored, with one warning for all of them. Only the commits cannot be
//! replaced.

use std::collections::HashSet;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use futures::TryStreamExt;
use lakebed_core::action::Metadata;
use lakebed_core::log::segment::{self, LogSegment};
use lakebed_core::path::{LogKind, LogPath};
use lakebed_core::{Error, ErrorKind, Result};
use lakebed_io::env::Env;
use lakebed_io::log::{self, ListedLogFile};
use lakebed_io::store::Store;
use tokio::sync::OnceCell;

use super::clone_source::clone_sources;
use super::head::{HeadFailure, ReadHead, read_head};
use super::{CommitStamp, Inner, Snapshot};

/// The length of `{"commitInfo":{}}`.
const SHORTEST_COMMIT_BYTES: u64 = 17;

/// Loads the version `target`, or the latest one.
pub(crate) async fn load(store: Store, env: Env, target: Option<u64>) -> Result<Snapshot> {
    load_without(store, env, target, HashSet::new()).await
}

/// Loads a version without the checkpoints that were found to be unusable.
pub(crate) async fn load_without(store: Store, env: Env, target: Option<u64>, unusable: HashSet<String>) -> Result<Snapshot> {
    let mut load = Load { store: &store, target, hinted: None, unusable, stamp: None, notes: Vec::new() };
    let (segment, read) = load.run().await?;
    follow_sources(&store, &read.head.metadata).await?;
    if !load.notes.is_empty() {
        tracing::warn!(
            table = store.url(),
            "{}: the log is damaged, but the table could be read: {}",
            store.url(),
            load.notes.join("; ")
        );
    }
    let read_commits = Mutex::new(read.commits);
    let is_distrusted = load.distrusts_checksums();
    let (unusable, stamp) = (load.unusable, load.stamp);
    Ok(Snapshot {
        inner: Arc::new(Inner {
            store,
            env,
            segment,
            stamp,
            unusable,
            head: read.head,
            read_commits,
            layers: OnceCell::new(),
            is_checksum_wrong: AtomicBool::new(read.is_checksum_wrong || is_distrusted),
            replacement: OnceCell::new(),
            pending: None,
        }),
    })
}

/// Follows absolute paths below the recorded sources of a shallow clone, as far as the sources
/// confirm the record.
///
/// A table is untrusted input, and its record could name any folder that these credentials reach.
/// So the record has the id of the source, and the table there must have it. Only a writer that
/// could read the source knows that id. Other services are never asked.
pub(super) async fn follow_sources(store: &Store, metadata: &Metadata) -> Result<()> {
    if store.options().allow_absolute_paths {
        return Ok(());
    }
    let known = store.followed_urls();
    for source in clone_sources(metadata).into_iter().filter(|source| !known.contains(&source.url)) {
        let Ok(Some(folder)) = store.sibling(&source.url) else { continue };
        match read_table_id(&folder).await {
            Ok(id) if id == source.id => _ = store.follow(&source.url)?,
            // Files below this folder are refused when a reader needs them.
            Ok(_) | Err(_) => {}
        }
    }
    Ok(())
}

/// Returns the id of the table in a store. The sources of that table are not followed.
async fn read_table_id(store: &Store) -> Result<String> {
    let mut load = Load { store, target: None, hinted: None, unusable: HashSet::new(), stamp: None, notes: Vec::new() };
    let (_, read) = load.run().await?;
    Ok(read.head.metadata.id.clone())
}

struct Load<'a> {
    store: &'a Store,
    target: Option<u64>,
    /// The version that the hint names.
    hinted: Option<u64>,
    unusable: HashSet<String>,
    stamp: Option<CommitStamp>,
    notes: Vec<String>,
}

impl Load<'_> {
    async fn run(&mut self) -> Result<(LogSegment, ReadHead)> {
        let mut from = self.start().await?;
        let mut gone = None;
        loop {
            let segment = match self.segment(from).await {
                Ok(segment) => segment,
                // An error of the store says nothing about the hint.
                Err(error) if from.is_some() && !matches!(error.kind(), ErrorKind::Store { .. }) => {
                    self.notes.push(format!("_last_checkpoint cannot be used ({})", error.message()));
                    from = None;
                    continue;
                }
                Err(error) => return Err(self.held_against_hint(error)),
            };
            match read_head(self.store, &segment, &mut self.notes).await {
                Ok(head) => return Ok((segment, head)),
                // A cleanup deleted commits since they were listed. The files that replace them
                // are listed now, if there are any.
                Err(HeadFailure { error, replaceable: None }) if error.is_not_found() && gone.as_ref() != Some(&segment) => {
                    gone = Some(segment);
                    from = self.start().await?;
                }
                Err(failure) => {
                    let Some(name) = failure.replaceable else { return Err(failure.error) };
                    self.notes.push(failure.error.message().to_owned());
                    if !self.unusable.insert(name) {
                        return Err(failure.error);
                    }
                    from = None;
                }
            }
        }
    }

    /// Lists the files of the log from a version on, or all of them.
    async fn list(&self, from: Option<u64>) -> Result<Vec<ListedLogFile>> {
        if let Some(from) = from
            && let Some(near) = log::find_tail(self.store, from).await?
            && near.first().is_some_and(|file| matches!(file.path.kind, LogKind::Checkpoint(_)) && file.size > 0)
            && self.target.is_none_or(|target| near.iter().any(|file| file.path.version >= target))
        {
            return Ok(near);
        }
        log::list_log(self.store, from).await
    }

    /// Returns the version at which the listing may start: the version of the hint's checkpoint, if
    /// it is not newer than the target.
    async fn start(&mut self) -> Result<Option<u64>> {
        if !self.unusable.is_empty() {
            return Ok(None);
        }
        match log::read_hint(self.store).await? {
            log::ReadHint::Sound(hint) => {
                self.hinted = Some(hint.version);
                Ok(self.hinted.filter(|version| self.target.is_none_or(|target| *version <= target)))
            }
            log::ReadHint::Missing => Ok(None),
            log::ReadHint::Unusable(reason) => {
                self.notes.push(reason);
                Ok(None)
            }
        }
    }

    /// A hint proves that there is a table, even if no commit is listed. A caller that believed
    /// otherwise would create another table in its place.
    fn held_against_hint(&self, error: Error) -> Error {
        match self.hinted {
            Some(version) if *error.kind() == ErrorKind::TableNotFound => {
                let message = format!(
                    "it names a checkpoint of version {version}, but the listing of the log shows no commit: the log was lost, \
                     or the listings of this store are delayed. In the latter case, try again later"
                );
                Error::corrupt("_delta_log/_last_checkpoint", message).within(self.store.url())
            }
            _ => error,
        }
    }

    /// Returns whether checksums are ignored. One checksum that contradicts the log is enough to
    /// trust none.
    fn distrusts_checksums(&self) -> bool {
        self.unusable.iter().any(|name| name.ends_with(".crc"))
    }

    async fn segment(&mut self, from: Option<u64>) -> Result<LogSegment> {
        let mut listed = self.list(from).await?;
        // Some writers leave out removals from log compactions that an older checkpoint needs. The
        // commits contain the same actions and are present.
        listed.retain(|file| !file.path.is_compaction());
        if listed.is_empty() && from.is_none() {
            let message = format!("{}: there is no Delta table here (no commits in _delta_log)", self.store.url());
            return Err(Error::new(ErrorKind::TableNotFound, message));
        }
        let mut segment = segment::plan(&listed, self.target, &self.unusable).map_err(|error| error.within(self.store.url()))?;
        segment.checksum = segment.checksum.filter(|_| !self.distrusts_checksums());
        let is_newest = |file: &&ListedLogFile| file.path.is_commit() && file.path.version == segment.version;
        self.stamp = listed.iter().find(is_newest).map(CommitStamp::of);
        self.refuse_blank_commits(&listed, &segment).await?;
        if let Some(from) = from
            && segment.checkpoint.is_none()
        {
            return Err(Error::corrupt("_delta_log/_last_checkpoint", format!("no complete checkpoint at version {from}")));
        }
        Ok(segment)
    }

    /// Refuses empty commits. This check is necessary here because a checksum makes reading the
    /// commits unnecessary. Commits of zero bytes are refused at once. Commits that are too short
    /// for the content that every writer puts into a commit are read.
    async fn refuse_blank_commits(&self, listed: &[ListedLogFile], segment: &LogSegment) -> Result<()> {
        let short = |file: &&ListedLogFile| file.size < SHORTEST_COMMIT_BYTES && segment.commits.contains(&file.path);
        let short: Vec<&ListedLogFile> = listed.iter().filter(short).collect();
        if let Some(empty) = short.iter().find(|file| file.size == 0) {
            return Err(log::without_actions(&empty.path.name).within(self.store.url()));
        }
        if short.is_empty() {
            return Ok(());
        }
        let paths: Vec<LogPath> = short.into_iter().map(|file| file.path.clone()).collect();
        log::read_commits(self.store, &paths).try_for_each(|_| async { Ok(()) }).await
    }
}
