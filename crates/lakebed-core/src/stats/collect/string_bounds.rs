//! Collects the least and the greatest string of a column, compared as UTF-8.
//!
//! Nearly every string is excluded by a comparison of integers that hold its first bytes. The
//! strings themselves are compared only if these integers equal those of a bound.

use arrow_array::{Array, StringArray, StringViewArray};
use arrow_buffer::NullBuffer;

use super::cut::{bytes_that_count, cut_high, cut_low};
use super::span::Span;

/// The number of characters that bounds keep by default. Bounds of strings with a common prefix
/// keep more.
const USUAL_PREFIX: u32 = 32;
/// The largest number of characters that bounds keep. It is enough for URLs.
const LONGEST_PREFIX: u32 = 1024;

/// The least and the greatest string so far, up to the number of bytes that count.
pub(super) struct StringBounds {
    low: Option<Vec<u8>>,
    high: Option<Vec<u8>>,
    prefix: u32,
    /// The keys of the last array. They and `rows` are kept to reuse their memory.
    keys: Vec<u64>,
    rows: Vec<u32>,
}

impl StringBounds {
    pub(super) fn new(prefix: u32) -> Self {
        Self { low: None, high: None, prefix, keys: Vec::new(), rows: Vec::new() }
    }

    /// Adds the strings that are not null.
    pub(super) fn update<T: Utf8Array>(&mut self, texts: &T, nulls: Option<&NullBuffer>) {
        let (skipped, span) = self.fill_keys(texts, nulls);
        let part =
            KeyedStrings { texts, nulls, keys: &self.keys, compared: skipped + BYTES, counts: bytes_that_count(self.longest()) };
        if let Some(low) = part.find(span.low, |text, other| text < other, self.low.as_deref(), &mut self.rows) {
            self.low = Some(low.to_vec());
        }
        if let Some(high) = part.find(span.high, |text, other| text > other, self.high.as_deref(), &mut self.rows) {
            self.high = Some(high.to_vec());
        }
    }

    /// Fills the keys with the first bytes in which strings differ. Also returns the number of
    /// bytes before these.
    fn fill_keys<T: Utf8Array>(&mut self, texts: &T, nulls: Option<&NullBuffer>) -> (usize, Span<u64>) {
        let mut skipped = 0;
        loop {
            self.keys.clear();
            texts.push_keys(skipped, &mut self.keys);
            let span = Span::of(&self.keys, nulls, |key| key);
            if span.low != span.high || !is_long(span.low) || skipped == MOST_SKIPPED {
                return (skipped, span);
            }
            skipped += BYTES;
        }
    }

    /// Returns the number of characters that bounds keep. For strings with a common prefix, bounds
    /// of the usual length would exclude little or nothing. So these bounds are longer by the
    /// common prefix of the least and the greatest string.
    fn kept(&self) -> u32 {
        let (Some(low), Some(high)) = (&self.low, &self.high) else { return self.prefix };
        // A file with one long string does not need long bounds.
        if low == high {
            return self.prefix;
        }
        let both = whole_letters(low).chars().zip(whole_letters(high).chars());
        let common: usize = both.take_while(|(low, high)| low == high).map(|(letter, _)| letter.len_utf16()).sum();
        match u32::try_from(common) {
            Ok(common) if common > self.prefix / 2 && common < self.longest() => {
                common.saturating_add(self.prefix).min(self.longest())
            }
            _ => self.prefix,
        }
    }

    /// Returns the greatest number of characters that bounds may keep.
    fn longest(&self) -> u32 {
        if self.prefix == USUAL_PREFIX { LONGEST_PREFIX } else { self.prefix }
    }

    /// Returns a bound that no string is below.
    pub(super) fn low(&self) -> Option<String> {
        self.low.as_deref().map(|low| cut_low(whole_letters(low), self.kept()).to_owned())
    }

    /// Returns a bound that no string is above, if there is a short one.
    pub(super) fn high(&self) -> Option<String> {
        self.high.as_deref().and_then(|high| cut_high(whole_letters(high), self.kept()))
    }
}

/// An array of strings, in any of the Arrow forms.
pub(super) trait Utf8Array {
    fn bytes(&self, row: usize) -> &[u8];

    /// Makes keys of the bytes after the skipped ones. See [`key`].
    fn push_keys(&self, skipped: usize, keys: &mut Vec<u64>);
}

impl Utf8Array for StringArray {
    fn bytes(&self, row: usize) -> &[u8] {
        self.value(row).as_bytes()
    }

    fn push_keys(&self, skipped: usize, keys: &mut Vec<u64>) {
        let (data, ends) = (self.value_data(), self.value_offsets().windows(2));
        match skipped {
            0 => keys.extend(ends.map(|ends| key(data, ends, 0))),
            _ => keys.extend(ends.map(|ends| key(data, ends, skipped))),
        }
    }
}

