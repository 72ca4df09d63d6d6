//! Cuts large row groups into runs of rows that are decoded separately. This takes less memory and
//! uses several cores for one row group.
//!
//! The page index has the positions of a run's bytes. Without it a row group is not cut.

use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{RowSelection, RowSelector};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::page_index::offset_index::OffsetIndexMetaData;

use super::file::ParquetFile;

/// The decoded size of a slice over all columns of the file. Page boundaries may make it larger.
const SLICE_BYTES: u64 = 32 << 20;

impl ParquetFile {
    /// Returns the rows of a row group, counted from its first row, at which the pages of a
    /// projected column start. The column is the one with the fewest pages that are enough. The
    /// result is empty without a page index.
    pub fn page_starts(&self, row_group: usize, projection: &ProjectionMask, wanted: usize) -> Vec<usize> {
        let columns = self.metadata.offset_index().and_then(|groups| groups.get(row_group));
        columns.map(|columns| page_starts(columns, Some(projection), wanted)).unwrap_or_default()
    }
}

/// Rows of one row group. Without a selection, these are all of its rows.
pub(super) struct Slice {
    pub(super) row_group: usize,
    pub(super) selection: Option<RowSelection>,
}

/// Returns the slices of these row groups, in order. A slice ends where a page of a projected
/// column ends.
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

/// Returns the first row of each slice and the end of the last slice, or `None` if the row group is
/// one slice.
fn cuts(group: &RowGroupMetaData, columns: &[OffsetIndexMetaData], projection: Option<&ProjectionMask>) -> Option<Vec<usize>> {
    let (bytes, rows) = (u64::try_from(group.total_byte_size()).ok()?, usize::try_from(group.num_rows()).ok()?);
    let wanted = usize::try_from(bytes / SLICE_BYTES).ok()?;
    let starts = page_starts(columns, projection, wanted);
    // The size and the row count come from the file and may be wrong. The pages were read.
    let count = wanted.min(starts.len());
    if count < 2 {
        return None;
    }
    let step = rows.div_ceil(count);
    let mut cuts = vec![0];
    for wanted in (1..count).map(|number| number.saturating_mul(step)) {
        let at = starts.partition_point(|start| *start <= wanted).checked_sub(1).and_then(|at| starts.get(at).copied());
        cuts.extend(at.filter(|cut| cuts.last().is_some_and(|last| last < cut) && *cut < rows));
    }
    cuts.push(rows);
    (cuts.len() > 2).then_some(cuts)
}

/// Returns the page starts of the projected column with the fewest pages that are enough, or else
/// of the column with the most pages. This choice wastes the least on cuts inside the pages of
/// other columns.
fn page_starts(columns: &[OffsetIndexMetaData], projection: Option<&ProjectionMask>, enough: usize) -> Vec<usize> {
    let projected = columns.iter().enumerate().filter(|(leaf, _)| projection.is_none_or(|mask| mask.leaf_included(*leaf)));
    let pages = projected.map(|(_, pages)| pages.page_locations());
    let best =
        pages.min_by_key(|pages| if pages.len() < enough { (true, usize::MAX - pages.len()) } else { (false, pages.len()) });
    best.into_iter().flatten().filter_map(|page| usize::try_from(page.first_row_index).ok()).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parquet::file::page_index::offset_index::PageLocation;
    use parquet::schema::parser::parse_message_type;
    use parquet::schema::types::SchemaDescriptor;

    use super::*;

    /// Returns the cuts of a row group that claims this many bytes and rows, and that has columns
    /// with pages at these rows.
    fn cuts_of(bytes: i64, rows: i64, pages: &[&[i64]]) -> Option<Vec<usize>> {
        let schema = parse_message_type("message m { required int64 a; }").unwrap();
        let schema = Arc::new(SchemaDescriptor::new(Arc::new(schema)));
        let column = parquet::file::metadata::ColumnChunkMetaData::builder(schema.column(0)).build().unwrap();
        let group = RowGroupMetaData::builder(schema).set_total_byte_size(bytes).set_num_rows(rows).add_column_metadata(column);
        let location = |row: &i64| PageLocation { offset: 0, compressed_page_size: 0, first_row_index: *row };
        let columns: Vec<OffsetIndexMetaData> = pages
            .iter()
            .map(|starts| OffsetIndexMetaData {
                page_locations: starts.iter().map(location).collect(),
                unencoded_byte_array_data_bytes: None,
            })
            .collect();
        cuts(&group.build().unwrap(), &columns, None)
    }

    #[test]
    fn cuts_lie_at_page_starts() {
        let fine: Vec<i64> = (0..100).map(|page| page * 7).collect();
        assert_eq!(cuts_of(96 << 20, 700, &[&fine, &[0, 200, 400, 600], &[0, 350]]), Some(vec![0, 200, 400, 700]));
        assert_eq!(cuts_of(96 << 20, 700, &[&[0, 350], &[0]]), Some(vec![0, 350, 700]));
        assert_eq!(cuts_of(63 << 20, 700, &[&fine]), None);
        assert_eq!(cuts_of(96 << 20, 700, &[&[0]]), None);
        assert_eq!(cuts_of(96 << 20, 700, &[]), None);
    }

    #[test]
    fn false_size_or_row_count_allocates_nothing() {
        assert_eq!(cuts_of(i64::MAX, i64::MAX, &[&[0, 10]]), Some(vec![0, 10, usize::try_from(i64::MAX).unwrap()]));
        assert_eq!(cuts_of(i64::MAX, 1000, &[&[0]]), None);
        assert_eq!(cuts_of(i64::MAX, 0, &[&[0, 10]]), None);
        assert_eq!(cuts_of(-1, 1000, &[&[0, 10]]), None);
    }
}
