//! Encodes keys for pages: as runs of equal keys, and in groups of eight, packed into as few bits
//! as the greatest key needs.

/// The number of keys in a group. A run has at least this many.
const GROUP: usize = 8;
/// The largest number of groups in a run for which the header has one byte.
const MOST_GROUPS: usize = 63;

/// Appends keys with this many bits each, 32 at most.
pub(super) fn put_keys(keys: &[u32], bits: u8, page: &mut Vec<u8>) {
    let (mut packed, mut at) = (0, 0);
    while let Some(group) = keys.get(at..at + GROUP) {
        let first = group[0];
        if group.iter().all(|key| *key == first) {
            let run = keys[at..].iter().take_while(|key| **key == first).count();
            pack(&keys[packed..at], bits, page);
            put_run(first, run, bits, page);
            at += run;
            packed = at;
        } else {
            at += GROUP;
        }
    }
    match &keys[packed..] {
        [] => {}
        [first, others @ ..] if others.iter().all(|key| key == first) => put_run(*first, others.len() + 1, bits, page),
        rest => pack(rest, bits, page),
    }
}

fn put_run(key: u32, count: usize, bits: u8, page: &mut Vec<u8>) {
    let mut header = count << 1;
    while header >= 0x80 {
        page.push(header as u8 | 0x80);
        header >>= 7;
    }
    page.push(header as u8);
    page.extend_from_slice(&key.to_le_bytes()[..usize::from(bits).div_ceil(8)]);
}

/// Packs keys. The last group may have fewer keys than the others.
fn pack(keys: &[u32], bits: u8, page: &mut Vec<u8>) {
    for keys in keys.chunks(MOST_GROUPS * GROUP) {
        let groups = keys.len().div_ceil(GROUP);
        page.push((groups << 1) as u8 | 1);
        let end = page.len() + groups * usize::from(bits);
        // The bits that do not fill a word yet.
        let (mut word, mut filled) = (0_u64, 0);
        for key in keys {
            word |= u64::from(*key) << filled;
            filled += bits;
            if filled >= 32 {
                page.extend_from_slice(&(word as u32).to_le_bytes());
                word >>= 32;
                filled -= 32;
            }
        }
        page.extend_from_slice(&word.to_le_bytes()[..usize::from(filled.div_ceil(8))]);
        page.resize(end, 0);
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use parquet::encodings::rle::{RleDecoder, RleEncoder};
    use proptest::prelude::*;

    use super::put_keys;

    fn put(keys: &[u32], bits: u8) -> Vec<u8> {
        let mut page = Vec::new();
        put_keys(keys, bits, &mut page);
        page
    }

    #[test]
    fn groups_are_packed_from_the_lowest_bit() {
        // This is the example of the specification: 0 to 7 in three bits each.
        assert_eq!(put(&[0, 1, 2, 3, 4, 5, 6, 7], 3), [3, 0b1000_1000, 0b1100_0110, 0b1111_1010]);
        assert_eq!(put(&[1, 0, 1], 1), [3, 0b101]);
        assert_eq!(put(&[1, u32::MAX], 32), [[3, 1, 0, 0, 0, 255, 255, 255, 255].as_slice(), &[0; 24]].concat());
    }

    #[test]
    fn equal_keys_are_a_run() {
        assert!(put(&[], 3).is_empty());
        assert_eq!(put(&[5], 3), [2, 5]);
        assert_eq!(put(&[0; 100], 0), [200, 1]);
        assert_eq!(put(&[300; 10], 9), [20, 44, 1]);
        // Eight keys of a group, and the keys that follow.
        let keys = [[0, 1].repeat(4), vec![2; 9], vec![1, 0]].concat();
        assert_eq!(put(&keys, 2), [3, 0b0100_0100, 0b0100_0100, 18, 2, 3, 0b0001, 0]);
    }

    #[test]
    fn one_header_tells_of_504_keys() {
        let keys: Vec<u32> = (0..1016).map(|key| key % 2).collect();
        let page = put(&keys, 1);
        assert_eq!([page[0], page[64], page[128]], [127, 127, 3]);
        assert_eq!(page.len(), 3 + 127);
    }

    proptest! {
        #[test]
        fn they_come_back_as_they_were(
            bits in 0_u8..=32,
            runs in prop::collection::vec((any::<u32>(), prop_oneof![4 => 1_usize..4, 1 => 5_usize..40, 1 => 500_usize..2000]), 0..60),
        ) {
            let mask = u32::MAX.checked_shr(32 - u32::from(bits)).unwrap_or(0);
            let keys: Vec<u32> = runs.iter().flat_map(|(key, count)| std::iter::repeat_n(key & mask, *count)).collect();
            let page = put(&keys, bits);
            let mut encoder = RleEncoder::new(bits, 0);
            keys.iter().for_each(|key| encoder.put(u64::from(*key)));
            // A run may begin up to seven keys later than it could, and end a group early.
            let usual = encoder.consume().len();
            prop_assert!(page.len() <= usual + runs.len() * 2 * (usize::from(bits) + 1), "{} and {usual} bytes", page.len());
            let mut decoder = RleDecoder::new(bits);
            decoder.set_data(Bytes::from(page)).unwrap();
            let mut back = vec![0_u64; keys.len()];
            prop_assert_eq!(decoder.get_batch(&mut back).unwrap(), keys.len());
            prop_assert!(back.into_iter().eq(keys.iter().map(|key| u64::from(*key))));
        }
    }
}
