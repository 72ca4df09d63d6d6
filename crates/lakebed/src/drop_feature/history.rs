//! Deletes the versions that use a feature, if they are older than the retention period. Begin with
//! [`truncate`].

use std::collections::HashSet;
use std::pin::pin;

use futures::{StreamExt, TryStreamExt, stream};
use lakebed_core::action::json::{FileLine, Line, each_line};
use lakebed_core::action::{Action, Metadata};
use lakebed_core::feature::Feature;
use lakebed_core::feature::downgrade::CHECKPOINT_PROTECTION;
use lakebed_core::feature::upgrade::used_features;
use lakebed_core::log::segment::{self, CheckpointFiles, ListedLogFile, readable_versions};
use lakebed_core::path::{CheckpointKind, LogKind, LogPath};
use lakebed_core::property::{CheckpointPolicy, TableProperties};
use lakebed_core::schema::mapping::MappingMode;
use lakebed_core::schema::parse;
use lakebed_core::schema::widen::type_changes;
use lakebed_io::log;

use super::barrier::{checkpoint, checkpoint_of_new_version};
use super::prepare::is_v2;
use super::steps::Steps;
use crate::optimize::Reorg;
use crate::snapshot::load;
use crate::{Error, Result, Snapshot};

/// The number of log files that are read at a time.
const AT_ONCE: usize = 16;

/// Deletes the versions that use a feature. Returns the oldest version that is left, if versions
/// were deleted.
///
/// # Errors
/// If such versions are still within the retention period, or if a tag or a vacuum keeps them.
pub(super) async fn truncate(feature: &Feature, steps: &mut Steps<'_>) -> Result<Option<u64>> {
    let snapshot = steps.newest().await?;
    let Some(last) = last_use(feature, &snapshot).await? else { return Ok(None) };
    // Versions can be deleted up to a checkpoint, so there has to be one after the last use.
    if first_checkpoint_after(&snapshot, last).await?.is_none() {
        match snapshot.version() > last {
            true => checkpoint(&snapshot).await?,
            false => checkpoint_of_new_version(steps).await.map(drop)?,
        }
    }
    let snapshot = steps.newest().await?;
    let done = snapshot.truncate_log(snapshot.properties().drop_feature_retention_ms).await?;
    steps.metrics.deleted_log_files += done.log_files;
    match last_use(feature, &snapshot).await? {
        None => Ok(done.first_version),
        Some(last) => Err(still_used(feature, &snapshot, last).await?),
    }
}

