//! Shortens bounds of strings and bytes, and keeps them long enough to distinguish the rows of a
//! page or of a column chunk from others.
//!
//! Values with a common prefix differ in the bytes after it, so bounds keep the prefix and some
//! more bytes.

use lakebed_core::Result;
use parquet::arrow::arrow_writer::ArrowColumnChunk;
use parquet::basic::{BoundaryOrder, ConvertedType, LogicalType, Type};
use parquet::data_type::ByteArray;
use parquet::file::metadata::{ColumnIndexBuilder, LevelHistogram};
use parquet::file::page_index::column_index::{ByteArrayColumnIndex, ColumnIndexMetaData};
use parquet::file::statistics::{Statistics, ValueStatistics};
use parquet::schema::types::ColumnDescriptor;

use crate::at::At;

/// The number of bytes that are kept after the common prefix of the least and the greatest value.
const KEPT_BYTES: usize = 64;
/// The largest number of bytes that are kept. It is enough for URLs.
pub(super) const MOST_BYTES: usize = 1024;

/// A lower or an upper bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bound {
    pub(super) bytes: Vec<u8>,
    /// Whether the bound is the least or the greatest value itself.
    pub(super) is_exact: bool,
}

/// The content of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// Values in UTF-8. Their bounds are in UTF-8 too.
    Text,
    Bytes,
}

impl Content {
    fn of(column: &ColumnDescriptor) -> Self {
        let is_text = column.logical_type_ref() == Some(&LogicalType::String) || column.converted_type() == ConvertedType::UTF8;
        if is_text { Self::Text } else { Self::Bytes }
    }
}

/// Returns bounds of values that lie between `least` and `most`.
pub(super) fn bounds(least: &[u8], most: &[u8], content: Content) -> (Bound, Bound) {
    let length = kept(least, most);
    (below(least, length, content), above(most, length, content))
}

/// Returns the largest number of bytes that bounds may have.
fn kept(least: &[u8], most: &[u8]) -> usize {
    let common = least.iter().zip(most).take_while(|(least, most)| least == most).count();
    (common + KEPT_BYTES).min(MOST_BYTES)
}

/// Returns a bound that is not greater than the value.
fn below(value: &[u8], length: usize, content: Content) -> Bound {
    match beginning(value, length, content) {
        Some(short) => Bound { bytes: short.to_vec(), is_exact: false },
        None => Bound { bytes: value.to_vec(), is_exact: true },
    }
}

/// Returns a bound that is not less than the value. The bound is short, if a short one exists.
fn above(value: &[u8], length: usize, content: Content) -> Bound {
    match beginning(value, length, content).and_then(|short| next(short, content)) {
        Some(short) => Bound { bytes: short, is_exact: false },
        None => Bound { bytes: value.to_vec(), is_exact: true },
    }
}

/// Returns the prefix of a value that is longer than `length`.
fn beginning(value: &[u8], length: usize, content: Content) -> Option<&[u8]> {
    let short = value.get(..length).filter(|short| short.len() < value.len())?;
    match content {
        Content::Bytes => Some(short),
        Content::Text => Some(&short[..std::str::from_utf8(value).ok()?.floor_char_boundary(length)]),
    }
}

/// Returns a value above all values with this prefix. It replaces the last byte or character that
/// has a successor of the same length by that successor.
fn next(value: &[u8], content: Content) -> Option<Vec<u8>> {
    if content == Content::Bytes {
        let last = value.iter().rposition(|byte| *byte < u8::MAX)?;
        return Some(value[..last].iter().copied().chain([value[last] + 1]).collect());
    }
    let text = std::str::from_utf8(value).ok()?;
    let next = |(at, letter): (usize, char)| {
        let next = char::from_u32(letter as u32 + 1).filter(|next| next.len_utf8() == letter.len_utf8())?;
        Some(format!("{}{next}", &text[..at]).into_bytes())
    };
    text.char_indices().rev().find_map(next)
}

/// The order of pages by their bounds: ascending or descending.
#[derive(Debug)]
pub(super) struct PageOrder<T> {
    is_ascending: bool,
    is_descending: bool,
    /// The bounds of the last page that has a value.
    last: Option<(T, T)>,
}

