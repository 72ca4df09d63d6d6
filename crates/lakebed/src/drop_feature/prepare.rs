//! Brings a table to a state in which its newest version does not use a feature. Begin with
//! [`prepare`].
//!
//! The property that enables a feature is unset first, so that other writers do not begin to use the
//! feature again.

use futures::TryStreamExt;
use lakebed_core::action::{Action, Add, DomainMetadata, Metadata};
use lakebed_core::commit::info::Operation;
use lakebed_core::feature::Feature;
use lakebed_core::log::checkpoint::columns;
use lakebed_core::log::segment::CheckpointFiles;
use lakebed_core::path::CheckpointKind;
use lakebed_core::property::CheckpointPolicy;
use lakebed_core::schema::mapping::MappingMode;
use lakebed_core::schema::widen::{type_changes, without_type_changes};
use lakebed_core::schema::{DataType, StructField};
use lakebed_io::checkpoint;
use serde_json::{Value, json};

use super::steps::Steps;
use super::{unmapped, vectors};
use crate::alter::AlterChange;
use crate::checkpoint::other_actions;
use crate::clustering::column_name;
use crate::definition::has_mapping;
use crate::optimize::{Reorg, reorg};
use crate::scan::plan::{Plan, PlanOptions};
use crate::transaction::Transaction;
use crate::{Result, Snapshot};

/// The properties that record since when a table has in-commit timestamps.
const ICT_ENABLEMENT: [&str; 2] = ["delta.inCommitTimestampEnablementTimestamp", "delta.inCommitTimestampEnablementVersion"];

/// The most files of one commit that removes row ids, as in Delta Spark.
const FILES_AT_ONCE: usize = 100_000;

/// Returns whether a version uses the feature.
pub(super) async fn is_used(feature: &Feature, snapshot: &Snapshot) -> Result<bool> {
    let properties = snapshot.properties();
    Ok(match feature.name {
        "deletionVectors" => properties.deletion_vectors || Reorg::DeletionVectors.is_needed(snapshot).await?,
        "columnMapping" => snapshot.mapping_mode() != MappingMode::None || has_mapping(snapshot.schema()),
        "typeWidening" | "typeWidening-preview" => properties.type_widening || !type_changes(snapshot.schema()).is_empty(),
        "variantShredding" | "variantShredding-preview" => {
            properties.variant_shredding || Reorg::ShreddedVariants.is_needed(snapshot).await?
        }
        "rowTracking" => {
            properties.row_tracking || !properties.row_tracking_suspended || !files_with_row_ids(snapshot, 1).await?.is_empty()
        }
        "v2Checkpoint" => {
            properties.checkpoint_policy == CheckpointPolicy::V2
                || match &snapshot.segment().checkpoint {
                    Some(files) => is_v2(snapshot, files).await?,
                    None => false,
                }
        }
        "inCommitTimestamp" => {
            properties.in_commit_timestamps || ICT_ENABLEMENT.iter().any(|name| snapshot.metadata().property(name).is_some())
        }
        "domainMetadata" => !domains(snapshot).await?.is_empty(),
        _ => false,
    })
}

/// Makes the commits after which the newest version does not use the feature.
pub(super) async fn prepare(feature: &Feature, steps: &mut Steps<'_>) -> Result<()> {
    let snapshot = steps.newest().await?;
    match feature.name {
        "deletionVectors" => {
            if is_used(feature, &snapshot).await? {
                steps.unset(&["delta.enableDeletionVectors"]).await?;
                rewrite(steps, Reorg::DeletionVectors).await?;
            }
            let snapshot = steps.newest().await?;
            vectors::keep_files(steps, &snapshot).await
        }
        "columnMapping" if is_used(feature, &snapshot).await? => unmapped::remove_mapping(steps, &snapshot).await,
        "typeWidening" | "typeWidening-preview" if is_used(feature, &snapshot).await? => {
            steps.unset(&["delta.enableTypeWidening"]).await?;
            remove_type_changes(steps).await
        }
        "variantShredding" | "variantShredding-preview" if is_used(feature, &snapshot).await? => {
            steps.unset(&["delta.enableVariantShredding"]).await?;
            rewrite(steps, Reorg::ShreddedVariants).await.map(drop)
        }
        "rowTracking" => remove_row_ids(steps, &snapshot).await,
        "v2Checkpoint" if snapshot.properties().checkpoint_policy == CheckpointPolicy::V2 => {
            steps.alter(properties([("delta.checkpointPolicy", "classic")])).await
        }
        "inCommitTimestamp" if is_used(feature, &snapshot).await? => {
            if snapshot.properties().in_commit_timestamps {
                steps.alter(properties([("delta.enableInCommitTimestamps", "false")])).await?;
            }
            steps.unset(&ICT_ENABLEMENT).await
        }
        "domainMetadata" => remove_domains(steps, &snapshot).await,
        _ => Ok(()),
    }
}

fn properties<const N: usize>(properties: [(&str, &str); N]) -> AlterChange {
    let owned = properties.map(|(name, value)| (name.to_owned(), value.to_owned()));
    AlterChange::SetProperties { properties: owned.into() }
}