/// Returns whether a commit after this version uses the feature.
pub(super) async fn is_used_after(feature: &Feature, snapshot: &Snapshot, version: u64) -> Result<bool> {
    for version in version + 1..=snapshot.version() {
        if commit_uses(feature, snapshot, LogPath::commit(version)).await?.1 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the last version that uses the feature, of those that can still be read.
async fn last_use(feature: &Feature, snapshot: &Snapshot) -> Result<Option<u64>> {
    let listed = log::list_log(snapshot.store(), None).await?;
    let is_older = |path: &&LogPath| path.is_commit() && path.version <= snapshot.version();
    let mut commits: Vec<LogPath> = listed.iter().map(|file| &file.path).filter(is_older).cloned().collect();
    commits.reverse();
    if feature.name == CHECKPOINT_PROTECTION {
        let protected_before = snapshot.properties().require_checkpoint_protection_before_version;
        return Ok(commits.into_iter().map(|path| path.version).find(|version| *version < protected_before));
    }
    let mut last = last_checkpoint_use(feature, snapshot, &listed).await?;
    let uses: Vec<_> = commits.into_iter().map(|path| commit_uses(feature, snapshot, path)).collect();
    let mut uses = pin!(stream::iter(uses).buffered(AT_ONCE));
    while let Some((version, is_used)) = uses.try_next().await? {
        if is_used {
            last = last.max(Some(version));
            break;
        }
    }
    if last.is_some() {
        return Ok(last);
    }
    // The state of the oldest version, and of versions that are kept, is in checkpoints alone.
    let oldest = readable_versions(&listed, &HashSet::new()).into_iter().next();
    for version in oldest.into_iter().chain(snapshot.kept_versions()?).filter(|version| *version < snapshot.version()) {
        match load(snapshot.store().clone(), snapshot.env().clone(), Some(version)).await {
            Ok(older) if state_uses(feature, &older).await? => last = last.max(Some(version)),
            Err(error) if !error.is_not_found() && !matches!(error.kind(), crate::ErrorKind::VersionNotFound) => {
                return Err(error);
            }
            _ => {}
        }
    }
    Ok(last)
}

/// Returns the last version with a V2 checkpoint, if the feature is that of V2 checkpoints.
async fn last_checkpoint_use(feature: &Feature, snapshot: &Snapshot, listed: &[ListedLogFile]) -> Result<Option<u64>> {
    if feature.name != "v2Checkpoint" {
        return Ok(None);
    }
    for file in listed.iter().rev() {
        if let LogKind::Checkpoint(kind @ (CheckpointKind::Classic | CheckpointKind::Uuid { .. })) = file.path.kind {
            let files = CheckpointFiles { version: file.path.version, kind, files: vec![file.clone()] };
            match is_v2(snapshot, &files).await {
                Ok(false) => {}
                Err(error) if error.is_not_found() => {}
                Ok(true) => return Ok(Some(files.version)),
                Err(error) => return Err(error),
            }
        }
    }
    Ok(None)
}

/// Returns the version of a commit, and whether one of its actions uses the feature. A commit that
/// was deleted meanwhile uses nothing.
async fn commit_uses(feature: &Feature, snapshot: &Snapshot, path: LogPath) -> Result<(u64, bool)> {
    let mut parts = pin!(log::read_commits(snapshot.store(), std::slice::from_ref(&path)));
    let mut is_used = false;
    loop {
        match parts.try_next().await {
            Ok(Some(part)) => each_line(part.part(), |line| {
                is_used = is_used || line_uses(feature, &line)?;
                Ok(())
            })?,
            Ok(None) => return Ok((path.version, is_used)),
            Err(error) if error.is_not_found() => return Ok((path.version, is_used)),
            Err(error) => return Err(error),
        }
    }
}

fn line_uses(feature: &Feature, line: &Line<'_>) -> Result<bool> {
    let is_of_vectors = feature.name == "deletionVectors";
    match line {
        Line::File(FileLine::Add(add)) => Ok(is_of_vectors && add.deletion_vector.is_some()),
        Line::File(FileLine::Remove(remove)) => Ok(is_of_vectors && remove.deletion_vector.is_some()),
        Line::Other(Action::Metadata(metadata)) => metadata_uses(feature, metadata),
        _ => Ok(false),
    }
}

fn metadata_uses(feature: &Feature, metadata: &Metadata) -> Result<bool> {
    let properties = TableProperties::parse(&metadata.configuration)?;
    let schema = parse(&metadata.schema_string)?;
    Ok(match feature.name {
        "deletionVectors" => properties.deletion_vectors,
        "columnMapping" => properties.column_mapping_mode != MappingMode::None,
        "typeWidening" | "typeWidening-preview" => !type_changes(&schema).is_empty(),
        "v2Checkpoint" => properties.checkpoint_policy == CheckpointPolicy::V2,
        "variantShredding" | "variantShredding-preview" => properties.variant_shredding,
        "variantType" | "variantType-preview" => used_features(&schema, &properties, false).contains("variantType"),
        "timestampNtz" | "timestampWithoutTimezone" => used_features(&schema, &properties, false).contains("timestampNtz"),
        _ => false,
    })
}

async fn state_uses(feature: &Feature, snapshot: &Snapshot) -> Result<bool> {
    match feature.name {
        "deletionVectors" if Reorg::DeletionVectors.is_needed(snapshot).await? => Ok(true),
        _ => metadata_uses(feature, snapshot.metadata()),
    }
}

/// Returns the first version after this one that has a checkpoint and a commit.
async fn first_checkpoint_after(snapshot: &Snapshot, version: u64) -> Result<Option<LogPath>> {
    let listed = log::list_log(snapshot.store(), None).await?;
    let commits = listed.iter().map(|file| &file.path).filter(|path| path.is_commit() && path.version > version);
    for path in commits.filter(|path| path.version <= snapshot.version()) {
        let checkpoint = segment::plan(&listed, Some(path.version), &HashSet::new())?.checkpoint;
        if checkpoint.is_some_and(|checkpoint| checkpoint.version == path.version) {
            return Ok(Some(path.clone()));
        }
    }
    Ok(None)
}

/// Returns the error for versions that must stay.
async fn still_used(feature: &Feature, snapshot: &Snapshot, last: u64) -> Result<Error> {
    let (name, url) = (feature.name, snapshot.url());
    let what = match name == CHECKPOINT_PROTECTION {
        true => format!("{url}: table feature {name}: versions up to {last} need features that were dropped"),
        false => {
            format!("{url}: table feature {name}: the newest version does not use it any more, but versions up to {last} do")
        }
    };
    let retention_ms = snapshot.properties().drop_feature_retention_ms;
    let ends_ms = match first_checkpoint_after(snapshot, last).await? {
        Some(path) => {
            let times = log::adjusted_times(&log::list_log(snapshot.store(), None).await?);
            let file_time_ms = times.iter().find(|(commit, _)| commit.version == path.version).map_or(0, |(_, time)| *time);
            // The retention period begins at a full minute.
            snapshot.time_ms(&path, file_time_ms).await?.saturating_add(retention_ms).saturating_add(60_000)
        }
        None => i64::MAX,
    };
    if ends_ms <= snapshot.env().now_ms() {
        let (tags, kept) = (snapshot.tags()?, snapshot.recorded_versions()?);
        if let Some(tag) = tags.iter().find(|tag| tag.version <= last) {
            let message = format!("{what}, and tag {:?} keeps version {}; drop the tag first", tag.name, tag.version);
            return Ok(Error::invalid_input(message));
        }
        if let Some(version) = kept.first().filter(|version| **version <= last) {
            let message = format!("{what}, and the last vacuum keeps version {version}; vacuum without keep_versions first");
            return Ok(Error::invalid_input(message));
        }
    }
    let when = chrono::DateTime::from_timestamp_millis(ends_ms).map(|time| time.format("%Y-%m-%dT%H:%M:%SZ").to_string());
    let when = when.map_or_else(String::new, |when| format!("; run the same call after {when}"));
    let instead = match name == CHECKPOINT_PROTECTION {
        true => "",
        false => ". Without truncate_history the feature can be dropped now, and these versions stay",
    };
    Ok(Error::invalid_input(format!(
        "{what}. They can be deleted when they are older than {} hours (delta.dropFeatureTruncateHistory.retentionDuration){when}{instead}",
        retention_ms / 3_600_000
    )))
}
