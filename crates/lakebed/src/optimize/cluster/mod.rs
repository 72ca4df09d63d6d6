//! Clusters the files of one partition: sorts their rows so that files can be pruned.
//!
//! The rows are read twice. First only their keys are read, and a sample of them determines how
//! rows are divided into files. Then all rows are read, and each is written to its file.
//! `lakebed_core::layout` decides the division. Begin with [`cluster`].

mod sample;
mod shuffle;

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use futures::{StreamExt, TryStreamExt};
use lakebed_core::layout::{Method, Ranker, Split};
use lakebed_io::parquet::Cores;

use self::shuffle::{AssignedRows, Shuffle};
use super::cluster_spec::{ClusterOrder, ClusterSpec};
use super::context::RewriteContext;
use super::plan::FileGroup;
use crate::Result;
use crate::clustering::KeyColumn;
use crate::runtime::memory::MemoryBudget;
use crate::runtime::stream::SideBySide;
use crate::scan::read::ReadOptions;
use crate::write::data_file::WrittenFile;
use crate::write::files::{FileSink, delete_written};

/// Files are divided further into parts, because rows are sorted part by part. The size of a part,
/// in bytes of files, is the memory budget divided by `PART_SHARE`, within these two limits. Parts
/// below the lower limit cost more than their order is worth, however small the budget is.
const PART_SHARE: u64 = 32;
const MOST_PART_BYTES: u64 = 32 << 20;
const LEAST_PART_BYTES: u64 = 256 << 10;
/// The factor by which rows are larger in memory than in files.
const TIMES_IN_MEMORY: u64 = 8;
/// The parts that are sorted in parallel may take this part of the memory budget (one fourth).
const SORTED_SHARE: u64 = 4;

/// Finds the bucket of a row.
struct BucketAssigner {
    columns: Vec<KeyColumn>,
    rankers: Vec<Ranker>,
    split: Split,
}

/// Writes the rows of a group's files; returns the number of rows, the new files, and the method by
/// which the rows were ordered.
pub(super) async fn cluster(
    context: &Arc<RewriteContext>,
    spec: &ClusterSpec,
    group: &FileGroup,
) -> Result<(u64, Vec<WrittenFile>, Method)> {
    let files = files_for(group.live_bytes, context.file_bytes);
    let parts = usize::try_from((group.live_bytes / files as u64).div_ceil(part_bytes())).unwrap_or(1).max(1);
    let cores = Cores::new();
    let sample = sample::read(context, &spec.columns, group).await?;
    let order = spec.order;
    let split = move || {
        let (rankers, ranks) = sample.ranked()?;
        let split = match order {
            ClusterOrder::ZOrder => Split::new(Method::ZOrder, &ranks, files, parts),
            ClusterOrder::Best | ClusterOrder::OfTable => Split::best(&ranks, files, parts),
        };
        Ok((rankers, split))
    };
    let (rankers, split) = cores.compute("dividing rows into files", split).await?;
    let assigner = Arc::new(BucketAssigner { columns: spec.columns.clone(), rankers, split });
    let (rows, shuffle) = scatter(context, group, &assigner, &cores).await?;
    context.spilled_bytes.add(shuffle.spilled_bytes());
    let written = gather(context, group, Arc::new(shuffle), parts).await?;
    Ok((rows, written, assigner.split.method()))
}

/// Distributes all rows of a group to their buckets, and counts them.
async fn scatter(
    context: &Arc<RewriteContext>,
    group: &FileGroup,
    assigner: &Arc<BucketAssigner>,
    cores: &Cores,
) -> Result<(u64, Shuffle)> {
    let mut shuffle = Shuffle::new(context.shape.schema(), assigner.split.buckets());
    let mut first_row = 0;
    let rows = context.read(&context.scan, group, ReadOptions::default())?;
    let assigned = rows.map(|rows| {
        let (context, assigner, cores) = (Arc::clone(context), Arc::clone(assigner), cores.clone());
        let first = first_row;
        first_row += rows.as_ref().map_or(0, RecordBatch::num_rows) as u64;
        async move {
            let rows = rows?;
            let assign = move || assigner.assign(&context.shape.moved(&rows)?, first);
            cores.compute("finding the files of rows", assign).await
        }
    });
    let mut assigned = assigned.buffered(cores.count() + 1).boxed();
    while let Some(rows) = assigned.try_next().await? {
        shuffle.push(rows).await?;
    }
    drop(assigned);
    context.reporter.add_bytes(group.size_bytes / 2);
    Ok((first_row, shuffle))
}

