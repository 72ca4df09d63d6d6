//! What a scan would read, and why not less.

use futures::TryStreamExt;

use super::Scan;
use super::plan::{Plan, PlanOptions};
use crate::Result;

/// What a scan would read. All counts are of files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The table's URL.
    pub table: String,
    /// Its version.
    pub version: u64,
    /// Those that may hold rows.
    pub files: u64,
    /// Their size.
    pub size_bytes: u64,
    /// Those that partition values ruled out.
    pub skipped_by_partition: u64,
    /// Those that statistics ruled out.
    pub skipped_by_statistics: u64,
    /// The filter as it was understood.
    pub filter: Option<String>,
    /// What of the filter could not rule out files, and why.
    pub notes: Vec<String>,
}

impl Scan {
    /// Plans the scan, reads no data, and tells what was found.
    pub async fn explain(&self) -> Result<Explanation> {
        let filter = self.parsed_filter()?;
        let options = PlanOptions { exact_metrics: true, ..PlanOptions::default() };
        let plan = Plan::new(&self.snapshot, filter.as_deref(), options)?;
        plan.files().try_for_each(|_| async { Ok(()) }).await?;
        let metrics = plan.metrics();
        Ok(Explanation {
            table: self.snapshot.url().to_owned(),
            version: self.snapshot.version(),
            files: metrics.kept.get(),
            size_bytes: metrics.kept_bytes.get(),
            skipped_by_partition: metrics.skipped_by_partition.get(),
            skipped_by_statistics: metrics.skipped_by_statistics.get(),
            filter: filter.map(|filter| filter.text().to_owned()),
            notes: plan.pruner().map(|pruner| pruner.notes()).unwrap_or_default(),
        })
    }
}
