//! Compacts the files of one partition: copies their rows in the order of the files.

use futures::TryStreamExt;

use super::context::RewriteContext;
use super::plan::FileGroup;
use crate::Result;
use crate::rows::shape::Shape;
use crate::scan::read::ReadOptions;
use crate::write::data_file::WrittenFile;
use crate::write::files::FileSink;

/// The bytes of rows that are decoded and wait to be written.
const AHEAD_BYTES: u64 = 32 << 20;
/// The number of rows that are encoded at a time. Rows of several small files are encoded together.
const ROWS_AT_ONCE: usize = 1 << 16;

/// Writes the rows of a group's files; returns the number of rows and the new files.
pub(super) async fn compact(context: &RewriteContext, group: &FileGroup) -> Result<(u64, Vec<WrittenFile>)> {
    let shape = context.shape.moving();
    let mut sink = context.sink(&shape, group)?;
    let copied = copy(context, group, &shape, &mut sink).await;
    sink.finish_after(copied).await
}

async fn copy(context: &RewriteContext, group: &FileGroup, shape: &Shape, sink: &mut FileSink) -> Result<u64> {
    let options = ReadOptions { ahead_bytes: Some(AHEAD_BYTES), is_moving: true, ..ReadOptions::default() };
    let mut rows = context.read(&context.scan, group, options)?;
    let (mut batches, mut count, mut all) = (Vec::new(), 0, 0);
    while let Some(batch) = rows.try_next().await? {
        count += batch.num_rows();
        all += batch.num_rows() as u64;
        batches.push(shape.moved(&batch)?);
        if count >= ROWS_AT_ONCE {
            sink.write(std::mem::take(&mut batches)).await?;
            count = 0;
        }
    }
    sink.write(batches).await?;
    context.reporter.add_bytes(group.size_bytes);
    Ok(all)
}