/// Writes the files, several in parallel.
async fn gather(
    context: &Arc<RewriteContext>,
    group: &FileGroup,
    shuffle: Arc<Shuffle>,
    parts: usize,
) -> Result<Vec<WrittenFile>> {
    let files = shuffle.buckets().div_ceil(parts);
    let at_once = MemoryBudget::of_process().limit_bytes() / SORTED_SHARE / (part_bytes() * TIMES_IN_MEMORY);
    let at_once = usize::try_from(at_once).unwrap_or(usize::MAX);
    let bytes = group.live_bytes / 2 / files.max(1) as u64;
    let (own, group) = (Arc::clone(context), group.clone());
    let file = move |file: usize| {
        let (context, group, shuffle) = (Arc::clone(&own), group.clone(), Arc::clone(&shuffle));
        async move {
            let written = write_file(&context, &group, shuffle, file * parts..(file + 1) * parts).await?;
            context.reporter.add_bytes(bytes);
            Ok(written)
        }
    };
    let mut files = SideBySide::new(at_once.clamp(1, Cores::new().count()), (0..files).map(file));
    let (mut all, mut failed) = (Vec::new(), None);
    while let Some(written) = files.next().await {
        match written {
            Ok(written) => all.extend(written),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    match failed {
        None => Ok(all),
        Some(error) => {
            delete_written(context.snapshot.store(), &all).await;
            Err(error)
        }
    }
}

async fn write_file(
    context: &RewriteContext,
    group: &FileGroup,
    shuffle: Arc<Shuffle>,
    buckets: Range<usize>,
) -> Result<Vec<WrittenFile>> {
    let mut sink = context.sink(&context.shape, group)?;
    let filled = fill(&shuffle, buckets, &mut sink).await;
    Ok(sink.finish_after(filled).await?.1)
}

async fn fill(shuffle: &Arc<Shuffle>, buckets: Range<usize>, sink: &mut FileSink) -> Result<()> {
    let cores = Cores::new();
    for bucket in buckets {
        let mut sorted = shuffle.sorted(bucket).await?;
        loop {
            let next = move || Ok((sorted.next()?, sorted));
            let (rows, rest) = cores.compute("sorting rows", next).await?;
            let Some(rows) = rows else { break };
            sorted = rest;
            sink.write(vec![rows]).await?;
        }
    }
    Ok(())
}

impl BucketAssigner {
    fn assign(&self, rows: &RecordBatch, first_row: u64) -> Result<AssignedRows> {
        let ranks = |(column, ranker): (&KeyColumn, &Ranker)| ranker.ranks(&column.values(rows)?);
        let ranks = self.columns.iter().zip(&self.rankers).map(ranks).collect::<Result<Vec<_>>>()?;
        let buckets = self.split.assign(&ranks, first_row);
        AssignedRows::new(rows, &buckets, self.split.buckets(), self.split.keys(&ranks))
    }
}

fn part_bytes() -> u64 {
    (MemoryBudget::of_process().limit_bytes() / PART_SHARE).clamp(LEAST_PART_BYTES, MOST_PART_BYTES)
}

/// Returns the number of files into which this many bytes are divided.
fn files_for(bytes: u64, target_file_size_bytes: u64) -> usize {
    let target = target_file_size_bytes.max(1);
    usize::try_from((bytes.saturating_add(target / 2) / target).max(1)).unwrap_or(usize::MAX)
}
