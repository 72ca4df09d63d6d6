//! Reads the commits above the checkpoint and folds their actions into layers. A large commit is
//! never in memory as a whole.

use std::pin::pin;
use std::thread::available_parallelism;

use futures::{Stream, StreamExt, TryStreamExt, stream};
use lakebed_core::action::json::each_other;
use lakebed_core::action::{Action, CommitInfo, Metadata, Protocol};
use lakebed_core::log::replay::{Layer, Layers};
use lakebed_core::path::LogPath;
use lakebed_core::{Error, Result};
use lakebed_io::log::{self, CommitPart};
use lakebed_io::store::Store;

use super::Snapshot;

/// The most bytes of commits that are kept from opening for [`Snapshot::layers`]. The layers keep
/// the files of as many bytes of commits.
pub(super) const KEPT_BYTES: usize = 32 << 20;

/// The approximate bytes of commits that are folded in one run.
const RUN_BYTES: usize = 1 << 20;

/// The actions of commits that are needed to open a version.
pub(super) struct ReadCommits {
    /// The newest protocol, if a commit sets one.
    pub protocol: Option<Protocol>,
    /// The newest metadata, if a commit sets it.
    pub metadata: Option<Metadata>,
    /// All commits, newest first, if they are small enough to keep.
    pub parts: Option<Vec<CommitPart>>,
}

impl ReadCommits {
    /// Reads commits that are in memory, newest first.
    pub(super) fn of_parts(parts: Vec<CommitPart>) -> Result<Self> {
        let mut read = Self { protocol: None, metadata: None, parts: None };
        for part in &parts {
            // The later parts of one commit would be the newer ones, but no commit sets either
            // action twice.
            each_other(part.part(), |action| {
                match action {
                    Action::Protocol(found) => drop(read.protocol.get_or_insert(found)),
                    Action::Metadata(found) => drop(read.metadata.get_or_insert(found)),
                    _ => {}
                }
                Ok(())
            })?;
        }
        read.parts = Some(parts);
        Ok(read)
    }

    /// Reads commits, newest first, until the newest protocol and metadata are known and the
    /// commits are too large to keep.
    pub(super) async fn read(store: &Store, paths: &[LogPath]) -> Result<Self> {
        let mut read = Self { protocol: None, metadata: None, parts: Some(Vec::new()) };
        let mut bytes = 0;
        // The protocol and metadata of the commit that is being read.
        let (mut protocol, mut metadata) = (None, None);
        let mut parts = pin!(log::read_commits(store, paths));
        while let Some(part) = parts.try_next().await? {
            if read.protocol.is_none() || read.metadata.is_none() {
                each_other(part.part(), |action| {
                    match action {
                        Action::Protocol(found) => protocol = Some(found),
                        Action::Metadata(found) => metadata = Some(found),
                        _ => {}
                    }
                    Ok(())
                })?;
            }
            let has_both = (protocol.is_some() || read.protocol.is_some()) && (metadata.is_some() || read.metadata.is_some());
            bytes += part.lines.len();
            let is_last = part.is_last;
            match &mut read.parts {
                Some(parts) if bytes <= KEPT_BYTES => parts.push(part),
                _ => read.parts = None,
            }
            if is_last || (has_both && read.parts.is_none()) {
                read.protocol = read.protocol.or(protocol.take());
                read.metadata = read.metadata.or(metadata.take());
            }
            if read.parts.is_none() && read.protocol.is_some() && read.metadata.is_some() {
                break;
            }
        }
        Ok(read)
    }
}

/// Returns the `commitInfo` of a commit, and reads no more of the commit than necessary.
pub(crate) async fn commit_info(store: &Store, path: &LogPath) -> Result<Option<CommitInfo>> {
    let mut parts = pin!(log::read_commits(store, std::slice::from_ref(path)));
    while let Some(part) = parts.try_next().await? {
        let mut info = None;
        each_other(part.part(), |action| {
            if let Action::CommitInfo(found) = action {
                info.get_or_insert(found);
            }
            Ok(())
        })?;
        if info.is_some() {
            return Ok(info);
        }
    }
    Ok(None)
}

