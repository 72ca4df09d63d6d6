//! Large row groups cut into runs of rows, each decoded by itself: less memory, and several cores for one row group.
//!
//! The index of pages tells where the bytes of a run are; without it a row group stays whole.

use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{RowSelection, RowSelector};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::page_index::offset_index::OffsetIndexMetaData;

/// The decoded bytes of a slice, all columns together, as far as pages allow.
const SLICE_BYTES: u64 = 32 << 20;

/// Rows of one row group; without a selection, all of them.
pub(super) struct Slice {
    pub(super) row_group: usize,
    pub(super) selection: Option<RowSelection>,
}

/// These row groups in slices, in order. Slices end where pages of the projected columns do.
pub(super) fn slices(metadata: &ParquetMetaData, row_groups: &[usize], projection: Option<&ProjectionMask>) -> Vec<Slice> {
    row_groups.iter().flat_map(|index| of_row_group(metadata, *index, projection)).collect()
}

fn of_row_group(metadata: &ParquetMetaData, index: usize, projection: Option<&ProjectionMask>) -> Vec<Slice> {
    let cuts = metadata.row_groups().get(index).and_then(|group| {
        let columns = metadata.offset_index()?.get(index)?;
        cuts(group, columns, projection)
    });
    let Some(cuts) = cuts else { return vec![Slice { row_group: index, selection: None }] };
    let runs = cuts.iter().zip(cuts.iter().skip(1));
    runs.map(|(start, end)| Slice { row_group: index, selection: Some(run(*start, *end)) }).collect()
}

fn run(start: usize, end: usize) -> RowSelection {
    let skipped = (start > 0).then(|| RowSelector::skip(start));
    skipped.into_iter().chain([RowSelector::select(end - start)]).collect::<Vec<_>>().into()
}

/// The first rows of the slices, and the end of the last; nothing if one slice holds the row group.
fn cuts(group: &RowGroupMetaData, columns: &[OffsetIndexMetaData], projection: Option<&ProjectionMask>) -> Option<Vec<usize>> {
    let (bytes, rows) = (u64::try_from(group.total_byte_size()).ok()?, usize::try_from(group.num_rows()).ok()?);
    let count = usize::try_from(bytes / SLICE_BYTES).ok()?;
    if count < 2 || rows == 0 {
        return None;
    }
    let step = rows.div_ceil(count);
    let starts = page_starts(columns, projection, step);
    let mut cuts = vec![0];
    for wanted in (1..count).map(|number| number * step).filter(|row| *row < rows) {
        // The nearest page that starts at or before this row, or else this row.
        let at = starts.partition_point(|start| *start <= wanted).checked_sub(1).and_then(|at| starts.get(at).copied());
        let cut = at.unwrap_or(wanted);
        if cuts.last().is_some_and(|last| *last < cut) {
            cuts.push(cut);
        }
    }
    cuts.push(rows);
    (cuts.len() > 2).then_some(cuts)
}

/// Where the pages start of the column with the largest pages that are smaller than a slice: other columns lose least by cuts there.
fn page_starts(columns: &[OffsetIndexMetaData], projection: Option<&ProjectionMask>, step: usize) -> Vec<usize> {
    let projected = columns.iter().enumerate().filter(|(leaf, _)| projection.is_none_or(|mask| mask.leaf_included(*leaf)));
    let starts = projected.map(|(_, pages)| {
        let starts = pages.page_locations().iter().map(|page| usize::try_from(page.first_row_index).unwrap_or(0));
        starts.collect::<Vec<usize>>()
    });
    let fine = |starts: &Vec<usize>| starts.len() > 1 && starts.windows(2).all(|pair| matches!(pair, [a, b] if b - a <= step));
    starts.filter(fine).min_by_key(Vec::len).unwrap_or_default()
}
