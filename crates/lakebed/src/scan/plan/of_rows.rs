//! Bounds of `_metadata` columns that follow from the log, such as bounds of row ids.
//!
//! PROTOCOL "Row Tracking": the id of a fresh row is the id of the file's first row plus its
//! position, and its version is the file's. Rows that moved keep their ids and versions. Those are
//! less than the fresh ones, because ids are given out in rising order, and versions rise. Begin
//! with [`statistics`].

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, new_null_array};
use lakebed_core::log::files::{FileBatch, column};
use lakebed_core::stats::{StatColumn, StatKind};
use lakebed_expr::prune::{Pruner, metadata_field};

use crate::Result;
use crate::scan::row_column::RowColumnKind;

/// Returns the statistics of these files for a pruner, including bounds of `_metadata` columns.
pub(super) fn statistics(pruner: &Pruner, files: &FileBatch) -> Result<Vec<ArrayRef>> {
    let mut found = files.stats(pruner.statistics())?;
    for (wanted, values) in pruner.statistics().iter().zip(&mut found) {
        if let Some(name) = metadata_field(wanted) {
            let bound = RowColumnKind::of_name(name).map(|kind| bound(kind, wanted.kind, files)).transpose()?;
            *values = bound.flatten().unwrap_or_else(|| new_null_array(&wanted.arrow_type(), files.len()));
        }
    }
    Ok(found)
}

/// Returns a bound of a `_metadata` column for each file; None if nothing is known about any file.
fn bound(of: RowColumnKind, side: StatKind, files: &FileBatch) -> Result<Option<ArrayRef>> {
    Ok(match (of, side) {
        (RowColumnKind::FilePath, StatKind::Min | StatKind::Max) => Some(Arc::new(files.paths()?.clone())),
        (RowColumnKind::FileSize, StatKind::Min | StatKind::Max) => Some(Arc::new(files.longs(column::SIZE)?)),
        (RowColumnKind::RowIndex, StatKind::Min) => Some(Arc::new(Int64Array::from_value(0, files.len()))),
        (RowColumnKind::RowIndex, StatKind::Max) => Some(Arc::new(last_from(&Int64Array::from_value(0, files.len()), files)?)),
        (RowColumnKind::RowId, StatKind::Max) => Some(Arc::new(last_from(&files.longs(column::BASE_ROW_ID)?, files)?)),
        (RowColumnKind::RowCommitVersion, StatKind::Max) => Some(Arc::new(files.longs(column::DEFAULT_ROW_COMMIT_VERSION)?)),
        _ => None,
    })
}

/// Returns the number of each file's last row, given the number of its first row.
fn last_from(first: &Int64Array, files: &FileBatch) -> Result<Int64Array> {
    let rows = files.row_counts()?;
    Ok(first.iter().zip(&rows).map(|(first, rows)| first?.checked_add(rows?.checked_sub(1)?)).collect())
}

/// Returns the columns of the log from which these bounds are computed, and whether row counts are
/// needed, too.
pub(super) fn sources(wanted: &[StatColumn]) -> (Vec<&'static str>, bool) {
    let (mut columns, mut counts) = (Vec::new(), false);
    for kind in wanted.iter().filter_map(metadata_field).filter_map(RowColumnKind::of_name) {
        columns.push(match kind {
            RowColumnKind::FilePath => column::PATH,
            RowColumnKind::FileSize => column::SIZE,
            RowColumnKind::RowId => column::BASE_ROW_ID,
            RowColumnKind::RowCommitVersion => column::DEFAULT_ROW_COMMIT_VERSION,
            _ => column::PATH,
        });
        counts |= matches!(kind, RowColumnKind::RowId | RowColumnKind::RowIndex);
    }
    (columns, counts)
}
