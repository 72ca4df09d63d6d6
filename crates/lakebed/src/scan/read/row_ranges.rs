//! Decides which rows of a row group are decoded, and which of the decoded rows are kept.
//!
//! Rows are identified by their position in the file. Deletion vectors and row numbers therefore
//! stay right, whatever is skipped. Long runs of rows that are not needed are skipped when
//! decoding. Single deleted rows between other rows are decoded and dropped afterwards, which is
//! cheaper than starting and stopping a decoder around each of them.

use std::collections::VecDeque;
use std::ops::Range;

use arrow_array::{ArrayRef, Int64Array};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use parquet::arrow::arrow_reader::{RowSelection, RowSelector};

use lakebed_core::dv::DeletionVector;

/// The least number of consecutive deleted rows that is worth skipping.
const LONG_RUN: u64 = 4096;

/// The rows of one row group to decode. The ranges are ascending, disjoint and not empty.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RowRanges {
    group: Range<u64>,
    ranges: Vec<Range<u64>>,
}

impl RowRanges {
    /// Returns all rows of a row group, given by their positions in the file.
    pub(super) fn all(group: Range<u64>) -> Self {
        let ranges = if group.is_empty() { Vec::new() } else { vec![group.clone()] };
        Self { group, ranges }
    }

    /// Returns the rows that are in the ranges. The ranges are ascending and disjoint.
    #[must_use]
    pub(super) fn within(&self, kept: &[Range<u64>]) -> Self {
        let mut ranges = Vec::new();
        let mut kept = kept.iter().peekable();
        for own in &self.ranges {
            while let Some(other) = kept.peek() {
                push(&mut ranges, own.start.max(other.start)..own.end.min(other.end));
                if other.end > own.end {
                    break;
                }
                kept.next();
            }
        }
        Self { group: self.group.clone(), ranges }
    }

    /// Returns the rows that are not within long runs of deleted rows.
    #[must_use]
    pub(super) fn without_deleted_runs(&self, deleted: &DeletionVector) -> Self {
        let mut kept = Vec::new();
        let mut from = self.group.start;
        for run in deleted.deleted_ranges(self.group.clone()).filter(|run| run.end - run.start >= LONG_RUN) {
            push(&mut kept, from..run.start);
            from = run.end;
        }
        push(&mut kept, from..self.group.end);
        self.within(&kept)
    }

    /// Returns the rows up to and including the live row with number `count`. A live row is one
    /// that is not deleted.
    #[must_use]
    pub(super) fn first_live(&self, count: u64, deleted: Option<&DeletionVector>) -> Self {
        let mut left = count;
        let mut ranges = Vec::new();
        for range in &self.ranges {
            let kept = deleted.map_or_else(|| vec![range.clone()], |deleted| deleted.kept_ranges(range.clone()));
            let mut end = range.start;
            for run in kept {
                let taken = left.min(run.end - run.start);
                left -= taken;
                end = if taken > 0 { run.start + taken } else { end };
            }
            push(&mut ranges, range.start..if left > 0 { range.end } else { end });
            if left == 0 {
                break;
            }
        }
        Self { group: self.group.clone(), ranges }
    }

    /// Returns the rows behind the first `count` rows.
    #[must_use]
    pub(super) fn skip(&self, count: u64) -> Self {
        let mut undecoded = self.undecoded();
        undecoded.next(count);
        undecoded.rest(self)
    }

    /// Returns the position of the row group's first row in the file.
    pub(super) fn first(&self) -> u64 {
        self.group.start
    }

    /// Cuts the rows into pieces of at most `most` rows. `pages` are the first rows of pages. A
    /// piece ends at the end of a page if a page ends in the second half of the piece, because
    /// decoding a part of a page decodes all of it.
    pub(super) fn pieces(&self, most: u64, pages: &[u64]) -> Vec<Self> {
        let most = most.max(1);
        let mut pieces = Vec::new();
        let mut current = Vec::new();
        let mut room = most;
        for range in &self.ranges {
            let mut start = range.start;
            while start < range.end {
                let mut end = range.end.min(start.saturating_add(room));
                let is_cut = end < range.end;
                if is_cut {
                    let least = start.max(end - room / 2);
                    let page = pages.partition_point(|page| *page <= end).checked_sub(1).and_then(|at| pages.get(at));
                    end = page.copied().filter(|page| *page > least).unwrap_or(end);
                }
                current.push(start..end);
                room -= end - start;
                start = end;
                if is_cut || room == 0 {
                    pieces.push(Self { group: self.group.clone(), ranges: std::mem::take(&mut current) });
                    room = most;
                }
            }
        }
        if !current.is_empty() {
            pieces.push(Self { group: self.group.clone(), ranges: current });
        }
        pieces
    }

