//! Runs a drop of a table feature. Begin with [`run`].

use lakebed_core::action::{DomainMetadata, Metadata};
use lakebed_core::commit::base::ROW_TRACKING_DOMAIN;
use lakebed_core::commit::info::Operation;
use lakebed_core::error::ConflictKind;
use lakebed_core::feature::downgrade::{PROTECTED_BEFORE, without};
use lakebed_core::feature::{Feature, check_write};
use lakebed_core::schema::mapping::DROPPED_OR_RENAMED;

use super::options::DropFeatureOptions;
use super::outcome::{DropFeatureMetrics, DropFeatureOutcome};
use super::prepare::{is_used, prepare};
use super::steps::Steps;
use super::{barrier, history, known, obstacles};
use crate::clustering::CLUSTERING_DOMAIN;
use crate::transaction::Transaction;
use crate::transaction::retry::{Retry, Retryable};
use crate::{Error, ErrorKind, Result, Snapshot, Table};

pub(super) async fn run(table: &Table, name: &str, options: &DropFeatureOptions) -> Result<DropFeatureOutcome> {
    table.refuse_in_transaction("dropping a table feature")?;
    let mut steps = Steps { table, options, metrics: DropFeatureMetrics::default() };
    let mut retry = Retry::new(table.env(), &steps.settings(), Retryable::all());
    let mut progress = Progress::default();
    loop {
        match attempt(&mut steps, name, &mut progress).await {
            Ok(outcome) => return Ok(outcome),
            Err(error) => retry.again(error).await?,
        }
    }
}

/// The work that need not be done again after a conflict.
#[derive(Default)]
struct Progress {
    /// The version from which on no version used the feature when its checkpoint was written.
    separated_at: Option<u64>,
    /// The oldest version that is left, if older ones were deleted.
    first_version: Option<u64>,
}

async fn attempt(steps: &mut Steps<'_>, name: &str, progress: &mut Progress) -> Result<DropFeatureOutcome> {
    let snapshot = steps.newest().await?;
    let url = snapshot.url().to_owned();
    let located = |error: Error| if error.message().starts_with(&url) { error } else { error.within(&url) };
    check_write(snapshot.protocol(), snapshot.url())?;
    let feature = check(steps, name, &snapshot).await.map_err(located)?;
    prepare(feature, steps).await.map_err(located)?;
    let truncates = steps.options.truncate_history;
    if truncates {
        progress.first_version = history::truncate(feature, steps).await.map_err(located)?.or(progress.first_version);
    } else if feature.concerns_readers() && progress.separated_at.is_none() {
        progress.separated_at = Some(barrier::raise(steps).await?);
    }
    // A fresh snapshot is based on the newest checkpoint.
    let newest = steps.newest().await?;
    let newest = steps.table.snapshot_at(newest.version()).await?.by_log().await?;
    check(steps, name, &newest).await.map_err(located)?;
    let is_used_since = match progress.separated_at {
        Some(version) => history::is_used_after(feature, &newest, version).await?,
        None => false,
    };
    if is_used_since || is_used(feature, &newest).await? {
        progress.separated_at = None;
        return Err(used_again(feature, &newest));
    }
    commit(steps, feature, &newest, progress).await
}

/// Returns the feature, if it may be dropped from this version.
async fn check(steps: &Steps<'_>, name: &str, snapshot: &Snapshot) -> Result<&'static Feature> {
    let feature = known::find(name, snapshot)?;
    known::check(feature, steps.options.truncate_history, snapshot)?;
    obstacles::check(feature, snapshot).await?;
    Ok(feature)
}

/// Commits the protocol without the feature, directly on top of this version.
async fn commit(steps: &mut Steps<'_>, feature: &Feature, newest: &Snapshot, progress: &Progress) -> Result<DropFeatureOutcome> {
    let truncates = steps.options.truncate_history;
    let protects = feature.concerns_readers() && !truncates;
    let mut metadata = Metadata { ..newest.metadata().clone() };
    left_properties(feature).iter().for_each(|name| drop(metadata.configuration.remove(*name)));
    if protects {
        metadata.configuration.insert(PROTECTED_BEFORE.to_owned(), Some((newest.version() + 1).to_string()));
    }
    let mut transaction = Transaction::begin(newest, steps.settings()).await?;
    transaction.read().all();
    transaction.set_protocol(without(newest.protocol(), feature.name, protects));
    transaction.set_metadata(metadata);
    if let Some(domain) = left_domain(feature)
        && let Some(domain) = newest.domain_metadata(domain).await?
    {
        transaction.set_domain(DomainMetadata { removed: true, ..domain });
    }
    let operation = Operation::new("DROP FEATURE").with("featureName", feature.name).with("truncateHistory", truncates);
    let snapshot = steps.commit(transaction, operation).await?;
    if protects {
        // This checkpoint is protected, too. The drop is valid without it.
        if let Err(error) = barrier::checkpoint(&snapshot).await {
            let (table, version) = (snapshot.url(), snapshot.version());
            tracing::warn!(
                table,
                version,
                "{table}: version {version} was committed, but its checkpoint was not written: {error}"
            );
        }
    }
    Ok(DropFeatureOutcome {
        version: snapshot.version(),
        feature: feature.name.to_owned(),
        protected_before: protects.then(|| snapshot.version()),
        first_version: progress.first_version,
        metrics: steps.metrics.clone(),
        snapshot: Some(snapshot),
    })
}

/// Returns the properties that mean nothing without the feature.
fn left_properties(feature: &Feature) -> &'static [&'static str] {
    match feature.name {
        "rowTracking" => &[
            "delta.enableRowTracking",
            "delta.rowTrackingSuspended",
            "delta.rowTracking.materializedRowIdColumnName",
            "delta.rowTracking.materializedRowCommitVersionColumnName",
        ],
        "materializePartitionColumns" => &["delta.enableMaterializePartitionColumnsFeature"],
        "columnMappingUsageTracking" => &[DROPPED_OR_RENAMED],
        "checkpointProtection" => &[PROTECTED_BEFORE],
        _ => &[],
    }
}

/// Returns the metadata domain that means nothing without the feature.
fn left_domain(feature: &Feature) -> Option<&'static str> {
    match feature.name {
        "rowTracking" => Some(ROW_TRACKING_DOMAIN),
        "clustering" => Some(CLUSTERING_DOMAIN),
        _ => None,
    }
}

fn used_again(feature: &Feature, newest: &Snapshot) -> Error {
    let kind =
        ErrorKind::CommitConflict { kind: ConflictKind::ProtocolChanged, winner_version: newest.version(), retryable: true };
    let message = format!(
        "{}: another writer used the table feature {} again while it was dropped; drop it again",
        newest.url(),
        feature.name
    );
    Error::new(kind, message)
}