impl<T: PartialOrd> PageOrder<T> {
    pub(super) fn new() -> Self {
        Self { is_ascending: true, is_descending: true, last: None }
    }

    /// Adds the bounds of the next page, as they are written.
    pub(super) fn push(&mut self, below: T, above: T) {
        if let Some(last) = &self.last {
            self.is_ascending &= last.0 <= below && last.1 <= above;
            self.is_descending &= last.0 >= below && last.1 >= above;
        }
        self.last = Some((below, above));
    }

    pub(super) fn boundary_order(&self) -> BoundaryOrder {
        match (self.is_ascending, self.is_descending) {
            (true, _) => BoundaryOrder::ASCENDING,
            (false, true) => BoundaryOrder::DESCENDING,
            (false, false) => BoundaryOrder::UNORDERED,
        }
    }
}

/// Shortens the bounds of a chunk of strings or bytes, and those of its pages.
pub(super) fn shorten(chunk: &mut ArrowColumnChunk) -> Result<()> {
    let close = chunk.close_mut();
    if close.metadata.column_type() != Type::BYTE_ARRAY {
        return Ok(());
    }
    let content = Content::of(close.metadata.column_descr());
    if let Some(Statistics::ByteArray(known)) = close.metadata.statistics() {
        let short = shortened(known, content);
        close.metadata = close.metadata.clone().into_builder().set_statistics(short.into()).build().at("a column")?;
    }
    if let Some(ColumnIndexMetaData::BYTE_ARRAY(index)) = &close.column_index {
        close.column_index = Some(shortened_index(index, content)?);
    }
    Ok(())
}

fn shortened(known: &ValueStatistics<ByteArray>, content: Content) -> ValueStatistics<ByteArray> {
    let (Some(least), Some(most)) = (known.min_opt(), known.max_opt()) else { return known.clone() };
    let (below, above) = bounds(least.data(), most.data(), content);
    let is_exact = (below.is_exact && known.min_is_exact(), above.is_exact && known.max_is_exact());
    let bytes = |bound: Bound| Some(ByteArray::from(bound.bytes));
    ValueStatistics::new(bytes(below), bytes(above), known.distinct_count(), known.null_count_opt(), false)
        .with_min_is_exact(is_exact.0)
        .with_max_is_exact(is_exact.1)
        .with_backwards_compatible_min_max(known.is_min_max_backwards_compatible())
}