    /// Returns how many rows are decoded.
    pub(super) fn len(&self) -> u64 {
        self.ranges.iter().map(|range| range.end - range.start).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Returns how many of the rows are not deleted.
    pub(super) fn live(&self, deleted: Option<&DeletionVector>) -> u64 {
        let dead: u64 = deleted.map_or(0, |deleted| self.ranges.iter().map(|range| deleted.deleted_in(range.clone())).sum());
        self.len() - dead
    }

    /// Returns the selection for the decoder of this row group; None selects all of it.
    pub(super) fn selection(&self) -> Option<RowSelection> {
        if self.len() == self.group.end - self.group.start {
            return None;
        }
        let mut selectors = Vec::with_capacity(2 * self.ranges.len() + 1);
        let mut at = self.group.start;
        for range in &self.ranges {
            selectors.push(RowSelector::skip(size(range.start - at)));
            selectors.push(RowSelector::select(size(range.end - range.start)));
            at = range.end;
        }
        selectors.push(RowSelector::skip(size(self.group.end - at)));
        selectors.retain(|selector| selector.row_count > 0);
        Some(selectors.into())
    }

    /// Returns the selection for the decoder of this row group if only the marked rows are needed.
    pub(super) fn selection_of(&self, marks: &BooleanBuffer) -> RowSelection {
        if self.len() == self.group.end - self.group.start {
            return RowSelection::from_boolean_buffer(marks.clone());
        }
        let mut whole = BooleanBufferBuilder::new(size(self.group.end - self.group.start));
        let (mut at, mut taken) = (self.group.start, 0);
        for range in &self.ranges {
            whole.append_n(size(range.start - at), false);
            let count = size(range.end - range.start);
            whole.append_buffer(&marks.slice(taken, count));
            taken += count;
            at = range.end;
        }
        whole.append_n(size(self.group.end - at), false);
        RowSelection::from_boolean_buffer(whole.finish())
    }

    /// Returns the rows as a queue, from which each decoded batch takes its rows.
    pub(super) fn undecoded(&self) -> UndecodedRows {
        UndecodedRows { ahead: self.ranges.iter().cloned().collect() }
    }
}

/// The rows that have not been decoded yet.
#[derive(Default)]
pub(super) struct UndecodedRows {
    ahead: VecDeque<Range<u64>>,
}

impl UndecodedRows {
    /// Returns those of these rows that have not been decoded yet.
    pub(super) fn rest(&self, of: &RowRanges) -> RowRanges {
        RowRanges { group: of.group.clone(), ranges: self.ahead.iter().cloned().collect() }
    }

    /// Takes the next rows and returns their positions.
    pub(super) fn next(&mut self, mut count: u64) -> RowPositions {
        let mut taken = Vec::new();
        while count > 0 {
            let Some(first) = self.ahead.front_mut() else { break };
            let end = first.end.min(first.start.saturating_add(count));
            taken.push(first.start..end);
            count -= end - first.start;
            first.start = end;
            if first.is_empty() {
                self.ahead.pop_front();
            }
        }
        RowPositions(taken)
    }
}

/// The positions of the rows of a batch in the file.
pub(super) struct RowPositions(Vec<Range<u64>>);

impl RowPositions {
    /// Marks the rows that are not deleted; None if no row is deleted.
    pub(super) fn live(&self, deleted: Option<&DeletionVector>) -> Option<BooleanBuffer> {
        let deleted = deleted?;
        if self.0.iter().all(|range| deleted.deleted_in(range.clone()) == 0) {
            return None;
        }
        let mut marks = BooleanBufferBuilder::new(size(self.0.iter().map(|range| range.end - range.start).sum()));
        for range in &self.0 {
            let mut at = range.start;
            for run in deleted.deleted_ranges(range.clone()) {
                marks.append_n(size(run.start - at), true);
                marks.append_n(size(run.end - run.start), false);
                at = run.end;
            }
            marks.append_n(size(range.end - at), true);
        }
        Some(marks.finish())
    }

