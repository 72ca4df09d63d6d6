//! Files of one partition that become fewer: their rows are copied in the order of the files.

use futures::TryStreamExt;

use super::plan::Group;
use super::run::Job;
use crate::Result;
use crate::scan::ScanFile;
use crate::scan::read::{ReadOptions, read_task_with};
use crate::write::files::{FileSink, WrittenFile};

/// Rows that are decoded and wait to be written.
const AHEAD_BYTES: u64 = 32 << 20;
/// Files that are read in one go.
const FILES_AT_ONCE: usize = 4096;
/// Rows that are encoded in one go: of small files several lie together.
const ROWS_AT_ONCE: usize = 1 << 16;

/// Writes the rows of a group's files.
pub(super) async fn compact(job: &Job, group: &Group) -> Result<Vec<WrittenFile>> {
    let mut sink = job.sink(group)?;
    match copy(job, group, &mut sink).await {
        Ok(()) => sink.finish().await,
        Err(error) => {
            sink.abort().await;
            Err(error)
        }
    }
}

async fn copy(job: &Job, group: &Group, sink: &mut FileSink) -> Result<()> {
    for files in group.files.scans(&job.partitions)?.chunks(FILES_AT_ONCE) {
        let bytes = files.iter().map(|file: &ScanFile| file.size).sum();
        let options = ReadOptions { ahead_bytes: Some(AHEAD_BYTES), ..ReadOptions::default() };
        let mut rows = read_task_with(job.snapshot.store(), &job.scan.task(files.to_vec()), options)?;
        let (mut batches, mut count) = (Vec::new(), 0);
        while let Some(batch) = rows.try_next().await? {
            count += batch.num_rows();
            batches.push(job.shape.moved(&batch)?);
            if count >= ROWS_AT_ONCE {
                sink.write(std::mem::take(&mut batches)).await?;
                count = 0;
            }
        }
        sink.write(batches).await?;
        job.reporter.add_bytes(bytes);
    }
    Ok(())
}
