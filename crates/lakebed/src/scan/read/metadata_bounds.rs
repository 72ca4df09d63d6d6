//! Bounds of row ids, positions and the other fields of `_metadata` in parts of a file.
//!
//! PROTOCOL "Row Tracking": a row has the id and the version that the file stores for it in a
//! column. If there is no such column, or if it is null, the id is the id of the file's first row
//! plus the position of the row, and the version is the file's. Begin with
//! [`LoggedMetadata::bound`].

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, StringArray};

use lakebed_core::stats::StatKind;

use super::context::ReadContext;
use crate::scan::file::ScanFile;
use crate::scan::row_column::RowColumnKind;
use crate::scan::row_tracking::{FileRowTracking, MaterializedColumns};

/// The known facts about the rows of a file before it is opened.
#[derive(Debug, Clone, Default)]
pub(super) struct LoggedMetadata {
    path: String,
    size_bytes: u64,
    row_tracking: FileRowTracking,
    materialized: MaterializedColumns,
}

/// What a file stores in a column for rows that moved, for some runs of rows.
pub(super) struct MovedRows {
    /// The bounds of the stored values on one side.
    pub(super) bounds: ArrayRef,
    /// The number of rows in each run that have not moved.
    pub(super) nulls: ArrayRef,
}

impl LoggedMetadata {
    pub(super) fn new(context: &ReadContext, file: &ScanFile) -> Self {
        Self {
            path: file.path.clone(),
            size_bytes: file.size,
            row_tracking: file.row_tracking,
            materialized: context.table.materialized.clone(),
        }
    }

    /// Returns the column in which a file stores this `_metadata` column for rows that moved.
    pub(super) fn moved_column(&self, of: RowColumnKind) -> Option<&str> {
        match of {
            RowColumnKind::RowId => self.materialized.row_id.as_deref(),
            RowColumnKind::RowCommitVersion => self.materialized.row_commit_version.as_deref(),
            _ => None,
        }
    }

    /// Returns the bounds of a `_metadata` column on one side, for runs of rows; None if nothing is
    /// known. `moved` has the stored values of rows that moved.
    pub(super) fn bound(
        &self,
        of: RowColumnKind,
        side: StatKind,
        runs: &[Range<u64>],
        moved: Option<&MovedRows>,
    ) -> Option<ArrayRef> {
        let position = |run: &Range<u64>| match side {
            StatKind::Min => i64::try_from(run.start).ok(),
            StatKind::Max => i64::try_from(run.end.checked_sub(1)?).ok(),
            _ => None,
        };
        let fresh = |run: &Range<u64>| match of {
            RowColumnKind::RowId => self.row_tracking.base_row_id?.checked_add(position(run)?),
            RowColumnKind::RowCommitVersion => self.row_tracking.default_row_commit_version,
            RowColumnKind::RowIndex => position(run),
            RowColumnKind::FileSize => i64::try_from(self.size_bytes).ok(),
            _ => None,
        };
        if !matches!(side, StatKind::Min | StatKind::Max) {
            return None;
        }
        if of == RowColumnKind::FilePath {
            return Some(Arc::new(StringArray::from_iter_values(std::iter::repeat_n(&self.path, runs.len()))));
        }
        let Some(moved) = moved else { return Some(Arc::new(runs.iter().map(fresh).collect::<Int64Array>())) };
        let bounds = moved.bounds.as_primitive_opt::<Int64Type>()?;
        let nulls = moved.nulls.as_primitive_opt::<Int64Type>()?;
        let rows = runs.iter().zip(bounds).zip(nulls);
        let bound = rows.map(|((run, moved), nulls)| {
            let length = i64::try_from(run.end - run.start).ok();
            match nulls {
                Some(0) => moved,
                Some(_) if nulls == length => fresh(run),
                _ if side == StatKind::Min => Some(moved?.min(fresh(run)?)),
                _ => Some(moved?.max(fresh(run)?)),
            }
        });
        Some(Arc::new(bound.collect::<Int64Array>()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(of: RowColumnKind, moved: Option<(Vec<Option<i64>>, Vec<Option<i64>>)>, min: &[Option<i64>], max: &[Option<i64>]) {
        let row_tracking = FileRowTracking { base_row_id: Some(100), default_row_commit_version: Some(7) };
        let logged = LoggedMetadata { row_tracking, ..LoggedMetadata::default() };
        let moved = moved.map(|(bounds, nulls)| MovedRows {
            bounds: Arc::new(Int64Array::from(bounds)),
            nulls: Arc::new(Int64Array::from(nulls)),
        });
        let runs = [0..10, 10..15, 15..16];
        for (side, expected) in [(StatKind::Min, min), (StatKind::Max, max)] {
            let found = logged.bound(of, side, &runs, moved.as_ref()).unwrap();
            assert_eq!(found.as_primitive::<Int64Type>().iter().collect::<Vec<_>>(), expected, "{side:?}");
        }
    }

    #[test]
    fn fresh_rows_count_from_the_first_id() {
        check(RowColumnKind::RowId, None, &[Some(100), Some(110), Some(115)], &[Some(109), Some(114), Some(115)]);
        check(RowColumnKind::RowIndex, None, &[Some(0), Some(10), Some(15)], &[Some(9), Some(14), Some(15)]);
        check(RowColumnKind::RowCommitVersion, None, &[Some(7); 3], &[Some(7); 3]);
    }

    #[test]
    fn moved_rows_widen_bounds_of_fresh_rows() {
        let moved = (vec![Some(5), Some(5), None], vec![Some(0), Some(2), Some(1)]);
        check(RowColumnKind::RowId, Some(moved), &[Some(5), Some(5), Some(115)], &[Some(5), Some(114), Some(115)]);
        let unknown = (vec![Some(5), None, None], vec![None, None, Some(0)]);
        check(RowColumnKind::RowId, Some(unknown), &[Some(5), None, None], &[Some(109), None, None]);
    }
}