    /// Returns the positions as a column.
    pub(super) fn column(&self) -> ArrayRef {
        std::sync::Arc::new(Int64Array::from_iter_values(self.0.iter().flat_map(|range| range.clone().map(u64::cast_signed))))
    }
}

fn push(ranges: &mut Vec<Range<u64>>, range: Range<u64>) {
    if range.start < range.end {
        ranges.push(range);
    }
}

/// Converts a number of rows. A row group has fewer rows than memory has bytes.
fn size(rows: u64) -> usize {
    usize::try_from(rows).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use proptest::prelude::*;

    use super::*;

    /// Returns the rows that a selection chooses in a row group.
    fn chosen(selection: Option<RowSelection>, group: &Range<u64>) -> Vec<u64> {
        let Some(selection) = selection else { return group.clone().collect() };
        let mut at = group.start;
        let mut rows = Vec::new();
        for selector in selection.iter() {
            let end = at + selector.row_count as u64;
            if !selector.skip {
                rows.extend(at..end);
            }
            at = end;
        }
        assert!(at <= group.end);
        rows
    }

    fn listed(rows: &RowRanges) -> Vec<u64> {
        rows.ranges.iter().flat_map(Clone::clone).collect()
    }

    #[test]
    fn all_rows_need_no_selection() {
        let rows = RowRanges::all(10..20);
        assert!(rows.selection().is_none());
        assert_eq!((rows.len(), rows.live(None)), (10, 10));
        assert!(RowRanges::all(5..5).is_empty());
    }

    #[test]
    fn short_runs_of_deleted_rows_are_read() {
        let deleted: DeletionVector = (100..100 + LONG_RUN).chain([5, 7]).chain(9_000..9_000 + LONG_RUN - 1).collect();
        let rows = RowRanges::all(0..20_000).without_deleted_runs(&deleted);
        assert_eq!(rows.ranges, [0..100, 100 + LONG_RUN..20_000]);
        assert_eq!(rows.live(Some(&deleted)), 20_000 - LONG_RUN - 2 - (LONG_RUN - 1));
    }

    #[test]
    fn pieces_cut_across_ranges() {
        let rows = RowRanges::all(0..100).within(&[0..10, 20..25, 90..100]);
        let pieces: Vec<_> = rows.pieces(12, &[]).iter().map(|piece| piece.ranges.clone()).collect();
        assert_eq!(pieces, [vec![0..10, 20..22], vec![22..25, 90..99], vec![99..100]]);
    }

    #[test]
    fn piece_ends_at_page_end_if_near() {
        let cut = |most: u64, pages: &[u64]| -> Vec<Range<u64>> {
            RowRanges::all(1000..1100).pieces(most, pages).iter().flat_map(|piece| piece.ranges.clone()).collect()
        };
        assert_eq!(cut(50, &[1000, 1020, 1040, 1060, 1080]), [1000..1040, 1040..1080, 1080..1100]);
        assert_eq!(cut(40, &[1000, 1020, 1040, 1060, 1080]), [1000..1040, 1040..1080, 1080..1100]);
        assert_eq!(cut(46, &[1000, 1020, 1090]), [1000..1046, 1046..1090, 1090..1100]);
        assert_eq!(cut(200, &[1000, 1020]).first(), Some(&(1000..1100)));
    }

    proptest! {
        #[test]
        fn whatever_is_skipped_positions_stay_right(
            first in 0_u64..1000,
            count in 1_u64..300,
            cuts in prop::collection::btree_set(0_u64..1400, 0..12),
            deleted in prop::collection::btree_set(0_u64..1400, 0..200),
            batch in 1_u64..50,
            pages in prop::collection::btree_set(0_u64..1400, 0..40),
        ) {
            let group = first..first + count;
            let cuts: Vec<u64> = cuts.into_iter().collect();
            let kept: Vec<Range<u64>> = cuts.chunks_exact(2).map(|pair| pair[0]..pair[1]).collect();
            let deleted: DeletionVector = deleted.into_iter().collect();
            let rows = RowRanges::all(group.clone()).within(&kept);
            let expected: Vec<u64> = group.clone().filter(|row| kept.iter().any(|range| range.contains(row))).collect();
            prop_assert_eq!(listed(&rows), expected.clone());
            prop_assert_eq!(chosen(rows.selection(), &group), expected.clone());
            prop_assert_eq!(rows.live(Some(&deleted)), expected.iter().filter(|row| !deleted.contains(**row)).count() as u64);

            // Over all batches, the positions and the marks of live rows agree with the rows.
            let mut undecoded = rows.undecoded();
            let (mut positions, mut live) = (Vec::new(), Vec::new());
            for start in (0..rows.len()).step_by(usize::try_from(batch).unwrap()) {
                let count = batch.min(rows.len() - start);
                let part = undecoded.next(count);
                positions.extend(part.column().as_primitive::<Int64Type>().values().iter().map(|row| row.cast_unsigned()));
                match part.live(Some(&deleted)) {
                    Some(marks) => live.extend(marks.iter()),
                    None => live.extend((0..count).map(|_| true)),
                }
            }
            prop_assert_eq!(&positions, &expected);
            let expected_live: Vec<bool> = expected.iter().map(|row| !deleted.contains(*row)).collect();
            prop_assert_eq!(&live, &expected_live);

            // A selection from marks chooses the marked rows.
            let marked: Vec<u64> = expected.iter().zip(&live).filter(|(_, live)| **live).map(|(row, _)| *row).collect();
            prop_assert_eq!(chosen(Some(rows.selection_of(&live.into())), &group), marked);

            // The first live rows are chosen together with as few other rows as possible.
            let some = (rows.live(Some(&deleted)) / 2).max(1);
            let first = rows.first_live(some, Some(&deleted));
            if rows.live(Some(&deleted)) >= some {
                prop_assert_eq!(first.live(Some(&deleted)), some);
                prop_assert!(!deleted.contains(*listed(&first).last().unwrap()));
            }
            prop_assert_eq!(listed(&rows.skip(batch)), expected.iter().skip(usize::try_from(batch).unwrap()).copied().collect::<Vec<_>>());

            // The pieces make up the whole, and none is too large.
            let pieces = rows.pieces(batch, &pages.into_iter().collect::<Vec<_>>());
            prop_assert!(pieces.iter().all(|piece| piece.len() <= batch && !piece.is_empty()));
            prop_assert_eq!(pieces.iter().flat_map(listed).collect::<Vec<_>>(), expected);
        }
    }
}