/// Folds commits, newest first: the commits that were already read, or else those of the paths. For
/// the first `kept_bytes`, the files are kept. For the other commits, only their positions in the
/// log are kept.
pub(super) async fn fold(store: &Store, read: Option<Vec<CommitPart>>, paths: &[LogPath], kept_bytes: usize) -> Result<Layer> {
    // From a web server, a part of a file may cost as much as the whole file.
    let kept_bytes = if store.is_web() { usize::MAX } else { kept_bytes };
    match read {
        Some(parts) => fold_parts(stream::iter(parts.into_iter().map(Ok)), kept_bytes).await,
        None => fold_parts(log::read_commits(store, paths), kept_bytes).await,
    }
}

async fn fold_parts(parts: impl Stream<Item = Result<CommitPart>> + Send, kept_bytes: usize) -> Result<Layer> {
    let folded = runs(parts).map_ok(|run| async move {
        let is_kept = run.bytes_before < kept_bytes;
        let work = tokio::task::spawn_blocking(move || Ok((run.ends_commit(), run.fold(is_kept)?)));
        work.await.map_err(|error| Error::internal("folding commits").with_source(error))?
    });
    let mut folded = pin!(folded.try_buffered(runs_at_once()));
    let (mut layer, mut commit) = (Layer::default(), Layer::default());
    while let Some((ends_commit, run)) = folded.try_next().await? {
        // The runs of one commit come in the order of its lines, so the older lines come first.
        commit = run.above(commit)?;
        if ends_commit {
            layer = layer.above(std::mem::take(&mut commit))?;
        }
    }
    Ok(layer)
}

/// Returns the number of runs of commits, of some megabytes each, that are processed at a time.
pub(crate) fn runs_at_once() -> usize {
    available_parallelism().map_or(1, usize::from).min(8)
}

/// The commits that are folded together: a few whole commits, or a part of a large one.
struct CommitRun {
    parts: Vec<CommitPart>,
    /// The number of bytes that were read before these parts.
    bytes_before: usize,
}

impl CommitRun {
    fn fold(&self, is_kept: bool) -> Result<Layer> {
        let parts = self.parts.iter().map(CommitPart::part);
        match is_kept {
            true => Layer::fold(parts),
            false => Layer::fold_keys(parts, self.parts.iter().map(CommitPart::place).collect()),
        }
    }

    fn ends_commit(&self) -> bool {
        self.parts.last().is_none_or(|part| part.is_last)
    }
}

fn runs(parts: impl Stream<Item = Result<CommitPart>> + Send) -> impl Stream<Item = Result<CommitRun>> + Send {
    stream::try_unfold((Box::pin(parts.peekable()), 0), |(mut parts, bytes_before)| async move {
        let Some(first) = parts.try_next().await? else { return Ok(None) };
        let (joins_others, mut bytes) = (first.is_whole(), first.lines.len());
        let mut run = vec![first];
        let fits = |next: &CommitPart, bytes: usize| joins_others && next.is_whole() && bytes + next.lines.len() <= RUN_BYTES;
        while let Some(next) = parts.as_mut().next_if(|next| next.as_ref().is_ok_and(|next| fits(next, bytes))).await {
            let next = next?;
            bytes += next.lines.len();
            run.push(next);
        }
        Ok(Some((CommitRun { parts: run, bytes_before }, (parts, bytes_before + bytes))))
    })
}

impl Snapshot {
    /// Returns the layers of the commits above the checkpoint, if they were already read.
    pub(crate) fn known_layers(&self) -> Option<&Layers> {
        self.inner.layers.get()
    }

    /// Returns the layers of the commits above the checkpoint. They are read once.
    pub(crate) async fn layers(&self) -> Result<&Layers> {
        self.inner
            .layers
            .get_or_try_init(|| async {
                let kept = self.inner.read_commits.lock().ok().and_then(|mut kept| kept.take());
                Ok(Layers::new(fold(self.store(), kept, &self.segment().commits, KEPT_BYTES).await?))
            })
            .await
    }
}

#[cfg(test)]
mod tests;
