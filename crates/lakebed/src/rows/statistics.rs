//! Computes the statistics of a data file that stays as it is, from its rows.

use futures::TryStreamExt;
use lakebed_core::action::Add;
use lakebed_core::stats::StatsCollector;
use serde_json::Value;

use super::shape::Shape;
use super::target::Target;
use crate::scan::ScanFile;
use crate::scan::read::{ReadOptions, read_files};
use crate::write::convert::stored_batch;
use crate::write::rules::Contents;
use crate::{Error, Result, Snapshot};

/// Returns the `add` action of a file with statistics that were computed from its rows.
pub(crate) async fn describe(snapshot: &Snapshot, target: &Target, shape: &Shape, file: ScanFile, add: Add) -> Result<Add> {
    let stats = collect(snapshot, target, shape, file).await?;
    let stats = if add.deletion_vector.is_some() { with_loose_bounds(&stats)? } else { stats };
    let mut tags = add.tags.unwrap_or_default();
    tags.extend(target.rules.stats.tags().unwrap_or_default());
    let tags = Some(tags).filter(|tags| !tags.is_empty());
    Ok(Add { stats: Some(stats), tags, data_change: false, ..add })
}

/// Computes the statistics of all rows of a file. PROTOCOL "Per-file Statistics": deleted rows
/// count too.
async fn collect(snapshot: &Snapshot, target: &Target, shape: &Shape, file: ScanFile) -> Result<String> {
    let layout = target.rules.layout(Contents::Rows)?;
    let mut stats = StatsCollector::new(target.rules.stats.clone());
    let file = ScanFile { deletion_vector: None, ..file };
    let spec = snapshot.scan().spec();
    let mut rows = read_files(snapshot.store(), &spec, vec![file], ReadOptions::default())?;
    while let Some(batch) = rows.try_next().await? {
        stats.update(&stored_batch(&shape.written(&batch)?, &layout)?)?;
    }
    Ok(stats.finish().json)
}

fn with_loose_bounds(stats: &str) -> Result<String> {
    let mut stats: Value =
        serde_json::from_str(stats).map_err(|error| Error::internal("the statistics are not valid JSON").with_source(error))?;
    if let Some(stats) = stats.as_object_mut() {
        stats.insert("tightBounds".to_owned(), false.into());
    }
    Ok(stats.to_string())
}
