//! The commits above the checkpoint: what they say of the table, folded into layers. Large ones are never in memory as a whole.

use std::pin::pin;

use futures::{Stream, TryStreamExt, stream};
use lakebed_core::action::json::each_other;
use lakebed_core::action::{Action, CommitInfo, Metadata, Protocol};
use lakebed_core::log::replay::{Fold, Layer, Layers};
use lakebed_core::path::LogPath;
use lakebed_core::{Error, Result};
use lakebed_io::log::{self, CommitPart};
use lakebed_io::store::Store;
use tokio::sync::mpsc;

use super::Snapshot;

/// So many bytes of commits that opening read are kept for [`Snapshot::layers`]; more are read again.
const KEPT_BYTES: usize = 32 << 20;

/// Parts of commits that were read ahead of the fold.
const AHEAD: usize = 2;

/// What commits say that opening has to know.
pub(super) struct ReadCommits {
    /// The newest, if they set one.
    pub protocol: Option<Protocol>,
    /// The newest, if they set one.
    pub metadata: Option<Metadata>,
    /// All of them, newest commit first, if they are few bytes.
    pub parts: Option<Vec<CommitPart>>,
}

impl ReadCommits {
    /// Reads commits that come newest first, until the newest protocol and metadata are known and there is nothing to keep.
    pub(super) async fn read(store: &Store, paths: &[LogPath]) -> Result<Self> {
        let mut read = Self { protocol: None, metadata: None, parts: Some(Vec::new()) };
        let mut bytes = 0;
        // Of the commit that is being read.
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

/// The `commitInfo` of a commit, of which no more is read than that takes.
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

/// Folds commits that come newest first: those that were kept, or else those of the paths.
pub(super) async fn fold(store: &Store, kept: Option<Vec<CommitPart>>, paths: &[LogPath]) -> Result<Layer> {
    match kept {
        Some(parts) => fold_parts(stream::iter(parts.into_iter().map(Ok))).await,
        None => fold_parts(log::read_commits(store, paths)).await,
    }
}

async fn fold_parts(parts: impl Stream<Item = Result<CommitPart>>) -> Result<Layer> {
    let (sender, mut receiver) = mpsc::channel::<CommitPart>(AHEAD);
    let work = tokio::task::spawn_blocking(move || {
        let mut fold = Fold::onto(Layer::default());
        while let Some(part) = receiver.blocking_recv() {
            fold.read(part.part())?;
            if part.is_last {
                fold.end_commit()?;
            }
        }
        fold.finish()
    });
    let mut parts = pin!(parts);
    let read = async {
        while let Some(part) = parts.try_next().await? {
            // The fold has ended early: it says why.
            if sender.send(part).await.is_err() {
                break;
            }
        }
        Ok(())
    };
    let read: Result<()> = read.await;
    drop(sender);
    let layer = work.await.map_err(|error| Error::internal("folding commits").with_source(error))?;
    read.and(layer)
}

impl Snapshot {
    /// What the commits above the checkpoint say; read once.
    pub(crate) async fn layers(&self) -> Result<&Layers> {
        self.inner
            .layers
            .get_or_try_init(|| async {
                let kept = self.inner.read_commits.lock().ok().and_then(|mut kept| kept.take());
                Ok(Layers::new(fold(self.store(), kept, &self.segment().commits).await?))
            })
            .await
    }
}
