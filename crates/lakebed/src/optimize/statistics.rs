//! Adds statistics to files without them, such as files of other programs. Their rows are read, and
//! the bounds are written to the log.

use futures::TryStreamExt;
use lakebed_core::action::Add;
use lakebed_core::stats::StatsCollector;
use serde_json::Value;

use super::context::RewriteContext;
use super::plan::FileGroup;
use crate::scan::ScanFile;
use crate::scan::read::{ReadOptions, read_files};
use crate::write::convert::stored_batch;
use crate::write::rules::Contents;
use crate::{Error, Result};

/// Returns the unchanged files of a group with statistics.
pub(super) async fn collect_statistics(context: &RewriteContext, group: &FileGroup) -> Result<Vec<Add>> {
    let mut described = Vec::with_capacity(group.files.len());
    for batch in group.files.batches()? {
        for (file, add) in ScanFile::of_batch(&batch, &context.partitions)?.into_iter().zip(batch.to_adds()?) {
            let stats = collect(context, file).await?;
            let stats = if add.deletion_vector.is_some() { with_loose_bounds(&stats)? } else { stats };
            let mut tags = add.tags.unwrap_or_default();
            tags.extend(context.target.rules.stats.tags().unwrap_or_default());
            let tags = Some(tags).filter(|tags| !tags.is_empty());
            described.push(Add { stats: Some(stats), tags, data_change: false, ..add });
        }
    }
    Ok(described)
}

/// Computes the statistics of all rows of a file. PROTOCOL "Per-file Statistics": deleted rows
/// count too.
async fn collect(context: &RewriteContext, file: ScanFile) -> Result<String> {
    let layout = context.target.rules.layout(Contents::Rows)?;
    let mut stats = StatsCollector::new(context.target.rules.stats.clone());
    let file = ScanFile { deletion_vector: None, ..file };
    let spec = context.snapshot.scan().spec();
    let mut rows = read_files(context.snapshot.store(), &spec, vec![file], ReadOptions::default())?;
    while let Some(batch) = rows.try_next().await? {
        stats.update(&stored_batch(&context.shape.written(&batch)?, &layout)?)?;
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