/// Rewrites files until none is left to rewrite. Returns the version without them.
async fn rewrite(steps: &mut Steps<'_>, which: Reorg) -> Result<Snapshot> {
    loop {
        let snapshot = steps.newest().await?;
        let done = reorg(steps.table, &snapshot, which, &steps.settings()).await?;
        if done.groups == 0 && done.lost_groups == 0 {
            return Ok(snapshot);
        }
        steps.metrics.commits += u64::from(done.groups > 0);
        steps.metrics.removed_files += done.removed_files;
        steps.metrics.added_files += done.added_files;
        steps.metrics.deletion_vectors_removed += done.deletion_vectors_removed;
    }
}

/// Rewrites files with old types, and removes the history of types from the schema. Another writer's
/// change of the schema or of properties in between is a conflict, and other writers only write new
/// types.
async fn remove_type_changes(steps: &mut Steps<'_>) -> Result<()> {
    if type_changes(steps.newest().await?.schema()).is_empty() {
        return Ok(());
    }
    let snapshot = rewrite(steps, Reorg::OldTypes).await?;
    let changed = type_changes(snapshot.schema());
    if changed.is_empty() {
        return Ok(());
    }
    let metadata = Metadata { schema_string: without_type_changes(snapshot.schema()).to_json(), ..snapshot.metadata().clone() };
    let mut transaction = Transaction::begin(&snapshot, steps.settings()).await?;
    transaction.set_metadata(metadata);
    let columns: Vec<Value> = changed.iter().map(|(path, field)| in_history(path, field)).collect();
    let operation = Operation::new("DROP FEATURE").with("columns", Value::from(columns).to_string());
    steps.commit(transaction, operation).await.map(drop)
}

/// Returns a column as Delta Spark writes it to the history.
fn in_history(path: &[String], field: &StructField) -> Value {
    let data_type = match &field.data_type {
        DataType::Primitive(primitive) => primitive.to_string(),
        DataType::Struct(_) => "struct".to_owned(),
        DataType::Array(_) => "array".to_owned(),
        DataType::Map(_) => "map".to_owned(),
    };
    json!({ "name": column_name(path), "type": data_type, "nullable": field.nullable, "metadata": field.metadata })
}

/// Turns row tracking off, and removes the row ids of files from the log.
async fn remove_row_ids(steps: &mut Steps<'_>, snapshot: &Snapshot) -> Result<()> {
    if snapshot.properties().row_tracking || !snapshot.properties().row_tracking_suspended {
        let off = properties([("delta.enableRowTracking", "false"), ("delta.rowTrackingSuspended", "true")]);
        steps.alter(off).await?;
    }
    loop {
        let snapshot = steps.newest().await?;
        let files = files_with_row_ids(&snapshot, FILES_AT_ONCE).await?;
        if files.is_empty() {
            return Ok(());
        }
        let plain = |add| Add { base_row_id: None, default_row_commit_version: None, data_change: false, ..add };
        let mut transaction = Transaction::begin(&snapshot, steps.settings()).await?;
        transaction.add_again(files.into_iter().map(plain));
        let operation = Operation::new("ROW TRACKING UNBACKFILL").with("batchId", "0");
        steps.commit(transaction, operation).await?;
    }
}

/// Returns files with row ids, at most this many.
async fn files_with_row_ids(snapshot: &Snapshot, most: usize) -> Result<Vec<Add>> {
    let plan = Plan::new(snapshot, None, PlanOptions { whole_actions: true, ..PlanOptions::default() })?;
    let mut batches = plan.files();
    let mut files = Vec::new();
    while let Some(batch) = batches.try_next().await? {
        let has_ids = |add: &Add| add.base_row_id.is_some() || add.default_row_commit_version.is_some();
        files.extend(batch.to_adds()?.into_iter().filter(has_ids));
        if files.len() >= most {
            files.truncate(most);
            break;
        }
    }
    Ok(files)
}

async fn domains(snapshot: &Snapshot) -> Result<Vec<DomainMetadata>> {
    let actions = other_actions(snapshot).await?;
    let domain = |action| match action {
        Action::DomainMetadata(domain) => Some(domain),
        _ => None,
    };
    Ok(actions.into_iter().filter_map(domain).collect())
}

/// Removes the domains that other writers left. Those of features are gone, because these features
/// were dropped before.
async fn remove_domains(steps: &mut Steps<'_>, snapshot: &Snapshot) -> Result<()> {
    let domains = domains(snapshot).await?;
    if domains.is_empty() {
        return Ok(());
    }
    let operation = Operation::new("DOMAIN METADATA CLEANUP").with("domainMetadataRemovedCount", domains.len() as u64);
    let mut transaction = Transaction::begin(snapshot, steps.settings()).await?;
    domains.into_iter().for_each(|domain| transaction.set_domain(DomainMetadata { removed: true, ..domain }));
    steps.commit(transaction, operation).await.map(drop)
}

/// Returns whether a checkpoint is a V2 checkpoint. Such a checkpoint may have the name of a classic
/// one.
pub(super) async fn is_v2(snapshot: &Snapshot, files: &CheckpointFiles) -> Result<bool> {
    match files.kind {
        CheckpointKind::Uuid { .. } => Ok(true),
        CheckpointKind::MultiPart { .. } => Ok(false),
        CheckpointKind::Classic => {
            let actions = checkpoint::read_other_actions(snapshot.store(), files, columns::SIDECARS).await?;
            Ok(actions.iter().any(|action| matches!(action, Action::CheckpointMetadata(_) | Action::Sidecar(_))))
        }
    }
}
