//! Writes V2 checkpoints: file actions in sidecars, and all other actions in a top file that names
//! the sidecars. PROTOCOL "V2 Spec".
//!
//! The top file is JSON lines, as Delta Spark writes it by default. It is read with one request,
//! and every reader of V2 checkpoints supports it.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt};
use lakebed_core::action::{Action, CheckpointMetadata, Protocol, Sidecar};
use lakebed_core::feature::supported_features;
use lakebed_core::log::checkpoint::columns;
use lakebed_core::log::checkpoint::write::CheckpointRows;
use lakebed_core::log::hint::{Hint, V2Hint};
use lakebed_core::log::segment::{CheckpointFiles, ListedLogFile};
use lakebed_core::path::{CheckpointKind, LogKind, LogPath, SIDECAR_DIR, checkpoint_name};
use lakebed_core::property::{CheckpointPolicy, TableProperties};
use lakebed_io::checkpoint::read_other_actions;
use lakebed_io::store::Existing;

use super::group_file::write_group;
use super::state::{CheckpointGroup, CheckpointState, groups_at_once};
use super::written::{WrittenCheckpoint, WrittenCounts, unread};
use crate::{Error, Result, Snapshot};

/// The most entries of a list in `_last_checkpoint`. Longer lists are left out, because this file
/// is read whenever the table is opened.
const MAX_HINTED: usize = 30;

/// The protocol's name of the feature that V2 checkpoints require.
const FEATURE: &str = "v2Checkpoint";

/// Returns whether a table with this protocol and these properties has V2 checkpoints.
pub(super) fn are_written(protocol: &Protocol, properties: &TableProperties) -> bool {
    properties.checkpoint_policy == CheckpointPolicy::V2 && supported_features(protocol).contains(&FEATURE)
}

pub(super) async fn write(snapshot: &Snapshot, rows: CheckpointRows, state: CheckpointState) -> Result<WrittenCheckpoint> {
    let others = state.others().to_vec();
    let (sidecars, mut summary) = write_sidecars(snapshot, Arc::new(rows), state).await?;
    let in_sidecars: i64 = sidecars.iter().map(|sidecar| sidecar.size_in_bytes).sum();
    let metadata = Action::CheckpointMetadata(checkpoint_metadata(snapshot.version(), in_sidecars, &summary)?);
    let named = sidecars.iter().cloned().map(Action::Sidecar);
    let top: Vec<Action> = std::iter::once(metadata.clone()).chain(named).chain(others.iter().cloned()).collect();
    let name = format!("{:020}.checkpoint.{}.json", snapshot.version(), snapshot.env().new_uuid());
    let size_bytes = write_top(snapshot, &name, &top).await?;
    for action in &top {
        *summary.counts.entry(kind(action).to_owned()).or_default() += 1;
    }
    let v2 = V2Hint {
        path: name.clone(),
        size_in_bytes: i64::try_from(size_bytes).ok(),
        modification_time: Some(snapshot.env().now_ms()),
        non_file_actions: Some(others.into_iter().chain([metadata]).collect()).filter(|all: &Vec<_>| all.len() <= MAX_HINTED),
        sidecar_files: Some(sidecars).filter(|all| all.len() <= MAX_HINTED),
    };
    let size_bytes = size_bytes + u64::try_from(in_sidecars).unwrap_or(0);
    Ok(WrittenCheckpoint { name, size_bytes, summary, hint: Hint { v2_checkpoint: Some(v2), ..Hint::default() } })
}

/// Writes each group as a sidecar.
async fn write_sidecars(
    snapshot: &Snapshot,
    rows: Arc<CheckpointRows>,
    state: CheckpointState,
) -> Result<(Vec<Sidecar>, WrittenCounts)> {
    let groups = state.groups(Vec::new()).enumerate();
    let written = groups.map(|(index, group)| {
        let (snapshot, rows) = (snapshot.clone(), Arc::clone(&rows));
        async move { write_sidecar(&snapshot, rows, index + 1, group?).await }
    });
    let mut written = pin!(written.buffered(groups_at_once()));
    let (mut sidecars, mut all) = (Vec::new(), WrittenCounts::default());
    while let Some((sidecar, summary)) = written.try_next().await? {
        all.add(&summary);
        sidecars.push(sidecar);
    }
    Ok((sidecars, all))
}

