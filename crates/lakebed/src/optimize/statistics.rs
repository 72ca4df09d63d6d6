//! Adds statistics to files without them, such as files of other programs. Their rows are read, and
//! the bounds are written to the log.

use lakebed_core::action::Add;

use super::context::RewriteContext;
use super::plan::FileGroup;
use crate::Result;
use crate::rows::statistics::describe;
use crate::scan::ScanFile;

/// Returns the unchanged files of a group with statistics.
pub(super) async fn collect_statistics(context: &RewriteContext, group: &FileGroup) -> Result<Vec<Add>> {
    let mut described = Vec::with_capacity(group.files.len());
    for batch in group.files.batches()? {
        for (file, add) in ScanFile::of_batch(&batch, &context.partitions)?.into_iter().zip(batch.to_adds()?) {
            described.push(describe(&context.snapshot, &context.target, &context.shape, file, add).await?);
        }
    }
    Ok(described)
}
