//! Bounds of strings and binaries. Their first bytes are compared as integers. The remaining bytes
//! are compared only if the first ones are equal.

use super::bounds::{bounds_of, sorted};
use super::search::counts;

/// The bytes that a key holds.
const BYTES: usize = 15;
/// The number of bytes of a bound that are kept after its key. Statistics keep fewer bytes.
const TAIL: usize = 49;
/// The greatest length of the common prefix of a sample.
const MOST_COMMON: usize = 256;

/// The last byte of the key of a string that does not fit into the key. The last byte of any other
/// key is 1 to 16.
const LONG: u8 = 17;
const BELOW_ALL: u128 = 0;
const ABOVE_ALL: u128 = u128::MAX;

/// Sorted bounds without the common prefix of the sample.
#[derive(Debug, Clone)]
pub(super) struct StringBounds {
    common: Vec<u8>,
    keys: Vec<u128>,
    /// The bytes that follow after each key. There are no tails if all keys hold whole strings.
    tails: Vec<Box<[u8]>>,
}

impl StringBounds {
    pub(super) fn of_sample(sample: &[&[u8]], most: usize) -> Self {
        let common = common(sample);
        let rests = || sample.iter().map(|text| text.get(common.len()..).unwrap_or_default());
        let keys: Vec<u128> = rests().map(key_of_rest).collect();
        if !keys.iter().any(|key| is_long(*key)) {
            return Self { common: common.to_vec(), keys: bounds_of(sorted(keys), most), tails: Vec::new() };
        }
        let places = sorted(keys.into_iter().zip(rests().map(tail)).collect());
        let (keys, tails) = bounds_of(places, most).into_iter().map(|(key, tail)| (key, tail.into())).unzip();
        Self { common: common.to_vec(), keys, tails }
    }

    /// Returns for each string the number of bounds that are not above it.
    pub(super) fn counts(&self, texts: &[&[u8]]) -> Vec<u32> {
        let keys: Vec<u128> = texts.iter().map(|text| self.key(text)).collect();
        let mut counts = counts(&self.keys, &keys);
        for ((count, key), text) in counts.iter_mut().zip(&keys).zip(texts) {
            if is_long(*key) {
                self.settle(count, *key, text);
            }
        }
        counts
    }

    /// Corrects a count: of the bounds with the same key, only those with a tail that is not above
    /// the string's tail count.
    fn settle(&self, count: &mut u32, key: u128, text: &[u8]) {
        let rest = text.get(self.common.len() + BYTES..).unwrap_or_default();
        let end = *count as usize;
        let start = self.keys[..end].partition_point(|bound| *bound < key);
        let tails = self.tails.get(start..end).unwrap_or_default();
        *count = (start + tails.partition_point(|tail| **tail <= *rest)) as u32;
    }

    fn key(&self, text: &[u8]) -> u128 {
        match text.strip_prefix(self.common.as_slice()) {
            Some(rest) => key_of_rest(rest),
            None if *text < *self.common => BELOW_ALL,
            None => ABOVE_ALL,
        }
    }
}

/// Returns the first bytes, followed by the length. The length distinguishes a string from the same
/// string with zeros appended.
fn key_of_rest(rest: &[u8]) -> u128 {
    let mut bytes = [0; BYTES + 1];
    match rest.first_chunk() {
        Some(first) => {
            bytes = *first;
            bytes[BYTES] = LONG;
        }
        None => {
            bytes[..rest.len()].copy_from_slice(rest);
            bytes[BYTES] = rest.len() as u8 + 1;
        }
    }
    u128::from_be_bytes(bytes)
}

/// Returns whether the key does not hold the whole string.
fn is_long(key: u128) -> bool {
    key.to_be_bytes()[BYTES] == LONG
}

fn tail(rest: &[u8]) -> &[u8] {
    let tail = rest.get(BYTES..).unwrap_or_default();
    tail.get(..TAIL).unwrap_or(tail)
}

/// Returns the common prefix of all strings.
fn common<'a>(texts: &[&'a [u8]]) -> &'a [u8] {
    let Some((first, others)) = texts.split_first() else { return &[] };
    let mut common = first.get(..MOST_COMMON).unwrap_or(first);
    for text in others {
        if !text.starts_with(common) {
            let same = common.iter().zip(*text).take_while(|(one, other)| one == other).count();
            common = &common[..same];
        }
    }
    common
}
