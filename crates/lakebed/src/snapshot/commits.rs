//! The commits above the checkpoint, folded into layers.

use bytes::Bytes;
use lakebed_core::Result;
use lakebed_core::action::json::each_other;
use lakebed_core::action::{Action, CommitInfo, Metadata, Protocol};
use lakebed_core::log::replay::{Layer, Layers};
use lakebed_io::log;

use super::Snapshot;

/// The newest protocol and metadata among commits that come newest first.
pub(super) fn newest_head_actions(commits: &[(String, Bytes)]) -> Result<(Option<Protocol>, Option<Metadata>)> {
    let (mut protocol, mut metadata) = (None, None);
    for (name, bytes) in commits {
        let (mut own_protocol, mut own_metadata) = (None, None);
        each_other(bytes, name, |action| {
            match action {
                Action::Protocol(found) => own_protocol = Some(found),
                Action::Metadata(found) => own_metadata = Some(found),
                _ => {}
            }
            Ok(())
        })?;
        protocol = protocol.or(own_protocol);
        metadata = metadata.or(own_metadata);
        if protocol.is_some() && metadata.is_some() {
            break;
        }
    }
    Ok((protocol, metadata))
}

/// The `commitInfo` of a commit.
pub(crate) fn commit_info(commit: &[u8], name: &str) -> Result<Option<CommitInfo>> {
    let mut info = None;
    each_other(commit, name, |action| {
        if let Action::CommitInfo(found) = action {
            info.get_or_insert(found);
        }
        Ok(())
    })?;
    Ok(info)
}

/// Folds commits that come newest first.
pub(super) fn fold(commits: Vec<(String, Bytes)>) -> Result<Layer> {
    let mut layer = Layer::default();
    for (name, bytes) in commits {
        layer.fold_older(&bytes, &name)?;
    }
    Ok(layer)
}

impl Snapshot {
    /// What the commits above the checkpoint say; read once.
    pub(crate) async fn layers(&self) -> Result<&Layers> {
        self.inner
            .layers
            .get_or_try_init(|| async {
                let mut commits = self.inner.read_commits.lock().map(|mut read| std::mem::take(&mut *read)).unwrap_or_default();
                if commits.len() != self.segment().commits.len() {
                    commits = log::read_commits(self.store(), &self.segment().commits).await?;
                }
                let fold = tokio::task::spawn_blocking(move || fold(commits));
                let layer = fold.await.map_err(|error| lakebed_core::Error::internal("folding commits").with_source(error))??;
                Ok(Layers::new(layer))
            })
            .await
    }
}
