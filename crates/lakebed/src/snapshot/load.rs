//! From a place to a snapshot: the hint, the listing, the files that make the version, its protocol and metadata.
//!
//! Hints, checkpoints and checksums are disposable. Whatever of them is missing, stale, torn or lying is passed over, with one
//! warning for all of it; only the commits themselves cannot be replaced.

use std::collections::HashSet;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use futures::TryStreamExt;
use lakebed_core::log::segment::{self, LogSegment};
use lakebed_core::path::{LogKind, LogPath};
use lakebed_core::{Error, ErrorKind, Result};
use lakebed_io::env::Env;
use lakebed_io::log::{self, ListedLogFile};
use lakebed_io::store::Store;
use tokio::sync::OnceCell;

use super::head::{HeadFailure, ReadHead, read_head};
use super::{CommitStamp, Inner, Snapshot};

/// As long as `{"commitInfo":{}}`.
const SHORTEST_COMMIT_BYTES: u64 = 17;

/// The version `target`, or the latest one.
pub(crate) async fn load(store: Store, env: Env, target: Option<u64>) -> Result<Snapshot> {
    load_without(store, env, target, HashSet::new()).await
}

/// The same without the checkpoints that were found to be unusable.
pub(super) async fn load_without(store: Store, env: Env, target: Option<u64>, unusable: HashSet<String>) -> Result<Snapshot> {
    let mut load = Load { store: &store, target, hinted: None, unusable, stamp: None, notes: Vec::new() };
    let (segment, read) = load.run().await?;
    if !load.notes.is_empty() {
        tracing::warn!(table = store.url(), "{}: read past damage in the log: {}", store.url(), load.notes.join("; "));
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
        }),
    })
}

struct Load<'a> {
    store: &'a Store,
    target: Option<u64>,
    /// Which version the hint names.
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
                // A store that fails tells nothing about the hint.
                Err(error) if from.is_some() && !matches!(error.kind(), ErrorKind::Store { .. }) => {
                    self.notes.push(format!("_last_checkpoint leads nowhere ({})", error.message()));
                    from = None;
                    continue;
                }
                Err(error) => return Err(self.held_against_hint(error)),
            };
            match read_head(self.store, &segment, &mut self.notes).await {
                Ok(head) => return Ok((segment, head)),
                // A clean-up took commits since they were listed. What takes their place is listed now, if there is anything.
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

    /// The files of the log from a version on, or all of them.
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

    /// Where the listing may start: at the hint's checkpoint, if it is not younger than the target.
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

    /// Where there is a hint there is a table, though nothing of it is listed: whoever believes otherwise makes another one in its place.
    fn held_against_hint(&self, error: Error) -> Error {
        match self.hinted {
            Some(version) if *error.kind() == ErrorKind::TableNotFound => {
                let message = format!(
                    "it names a checkpoint of version {version}, but no commit is listed: either the log is lost, or the store's listings \
                     lag behind; then try again"
                );
                Error::corrupt("_delta_log/_last_checkpoint", message).within(self.store.url())
            }
            _ => error,
        }
    }

    /// One checksum that contradicts the log is reason enough to believe none.
    fn distrusts_checksums(&self) -> bool {
        self.unusable.iter().any(|name| name.ends_with(".crc"))
    }

    async fn segment(&mut self, from: Option<u64>) -> Result<LogSegment> {
        let mut listed = self.list(from).await?;
        // Some writers drop removes from compactions that an older checkpoint still needs; the commits say the same and are there.
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

    /// Seen here, since a checksum saves the reading of commits: those without a byte, and those that are too short for what every writer
    /// puts into a commit, which are read.
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
