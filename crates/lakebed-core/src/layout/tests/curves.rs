use proptest::prelude::*;

use crate::layout::{hilbert, zorder};

/// Interleaves the bits of ranks one by one.
fn interleaved(ranks: &[u16], bits: usize) -> u128 {
    let places = (0..bits).flat_map(|bit| ranks.iter().map(move |rank| u128::from(rank >> (15 - bit) & 1)));
    places.take(128).enumerate().map(|(place, bit)| bit << (127 - place)).sum()
}

fn key(keys: fn(&[Vec<u16>]) -> Vec<u128>, ranks: &[u16]) -> u128 {
    let columns: Vec<Vec<u16>> = ranks.iter().map(|rank| vec![*rank]).collect();
    keys(&columns)[0]
}

proptest! {
    #[test]
    fn zorder_interleaves_bits(rows in (1..20_usize).prop_flat_map(|columns| prop::collection::vec(prop::collection::vec(any::<u16>(), columns), 1..100))) {
        let columns: Vec<Vec<u16>> = (0..rows[0].len()).map(|column| rows.iter().map(|row| row[column]).collect()).collect();
        let expected: Vec<u128> = rows.iter().map(|row| interleaved(row, 16)).collect();
        prop_assert_eq!(zorder::keys(&columns), expected);
    }

    #[test]
    fn zorder_grows_with_each_column(ranks in prop::collection::vec(any::<u16>(), 1..9), place in any::<prop::sample::Index>(), other in any::<u16>()) {
        let place = place.index(ranks.len());
        let mut changed = ranks.clone();
        changed[place] = other;
        prop_assert_eq!(key(zorder::keys, &ranks).cmp(&key(zorder::keys, &changed)), ranks[place].cmp(&other));
    }

    #[test]
    fn hilbert_tells_rows_apart(one in prop::collection::vec(any::<u16>(), 8), other in prop::collection::vec(any::<u16>(), 8), columns in 1..9_usize) {
        let (one, other) = (&one[..columns], &other[..columns]);
        prop_assert_eq!(key(hilbert::keys, one) == key(hilbert::keys, other), one == other);
    }
}

/// Returns all rows of a grid. Their ranks differ only in the first bits.
fn grid(columns: usize, bits: usize) -> Vec<Vec<u16>> {
    let rows = 1_usize << (columns * bits);
    (0..columns)
        .map(|column| (0..rows).map(|row| ((row >> (column * bits) & ((1 << bits) - 1)) << (16 - bits)) as u16).collect())
        .collect()
}

#[track_caller]
fn check_hilbert(columns: usize, bits: usize) {
    let grid = grid(columns, bits);
    let keys = hilbert::keys(&grid);
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_unstable_by_key(|row| keys[*row]);
    for pair in order.windows(2) {
        let distance: u32 = grid.iter().map(|column| u32::from(column[pair[0]].abs_diff(column[pair[1]]))).sum();
        assert_eq!(distance, 1 << (16 - bits), "{columns} columns of {bits} bits");
    }
}

#[test]
fn hilbert_neighbours_are_neighbours_in_grid() {
    for (columns, bits) in [(1, 10), (2, 1), (2, 6), (3, 4), (4, 3), (5, 2), (8, 2), (13, 1)] {
        check_hilbert(columns, bits);
    }
}

#[test]
fn hilbert_of_one_column_is_its_order() {
    let column: Vec<u16> = (0..=u16::MAX).collect();
    let expected: Vec<u128> = column.iter().map(|rank| u128::from(*rank) << 112).collect();
    assert_eq!(hilbert::keys(&[column]), expected);
}

#[test]
fn curve_keys_exist_for_extreme_shapes() {
    for keys in [zorder::keys, hilbert::keys] {
        assert!(keys(&[]).is_empty());
        assert!(keys(&[vec![], vec![]]).is_empty());
        let first_only: Vec<Vec<u16>> = (0..200).map(|column| vec![if column == 0 { u16::MAX } else { 0 }, 0]).collect();
        assert_eq!(keys(&first_only)[1], 0);
        assert!(keys(&first_only)[0] >= 1 << 127);
    }
}
