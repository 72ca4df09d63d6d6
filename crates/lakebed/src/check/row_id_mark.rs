//! The high-water mark of row ids beside the row ids of the files.

use std::pin::pin;

use arrow_array::Array;
use futures::TryStreamExt;
use lakebed_core::log::files::{FileBatch, column};

use super::finding::{Finding, FindingKind};
use crate::scan::plan::{Plan, PlanOptions};
use crate::{Result, Snapshot};

/// The greatest row id that files have by the log.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct GreatestRowId(pub(crate) Option<i64>);

impl GreatestRowId {
    /// Reads the files of a version.
    pub(crate) async fn of(snapshot: &Snapshot) -> Result<Self> {
        let mut greatest = Self::default();
        let options = PlanOptions { row_counts: true, ..PlanOptions::default() };
        let mut files = pin!(Plan::new(snapshot, None, options)?.files_as_logged());
        while let Some(batch) = files.try_next().await? {
            greatest.add(&batch)?;
        }
        Ok(greatest)
    }

    /// Adds the files of a batch. A file without rows, or with an unknown number of them, counts
    /// with its first row id at most.
    pub(crate) fn add(&mut self, batch: &FileBatch) -> Result<()> {
        let (first, rows) = (batch.longs(column::BASE_ROW_ID)?, batch.row_counts()?);
        for row in (0..batch.len()).filter(|row| first.is_valid(*row)) {
            let count = if rows.is_valid(row) { rows.value(row) } else { 1 };
            if count > 0 {
                self.0 = self.0.max(Some(first.value(row).saturating_add(count - 1)));
            }
        }
        Ok(())
    }
}

/// Returns a finding if files have greater row ids than the high-water mark.
pub(super) fn check_mark(greatest: GreatestRowId, mark: i64) -> Option<Finding> {
    let greatest = greatest.0.filter(|greatest| *greatest > mark)?;
    let message = format!("the log says that the greatest row id is {mark}, but files have row ids to {greatest}");
    Some(Finding::new(FindingKind::RowIdMarkWrong, message))
}