async fn write_sidecar(
    snapshot: &Snapshot,
    rows: Arc<CheckpointRows>,
    number: usize,
    group: CheckpointGroup,
) -> Result<(Sidecar, WrittenCounts)> {
    let store = snapshot.store();
    let name = format!("{:020}.checkpoint.{number:010}.{}.parquet", snapshot.version(), snapshot.env().new_uuid());
    let path = store.path_of(&format!("{SIDECAR_DIR}/{name}"))?;
    let schema = rows.sidecar_schema();
    let (size, summary) = write_group(store, (&path, Existing::Refuse), (rows, schema), group).await?;
    let size_in_bytes = i64::try_from(size).map_err(|_| Error::internal("the size of a sidecar does not fit in 64 bits"))?;
    Ok((Sidecar { path: name, size_in_bytes, modification_time: snapshot.env().now_ms(), tags: None }, summary))
}

/// Returns the `checkpointMetadata` action with the same tags as Delta Spark.
fn checkpoint_metadata(version: u64, in_sidecars: i64, summary: &WrittenCounts) -> Result<CheckpointMetadata> {
    let version = i64::try_from(version).map_err(|_| Error::internal("a version does not fit in 64 bits"))?;
    let count = |name: &str, value: String| (name.to_owned(), Some(value));
    let tags = HashMap::from([
        count("sidecarNumActions", summary.counts.values().sum::<u64>().to_string()),
        count("sidecarSizeInBytes", in_sidecars.to_string()),
        count("numOfAddFiles", summary.counts.get("add").copied().unwrap_or(0).to_string()),
    ]);
    Ok(CheckpointMetadata { version, tags: Some(tags) })
}

async fn write_top(snapshot: &Snapshot, name: &str, actions: &[Action]) -> Result<u64> {
    let mut text = String::new();
    for action in actions {
        text.push_str(&action.to_line()?);
        text.push('\n');
    }
    let store = snapshot.store();
    let (path, size) = (store.log_path(name)?, text.len() as u64);
    store.put_new(&path, text.into()).await?;
    let files = top_files(snapshot.version(), name, size)?;
    let found = read_other_actions(store, &files, columns::OTHERS).await;
    match found {
        Ok(found) if found == actions => Ok(size),
        Ok(_) => {
            Err(Error::internal(format!("{} was written, but its content differs from what was written", store.describe(&path))))
        }
        Err(error) => Err(unread(error, &store.describe(&path))),
    }
}

fn top_files(version: u64, name: &str, size: u64) -> Result<CheckpointFiles> {
    let path = LogPath::parse(name).ok_or_else(|| Error::internal(format!("{name} is not the name of a checkpoint")))?;
    let LogKind::Checkpoint(kind) = path.kind else { return Err(Error::internal(format!("{name} is not a checkpoint"))) };
    Ok(CheckpointFiles { version, kind, files: vec![ListedLogFile { path, size, modified_ms: 0, e_tag: None }] })
}

/// Returns the name of the action's column.
fn kind(action: &Action) -> &'static str {
    match action {
        Action::Protocol(_) => "protocol",
        Action::Metadata(_) => "metaData",
        Action::SetTransaction(_) => "txn",
        Action::DomainMetadata(_) => "domainMetadata",
        Action::CheckpointMetadata(_) => "checkpointMetadata",
        Action::Sidecar(_) => "sidecar",
        Action::Add(_) => "add",
        Action::Remove(_) => "remove",
        Action::Cdc(_) => "cdc",
        Action::CommitInfo(_) => "commitInfo",
    }
}

/// Writes the top of a V2 checkpoint again under a classic name and returns that name; None if it
/// already has a classic name.
///
/// Clients without support for V2 checkpoints then find a protocol that names the missing feature,
/// instead of no table at all: see PROTOCOL "V2 Checkpoint Table Feature". The cost does not depend
/// on the size of the table.
pub(crate) async fn write_compatible_top(snapshot: &Snapshot, files: &CheckpointFiles) -> Result<Option<String>> {
    if !matches!(files.kind, CheckpointKind::Uuid { .. }) {
        return Ok(None);
    }
    let store = snapshot.store();
    let actions = read_other_actions(store, files, columns::OTHERS).await?;
    let rows = snapshot.checkpoint_rows(&actions)?;
    let name = checkpoint_name(files.version);
    let path = store.log_path(&name)?;
    let (top, schema) = (CheckpointGroup::of(rows.others(&actions)?), rows.top_schema());
    write_group(store, (&path, Existing::Replace), (Arc::new(rows), schema), top).await?;
    Ok(Some(name))
}
