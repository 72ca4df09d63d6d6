//! Writes a classic checkpoint: one file that is named by its version.

use std::pin::pin;
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt};
use lakebed_core::log::checkpoint::write::CheckpointRows;
use lakebed_core::log::hint::Hint;
use lakebed_core::path::checkpoint_name;
use lakebed_io::checkpoint::{CheckpointFile, count_rows};
use lakebed_io::store::{Existing, Store};
use object_store::path::Path;

use super::state::{CheckpointState, groups_at_once};
use super::written::{WrittenCheckpoint, WrittenCounts};
use crate::{Result, Snapshot};

pub(super) async fn write(snapshot: &Snapshot, rows: CheckpointRows, state: CheckpointState) -> Result<WrittenCheckpoint> {
    let store = snapshot.store();
    let name = checkpoint_name(snapshot.version());
    let path = store.log_path(&name)?;
    let mut file = CheckpointFile::begin(store, &path, rows.classic_schema(), Existing::Replace).await?;
    let summary = match append_all(&mut file, Arc::new(rows), state).await {
        Ok(summary) => summary,
        Err(error) => {
            file.abort().await;
            return Err(error);
        }
    };
    publish(store, file, (name, path), summary).await
}

/// Makes a complete file visible and reads it again.
pub(super) async fn publish(
    store: &Store,
    file: CheckpointFile,
    (name, path): (String, Path),
    summary: WrittenCounts,
) -> Result<WrittenCheckpoint> {
    let size_bytes = file.finish().await?;
    let found = count_rows(store, &path).await;
    // Another writer may have replaced the file with its own checkpoint of this version. That
    // checkpoint may have fewer tombstones.
    let is_ours = store.head(&path).await.is_ok_and(|found| found.size == size_bytes);
    let has_our_files = found.as_ref().is_ok_and(|found| found.get("add") == summary.counts.get("add"));
    if is_ours || !has_our_files {
        summary.check(found, &store.describe(&path))?;
    }
    Ok(WrittenCheckpoint { name, size_bytes, summary, hint: Hint::default() })
}

async fn append_all(file: &mut CheckpointFile, rows: Arc<CheckpointRows>, state: CheckpointState) -> Result<WrittenCounts> {
    let first = rows.others(state.others())?;
    let encoders = file.encoders();
    let encoded = state.groups(first).map(|group| {
        let (encoder, rows) = (encoders.begin(), Arc::clone(&rows));
        async move { group?.encode(rows, encoder?).await }
    });
    let mut encoded = pin!(encoded.buffered(groups_at_once()));
    let mut summary = WrittenCounts::default();
    while let Some((row_group, of_group)) = encoded.try_next().await? {
        summary.add(&of_group);
        file.append(row_group).await?;
    }
    Ok(summary)
}
