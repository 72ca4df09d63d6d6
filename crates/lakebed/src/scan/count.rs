//! Counting rows with as little reading as the filter allows.

use futures::{StreamExt, TryStreamExt};
use lakebed_core::log::files::FileBatch;
use lakebed_io::parquet::PageIndex;

use super::Scan;
use super::files::deleted_records;
use super::listed::Listed;
use super::plan::{Plan, PlanOptions, row_counts};
use crate::{Error, Result, Snapshot};

/// Footers read at a time, for files without a row count in the log.
const CONCURRENCY: usize = 16;

impl Scan {
    /// How many rows the scan would give: from row counts in the log, from the footers of files that have none there, and only
    /// if the filter asks for more than partition values, from data.
    pub async fn count(&self) -> Result<u64> {
        if self.limit == Some(0) {
            return Ok(0);
        }
        let scan = self.by_log().await?;
        let filter = scan.parsed_filter()?;
        let options = PlanOptions { row_counts: true, ..PlanOptions::default() };
        let plan = Plan::new(&scan.snapshot, filter.as_deref(), options)?;
        let count = match plan.pruner() {
            Some(pruner) if !pruner.is_exact_on_partitions() => scan.count_by_reading().await?,
            _ => count_by_log(&scan.snapshot, &plan).await?,
        };
        Ok(self.limit.map_or(count, |limit| count.min(limit)))
    }

    async fn count_by_reading(&self) -> Result<u64> {
        let counting = self.clone().select(Vec::<String>::new());
        counting.stream().await?.try_fold(0, |count, batch| async move { Ok(count + batch.num_rows() as u64) }).await
    }
}

async fn count_by_log(snapshot: &Snapshot, plan: &Plan) -> Result<u64> {
    let counts = plan.files().map(|batch| async move { count_batch(snapshot, &batch?).await });
    counts.buffered(2).try_fold(0, |sum, count| async move { Ok(sum + count) }).await
}

/// Rows of the files less those that deletion vectors delete.
async fn count_batch(snapshot: &Snapshot, batch: &FileBatch) -> Result<u64> {
    let mut known = 0;
    let mut unknown = Vec::new();
    for (row, count) in row_counts(batch)?.iter().enumerate() {
        match count.and_then(|count| u64::try_from(count).ok()) {
            Some(count) => known += live_rows(batch, row, count)?,
            None => unknown.push(row),
        }
    }
    let read = |row: usize| async move {
        let file = Listed::of(snapshot.store(), batch, row)?.open(PageIndex::Skip).await?;
        live_rows(batch, row, file.num_rows())
    };
    let read: u64 =
        futures::stream::iter(unknown).map(read).buffered(CONCURRENCY).try_fold(0, |a, b| async move { Ok(a + b) }).await?;
    Ok(known + read)
}

/// How many rows these files have for readers, if the log says it of each.
pub(crate) fn known_rows(batch: &FileBatch) -> Result<Option<u64>> {
    let (counts, deleted) = (row_counts(batch)?, deleted_records(batch));
    let live = counts.iter().zip(deleted.values());
    Ok(live.map(|(count, deleted)| u64::try_from(count?.checked_sub(*deleted)?).ok()).sum())
}

fn live_rows(batch: &FileBatch, row: usize, physical: u64) -> Result<u64> {
    let deleted = batch.deletion_vector(row)?.map_or(0, |dv| dv.cardinality);
    let live = u64::try_from(deleted).ok().and_then(|deleted| physical.checked_sub(deleted));
    live.ok_or_else(|| {
        let path = batch.paths().map_or("a file", |paths| paths.value(row));
        Error::corrupt(path, format!("its deletion vector deletes {deleted} of {physical} rows"))
    })
}