impl Utf8Array for StringViewArray {
    fn bytes(&self, row: usize) -> &[u8] {
        self.value(row).as_bytes()
    }

    fn push_keys(&self, skipped: usize, keys: &mut Vec<u64>) {
        let key_behind = |row: usize| {
            let rest = self.bytes(row).get(skipped..).unwrap_or_default();
            key_of_bytes(first_bytes(rest, 0), rest.len())
        };
        match skipped {
            0 => keys
                .extend(self.views().iter().enumerate().map(|(row, view)| inline_key(*view).unwrap_or_else(|| key_behind(row)))),
            _ => keys.extend((0..self.len()).map(key_behind)),
        }
    }
}

/// An array with its keys.
struct KeyedStrings<'t, T> {
    texts: &'t T,
    nulls: Option<&'t NullBuffer>,
    keys: &'t [u64],
    /// The number of first bytes in which strings with the same key are equal.
    compared: usize,
    /// The number of first bytes of a string that count.
    counts: usize,
}

impl<'t, T: Utf8Array> KeyedStrings<'t, T> {
    /// Returns the first string in an order among the strings with this key, if it comes before
    /// `known`.
    fn find(
        &self,
        key: u64,
        is_before: impl Fn(&[u8], &[u8]) -> bool,
        known: Option<&[u8]>,
        rows: &mut Vec<u32>,
    ) -> Option<&'t [u8]> {
        let first = self.keys.iter().enumerate().find(|(row, other)| **other == key && self.is_valid(*row));
        let mut found = self.text(first?.0);
        if known.is_some_and(|known| is_before(head(known, self.compared), head(found, self.compared))) {
            return None;
        }
        if is_long(key) {
            fill_rows(self.keys, key, rows);
            for row in rows.iter().map(|row| *row as usize).filter(|row| self.is_valid(*row)) {
                let text = self.text(row);
                if is_before(text, found) {
                    found = text;
                }
            }
        }
        known.is_none_or(|known| is_before(found, known)).then_some(found)
    }

    fn is_valid(&self, row: usize) -> bool {
        self.nulls.is_none_or(|nulls| nulls.is_valid(row))
    }

    fn text(&self, row: usize) -> &'t [u8] {
        head(self.texts.bytes(row), self.counts)
    }
}

/// Fills `rows` with the rows that have this key. There is no branch that depends on a key, because
/// the processor could not predict it if many keys are equal.
fn fill_rows(keys: &[u64], key: u64, rows: &mut Vec<u32>) {
    rows.clear();
    rows.resize(keys.len(), 0);
    let mut count = 0;
    for (row, other) in keys.iter().enumerate() {
        if let Some(place) = rows.get_mut(count) {
            *place = row as u32;
        }
        count += usize::from(*other == key);
    }
    rows.truncate(count);
}

/// The number of bytes of a string that a key holds.
const BYTES: usize = 7;

/// The greatest number of bytes that keys skip. For longer common prefixes, comparing whole strings
/// is faster than making more keys.
const MOST_SKIPPED: usize = 4 * BYTES;

/// Masks by the number of a string's bytes that a key holds. A mask has ones for these bytes, at
/// their positions in the key.
const HELD: [u64; BYTES + 2] = {
    let mut held = [0; BYTES + 2];
    let mut bytes = 1;
    while bytes <= BYTES + 1 {
        let above = if bytes > BYTES { BYTES } else { bytes };
        held[bytes] = !(u64::MAX >> (8 * above));
        bytes += 1;
    }
    held
};

/// Returns a key of the bytes after the skipped ones, followed by their number. The number is at
/// most one more than the number of bytes that a key holds. Keys have the order of their strings.
/// Two strings with different bytes have the same key only if they are long.
#[inline(always)]
fn key(data: &[u8], ends: &[i32], skipped: usize) -> u64 {
    let [start, end] = ends else { return 0 };
    // Neither number is negative.
    let (start, end) = (start.cast_unsigned() as usize, end.cast_unsigned() as usize);
    let start = if skipped == 0 { start } else { end.min(start + skipped) };
    let length = end.wrapping_sub(start);
    key_of_bytes(first_bytes(data, start), length)
}

/// Returns the key like [`key`], with nothing skipped, if the string is so short that its view
/// contains it.
#[inline(always)]
fn inline_key(view: u128) -> Option<u64> {
    const MOST_INLINE: u32 = 12;
    let length = view as u32;
    (length <= MOST_INLINE).then(|| key_of_bytes(((view >> 32) as u64).to_le_bytes(), length as usize))
}

/// Returns the key of a string with these first bytes and this length.
#[inline(always)]
fn key_of_bytes(first: [u8; 8], length: usize) -> u64 {
    let length = length.min(BYTES + 1);
    u64::from_be_bytes(first) & HELD[length] | length as u64
}

/// Returns the bytes from `start` on, with zeros after the end.
#[inline(always)]
fn first_bytes(data: &[u8], start: usize) -> [u8; 8] {
    match data.get(start..).and_then(|rest| rest.first_chunk()) {
        Some(first) => *first,
        None => last_bytes(data, start),
    }
}

