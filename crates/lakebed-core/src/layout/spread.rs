//! Numbers of rows that lie evenly, for rows that nothing else tells apart.

/// Returns a fraction of 2^32 for each row: those of rows next to one another, or at any distance,
/// lie evenly (Weyl's sequence of the golden ratio).
pub(super) fn spread(row: u64) -> u32 {
    (row.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}

/// As [`spread`], with nothing in common.
pub(super) fn spread_again(row: u64) -> u32 {
    (row.wrapping_mul(0xd134_2543_de82_ef95) >> 32) as u32
}

/// Returns the part, of so many, that a fraction falls into.
pub(super) fn part(fraction: u32, parts: u32) -> u32 {
    ((u64::from(fraction) * u64::from(parts)) >> 32) as u32
}
