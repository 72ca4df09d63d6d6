//! Statistics from JSON text.

use arrow_array::{Array, ArrayRef, StringArray};

use super::StatColumn;
use super::leaf::Leaf;
use super::paths::Paths;
use super::scan::Scan;

/// The wanted statistics of many files from their JSON text: an array for each, with a row for each
/// text.
///
/// A text that is null or not one JSON object has nulls everywhere. Otherwise
/// [`StatKind::TightBounds`](super::StatKind::TightBounds) is true where the text does not have it.
pub fn from_json(texts: &StringArray, wanted: &[StatColumn]) -> Vec<ArrayRef> {
    read(texts, wanted, Leaf::new)
}

/// The same as they are written: no bound is moved, and what the text does not have is null. For
/// writing them in another form.
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