fn shortened_index(index: &ByteArrayColumnIndex, content: Content) -> Result<ColumnIndexMetaData> {
    let (mut short, mut order) = (ColumnIndexBuilder::new(Type::BYTE_ARRAY), PageOrder::new());
    for page in 0..index.num_pages() as usize {
        let nulls = index.null_count(page).unwrap_or(0);
        match index.min_value(page).zip(index.max_value(page)) {
            None => short.append(true, Vec::new(), Vec::new(), nulls),
            Some((least, most)) => {
                let (below, above) = bounds(least, most, content);
                order.push(below.bytes.clone(), above.bytes.clone());
                short.append(false, below.bytes, above.bytes, nulls);
            }
        }
        let histogram = |levels: Option<&[i64]>| levels.map(|levels| LevelHistogram::from(levels.to_vec()));
        let (repetitions, definitions) = (index.repetition_level_histogram(page), index.definition_level_histogram(page));
        short.append_histograms(&histogram(repetitions), &histogram(definitions));
    }
    short.set_boundary_order(order.boundary_order());
    short.build().at("an index of pages")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bound(bytes: &[u8], is_exact: bool) -> Bound {
        Bound { bytes: bytes.to_vec(), is_exact }
    }

    #[test]
    fn bounds_of_long_texts_are_short() {
        let of = |text: &str| bounds(b"", text.as_bytes(), Content::Text).1;
        let below = |text: &str| below(text.as_bytes(), KEPT_BYTES, Content::Text);
        let short = "é".repeat(32);
        assert_eq!(below(&short), bound(short.as_bytes(), true));
        assert_eq!(of(&short), bound(short.as_bytes(), true));
        let long = format!("{}é", "a".repeat(63));
        assert_eq!(below(&long), bound("a".repeat(63).as_bytes(), false));
        assert_eq!(of(&long), bound(format!("{}b", "a".repeat(62)).as_bytes(), false));
        // DEL is the last character of one byte, and no character is between U+D7FF and U+E000.
        assert_eq!(of(&format!("ab{}", "\u{7f}".repeat(100))), bound(b"ac", false));
        assert_eq!(of(&format!("b{}", "\u{d7ff}".repeat(40))), bound(b"c", false));
        let long = "\u{10ffff}".repeat(40);
        assert_eq!(of(&long), bound(long.as_bytes(), true));
    }

    #[test]
    fn bounds_of_long_bytes_are_short() {
        let of = |bytes: &[u8]| bounds(b"", bytes, Content::Bytes);
        assert_eq!(of(&[7; 64]).1, bound(&[7; 64], true));
        assert_eq!(of(&[7; 65]).1, bound(&[[7; 63].as_slice(), &[8]].concat(), false));
        assert_eq!(of(&[[7].as_slice(), &[255; 100]].concat()).1, bound(&[8], false));
        assert_eq!(of(&[255; 100]).1, bound(&[255; 100], true));
        assert_eq!(below(&[0xC3; 65], KEPT_BYTES, Content::Bytes), bound(&[0xC3; 64], false));
    }

    #[test]
    fn values_that_begin_alike_are_told_apart() {
        let text = |end: &str| format!("{}{end}", "x".repeat(500)).into_bytes();
        let (below, above) = bounds(&text("1"), &text("4"), Content::Text);
        assert_eq!((below, above), (bound(&text("1"), true), bound(&text("4"), true)));
        let (below, above) = bounds(&text(&"1".repeat(90)), &text(&"4".repeat(90)), Content::Text);
        assert_eq!(below, bound(&text(&"1".repeat(64)), false));
        assert_eq!(above, bound(&text(&format!("{}5", "4".repeat(63))), false));
        let same = vec![b'x'; 3000];
        let (below, above) = bounds(&same, &same, Content::Bytes);
        assert_eq!((below.bytes.len(), above.bytes.len()), (MOST_BYTES, MOST_BYTES));
    }

    #[test]
    fn order_is_that_of_the_bounds() {
        let of = |pages: &[(u8, u8)]| {
            let mut order = PageOrder::new();
            pages.iter().for_each(|(below, above)| order.push(*below, *above));
            order.boundary_order()
        };
        assert_eq!(of(&[(1, 2), (1, 2), (2, 3)]), BoundaryOrder::ASCENDING);
        assert_eq!(of(&[(2, 3), (2, 3), (1, 3)]), BoundaryOrder::DESCENDING);
        assert_eq!(of(&[(1, 4), (2, 3)]), BoundaryOrder::UNORDERED);
        assert_eq!(of(&[(1, 2), (2, 3), (1, 2)]), BoundaryOrder::UNORDERED);
        assert_eq!(of(&[]), BoundaryOrder::ASCENDING);
    }

    proptest! {
        #[test]
        fn bounds_hold(
            shared in "[a\u{7f}é\u{d7ff}\u{10ffff}]{0,400}",
            ends in proptest::collection::vec("[a\u{7f}é\u{d7ff}\u{10ffff}]{0,120}", 1..5),
            is_text: bool,
        ) {
            let content = if is_text { Content::Text } else { Content::Bytes };
            let mut values: Vec<Vec<u8>> = ends.iter().map(|end| format!("{shared}{end}").into_bytes()).collect();
            values.sort();
            let (least, most) = (&values[0], &values[values.len() - 1]);
            let (below, above) = bounds(least, most, content);
            prop_assert!(below.bytes <= *least && *most <= above.bytes);
            prop_assert_eq!(below.is_exact, below.bytes == *least);
            prop_assert_eq!(above.is_exact, above.bytes == *most);
            prop_assert!(below.bytes.len() <= MOST_BYTES);
            prop_assert!(content == Content::Bytes || std::str::from_utf8(&below.bytes).is_ok() && std::str::from_utf8(&above.bytes).is_ok());
        }
    }
}
