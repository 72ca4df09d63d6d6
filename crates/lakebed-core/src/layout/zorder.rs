//! Z-order: the bits of all ranks are interleaved.

use std::array::from_fn;

/// The bits of a key.
const BITS: usize = 128;

/// Returns the most significant bit of each rank, from the first column to the last, then the next
/// bit of each, and so on, up to 128 bits. With up to eight columns, these are all bits. The bits
/// after the 128th would distinguish no files.
///
/// The first bit is always the key's most significant bit, independent of the number of columns.
pub fn keys(columns: &[Vec<u16>]) -> Vec<u128> {
    let rows = columns.first().map_or(0, Vec::len);
    let table = Table::new(columns.len());
    let mut keys = vec![0; rows];
    for (place, column) in columns.iter().take(BITS).enumerate() {
        for (key, rank) in keys.iter_mut().zip(column) {
            *key |= table.spread(*rank) >> place;
        }
    }
    keys
}

/// The bits of each byte, spaced so that the bits of the other columns fit between them.
struct Table {
    high: [u128; 256],
    low: [u128; 256],
}

impl Table {
    fn new(columns: usize) -> Self {
        let bit = |place: usize| if place < BITS { 1_u128 << (BITS - 1 - place) } else { 0 };
        let spread = |byte: usize, first: usize| {
            let places = (0..8).filter(|place| byte >> (7 - place) & 1 == 1);
            places.map(|place| bit((first + place) * columns)).sum()
        };
        Self { high: from_fn(|byte| spread(byte, 0)), low: from_fn(|byte| spread(byte, 8)) }
    }

    fn spread(&self, rank: u16) -> u128 {
        let [high, low] = rank.to_be_bytes();
        self.high[usize::from(high)] | self.low[usize::from(low)]
    }
}
