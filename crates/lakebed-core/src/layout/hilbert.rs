//! Hilbert's curve: rows that are neighbours along the curve are neighbours in all columns. In a
//! Z-order, this does not always hold.

use super::zorder;

/// The number of bits of a rank, and of a key below.
const RANK_BITS: usize = 16;
const KEY_BITS: usize = 128;

/// The number of rows that are transformed together, so that vector instructions can be used. It is
/// larger than the number of rows that one instruction handles.
const LANES: usize = 64;

/// Returns the position of each row along the curve, beginning at the key's most significant bit.
/// With more than eight columns, only as many bits of each rank are used as fit into the key. With
/// more than 128 columns, only the first 128 are used.
pub fn keys(columns: &[Vec<u16>]) -> Vec<u128> {
    let columns = columns.get(..KEY_BITS).unwrap_or(columns);
    let bits = (KEY_BITS / columns.len().max(1)).min(RANK_BITS);
    let rows = columns.first().map_or(0, Vec::len);
    let mut turned: Vec<Vec<u16>> = columns.iter().map(|_| Vec::with_capacity(rows)).collect();
    let mut block = vec![[0; LANES]; columns.len()];
    for start in (0..rows).step_by(LANES) {
        for (lanes, column) in block.iter_mut().zip(columns) {
            for (lane, rank) in lanes.iter_mut().zip(column.iter().skip(start)) {
                *lane = rank >> (RANK_BITS - bits);
            }
        }
        turn(&mut block, bits);
        for (turned, lanes) in turned.iter_mut().zip(&block) {
            turned.extend(lanes.iter().take(rows - start).map(|lane| lane << (RANK_BITS - bits)));
        }
    }
    zorder::keys(&turned)
}

/// Transforms coordinates to the position on the curve with Skilling's algorithm ("Programming the
/// Hilbert curve", 2004). The bits of the position are distributed over the columns in turn. Many
/// rows are transformed at once, hence there are no branches.
fn turn(columns: &mut [[u16; LANES]], bits: usize) {
    let Some((first, others)) = columns.split_first_mut() else { return };
    for bit in (1..bits).rev() {
        let below = (1 << bit) - 1;
        for lane in first.iter_mut() {
            *lane ^= below & mask(*lane, bit);
        }
        for other in others.iter_mut() {
            for (first, lane) in first.iter_mut().zip(other) {
                let invert = mask(*lane, bit);
                let swap = (*first ^ *lane) & below & !invert;
                *first ^= swap | below & invert;
                *lane ^= swap;
            }
        }
    }
    let mut before: &[u16; LANES] = first;
    for lanes in others {
        for (lane, before) in lanes.iter_mut().zip(before) {
            *lane ^= before;
        }
        before = lanes;
    }
    let mut flip = [0; LANES];
    for bit in 1..bits {
        for (flip, last) in flip.iter_mut().zip(before) {
            *flip ^= ((1 << bit) - 1) & mask(*last, bit);
        }
    }
    for lanes in columns {
        for (lane, flip) in lanes.iter_mut().zip(&flip) {
            *lane ^= flip;
        }
    }
}

/// Returns all ones if the bit is set, and zero otherwise.
fn mask(lane: u16, bit: usize) -> u16 {
    0_u16.wrapping_sub(lane >> bit & 1)
}
