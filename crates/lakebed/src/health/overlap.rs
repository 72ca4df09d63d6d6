//! How many files a lookup of one value of a column reads, computed from the bounds of a sample of
//! files.

use arrow_array::{Array, ArrayRef};
use arrow_row::{OwnedRow, RowConverter, SortField};
use lakebed_core::log::files::FileKey;

use crate::Result;

/// The most files of which bounds are kept.
const MOST: usize = 50_000;

/// The bounds of a column in a sample of files: those with the least hashes.
#[derive(Default)]
pub(super) struct Intervals {
    converter: Option<RowConverter>,
    kept: Vec<(FileKey, OwnedRow, OwnedRow)>,
    /// Files with greater hashes are left out.
    limit: Option<FileKey>,
    /// The number of files with bounds.
    pub(super) files: u64,
}

impl Intervals {
    /// Adds the bounds of files.
    pub(super) fn add(&mut self, least: &ArrayRef, greatest: &ArrayRef, keys: &[FileKey]) -> Result<()> {
        let converter = match &mut self.converter {
            Some(converter) => converter,
            none => none.insert(RowConverter::new(vec![SortField::new(least.data_type().clone())])?),
        };
        let rows =
            (converter.convert_columns(std::slice::from_ref(least))?, converter.convert_columns(std::slice::from_ref(greatest))?);
        for (row, key) in keys.iter().enumerate() {
            if least.is_null(row) || greatest.is_null(row) {
                continue;
            }
            self.files += 1;
            if self.limit.is_none_or(|limit| *key <= limit) {
                self.kept.push((*key, rows.0.row(row).owned(), rows.1.row(row).owned()));
            }
        }
        if self.kept.len() > 2 * MOST {
            self.kept.sort_unstable_by_key(|(key, ..)| *key);
            self.kept.truncate(MOST);
            self.limit = self.kept.last().map(|(key, ..)| *key);
        }
        Ok(())
    }

    /// Returns the share of files whose bounds contain a value, on average over the least values of
    /// the files. It is `None` with fewer than two files.
    pub(super) fn depth(mut self) -> Option<f64> {
        if self.kept.len() > MOST {
            self.kept.sort_unstable_by_key(|(key, ..)| *key);
            self.kept.truncate(MOST);
        }
        let count = self.kept.len();
        if count < 2 {
            return None;
        }
        let (mut starts, mut ends): (Vec<OwnedRow>, Vec<OwnedRow>) =
            self.kept.into_iter().map(|(_, least, greatest)| (least, greatest)).unzip();
        starts.sort_unstable();
        ends.sort_unstable();
        let mut open: u64 = 0;
        for start in &starts {
            let begun = starts.partition_point(|other| other <= start);
            let ended = ends.partition_point(|end| end < start);
            open += begun.saturating_sub(ended) as u64;
        }
        Some(open as f64 / count as f64 / count as f64)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::Int64Array;

    use super::*;

    #[track_caller]
    fn check(bounds: &[(i64, i64)], expected: Option<f64>) {
        let mut intervals = Intervals::default();
        let array = |values: Vec<i64>| Arc::new(Int64Array::from(values)) as ArrayRef;
        let keys: Vec<FileKey> = (0..bounds.len()).map(|file| FileKey::new(&file.to_string(), None)).collect();
        let (least, greatest) = bounds.iter().copied().unzip();
        intervals.add(&array(least), &array(greatest), &keys).unwrap();
        assert_eq!(intervals.depth(), expected, "{bounds:?}");
    }

    #[test]
    fn depth_is_share_of_files_with_value() {
        check(&[(0, 9)], None);
        // Each value is in one file of four.
        check(&[(30, 39), (0, 9), (20, 29), (10, 19)], Some(0.25));
        // Every file has every value.
        check(&[(0, 9), (0, 9), (0, 9)], Some(1.0));
        // The value 0 is in one file, and 5 in two.
        check(&[(0, 5), (5, 9)], Some(0.75));
    }
}
