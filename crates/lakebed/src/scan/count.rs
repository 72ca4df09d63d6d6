//! Counts the rows of a scan and reads as little as the predicate allows.

use futures::{StreamExt, TryStreamExt};
use lakebed_core::log::files::FileBatch;
use lakebed_io::parquet::PageIndex;

use super::Scan;
use super::file_location::FileLocation;
use super::files::deleted_records;
use super::plan::{Plan, PlanOptions};
use crate::{Error, Result, Snapshot};

/// The number of footers that are read at a time, for files without a row count in the log.
const CONCURRENCY: usize = 16;

impl Scan {
    /// Returns how many rows the scan would return. The row counts come from the log. For files
    /// without a row count in the log they come from the footers. Data is read only if the
    /// predicate uses more than partition values.
    pub async fn count(&self) -> Result<u64> {
        if self.options.limit == Some(0) {
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
        Ok(self.options.limit.map_or(count, |limit| count.min(limit)))
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

/// Counts the rows of the files, without the rows that deletion vectors delete.
async fn count_batch(snapshot: &Snapshot, batch: &FileBatch) -> Result<u64> {
    let mut known = 0;
    let mut unknown = Vec::new();
    for (row, count) in batch.row_counts()?.iter().enumerate() {
        match count.and_then(|count| u64::try_from(count).ok()) {
            Some(count) => known += live_rows(batch, row, count)?,
            None => unknown.push(row),
        }
    }
    let read = |row: usize| async move {
        let file = FileLocation::of(snapshot.store(), batch, row)?.open(PageIndex::Skip).await?;
        live_rows(batch, row, file.num_rows())
    };
    let read: u64 =
        futures::stream::iter(unknown).map(read).buffered(CONCURRENCY).try_fold(0, |a, b| async move { Ok(a + b) }).await?;
    Ok(known + read)
}

/// Returns how many rows these files have without deleted rows, if the log gives the count of every
/// file.
pub(crate) fn known_rows(batch: &FileBatch) -> Result<Option<u64>> {
    let (counts, deleted) = (batch.row_counts()?, deleted_records(batch));
    let live = counts.iter().zip(deleted.values());
    Ok(live.map(|(count, deleted)| u64::try_from(count?.checked_sub(*deleted)?).ok()).sum())
}

fn live_rows(batch: &FileBatch, row: usize, physical: u64) -> Result<u64> {
    let deleted = batch.deletion_vector(row)?.map_or(0, |dv| dv.cardinality);
    let live = u64::try_from(deleted).ok().and_then(|deleted| physical.checked_sub(deleted));
    live.ok_or_else(|| {
        let path = batch.paths().map_or("a file", |paths| paths.value(row));
        Error::corrupt(path, format!("its deletion vector deletes {deleted} rows, but the file has {physical}"))
    })
}
