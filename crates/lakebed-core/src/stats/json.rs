//! Reads statistics from JSON strings.

use arrow_array::{Array, ArrayRef, StringArray};

use super::StatColumn;
use super::leaf::Leaf;
use super::paths::Paths;
use super::scan::Scan;

/// Returns the requested statistics of many files from their JSON: an array for each statistic,
/// with a row for each string.
///
/// A string that is null or not one JSON object gives nulls in all arrays. Otherwise
/// [`StatKind::TightBounds`](super::StatKind::TightBounds) is true if the JSON does not have it.
pub fn from_json(texts: &StringArray, wanted: &[StatColumn]) -> Vec<ArrayRef> {
    read(texts, wanted, Leaf::new)
}

/// Returns the statistics as they are written, to write them in another form. No bound is widened,
/// and values that are missing in the JSON are null.
pub fn from_json_as_written(texts: &StringArray, wanted: &[StatColumn]) -> Vec<ArrayRef> {
    read(texts, wanted, Leaf::as_written)
}

fn read(texts: &StringArray, wanted: &[StatColumn], leaf: fn(&StatColumn, usize) -> Leaf) -> Vec<ArrayRef> {
    let mut paths = Paths::new();
    let mut leaves: Vec<(usize, Leaf)> =
        wanted.iter().map(|column| (paths.add(column.names()), leaf(column, texts.len()))).collect();
    let mut scan = Scan::new(&paths);
    for text in texts {
        match text.filter(|text| scan.walk(text)) {
            Some(text) => leaves.iter_mut().for_each(|(slot, leaf)| leaf.append(scan.value(text, *slot).as_ref())),
            None => leaves.iter_mut().for_each(|(_, leaf)| leaf.append_null()),
        }
    }
    leaves.into_iter().map(|(_, leaf)| leaf.finish()).collect()
}