#[cold]
fn last_bytes(data: &[u8], start: usize) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes.iter_mut().zip(data.get(start..).unwrap_or_default()).for_each(|(byte, last)| *byte = *last);
    bytes
}

fn head(text: &[u8], bytes: usize) -> &[u8] {
    text.get(..bytes).unwrap_or(text)
}

/// Returns whether the key does not hold all of its text.
fn is_long(key: u64) -> bool {
    key & 0xff > BYTES as u64
}

/// Returns the string without an incomplete character at its end.
fn whole_letters(text: &[u8]) -> &str {
    let end = std::str::from_utf8(text).map_or_else(|error| error.valid_up_to(), str::len);
    text.get(..end).and_then(|text| std::str::from_utf8(text).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use arrow_array::Array;
    use proptest::prelude::*;

    use super::*;

    fn any_text() -> impl Strategy<Value = String> {
        prop_oneof!["[a-b\u{0}]{0,10}", "(Customer)?[0-9é😀]{0,6}", "\\PC{0,12}"]
    }

    /// Strings, many of which have a common prefix.
    fn any_texts() -> impl Strategy<Value = Vec<Option<String>>> {
        let begun = ("[ab]{0,40}", prop::collection::vec(prop::option::weighted(0.9, "[ab]{0,9}"), 0..20));
        prop_oneof![
            prop::collection::vec(prop::option::weighted(0.9, any_text()), 0..100),
            begun.prop_map(|(start, ends)| ends.iter().map(|end| end.as_ref().map(|end| format!("{start}{end}"))).collect()),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]

        #[test]
        fn the_least_and_the_greatest_are_found(
            texts in any_texts(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
        ) {
            // The array has a value at the positions of nulls too.
            let filled = StringArray::from_iter_values(texts.iter().map(|text| text.as_deref().unwrap_or("Customer")));
            let nulls: NullBuffer = texts.iter().map(Option::is_some).collect::<Vec<_>>().into();
            let array = StringArray::new(filled.offsets().clone(), filled.values().clone(), Some(nulls));
            let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(texts.len() + 1)).chain([0, texts.len()]).collect();
            ends.sort_unstable();
            let views = StringViewArray::from(&array);
            let (mut found, mut found_in_views) = (StringBounds::new(u32::MAX), StringBounds::new(u32::MAX));
            for pair in ends.windows(2) {
                let part = array.slice(pair[0], pair[1] - pair[0]);
                found.update(&part, part.nulls());
                let part = views.slice(pair[0], pair[1] - pair[0]);
                found_in_views.update(&part, part.nulls());
            }
            let valid = texts.iter().flatten();
            for found in [found, found_in_views] {
                prop_assert_eq!(found.low(), valid.clone().min().cloned());
                prop_assert_eq!(found.high(), valid.clone().max().cloned());
            }
        }

        #[test]
        fn bounds_of_common_prefix_are_longer(
            same in prop_oneof![0_usize..80, 950_usize..1100], letter in prop::sample::select(vec!["a", "é", "😀"]),
            ends in prop::collection::vec("[a-c😀]{0,50}", 1..6),
        ) {
            let texts: Vec<String> = ends.iter().map(|end| format!("{}{end}", letter.repeat(same))).collect();
            let mut found = StringBounds::new(USUAL_PREFIX);
            found.update(&StringArray::from_iter_values(&texts), None);
            let (least, greatest) = (texts.iter().min().unwrap(), texts.iter().max().unwrap());
            let (low, high) = (found.low().unwrap(), found.high());
            prop_assert!(least.starts_with(&low));
            prop_assert!(high.as_ref().is_none_or(|high| high >= greatest));
            let common: usize = least.chars().zip(greatest.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf16()).sum();
            if common <= 16 {
                prop_assert_eq!((low.as_str(), high), (cut_low(least, 32), cut_high(greatest, 32)));
            } else if common < 900 && least != greatest {
                prop_assert!(low.as_str() > &*letter.repeat(same) || low == *least, "{low} of {least} tells nothing");
                prop_assert!(low.encode_utf16().count() >= least.encode_utf16().count().min(common + 32));
            }
        }

        #[test]
        fn key_order_follows_string_order(a in any_text(), b in any_text()) {
            let array = StringArray::from(vec![a.as_str(), b.as_str()]);
            let (mut keys, mut keys_of_views) = (Vec::new(), Vec::new());
            array.push_keys(0, &mut keys);
            StringViewArray::from(&array).push_keys(0, &mut keys_of_views);
            prop_assert_eq!(&keys, &keys_of_views);
            match keys[0].cmp(&keys[1]) {
                std::cmp::Ordering::Equal => prop_assert!(a == b || is_long(keys[0])),
                order => prop_assert_eq!(order, a.cmp(&b)),
            }
        }
    }
}
