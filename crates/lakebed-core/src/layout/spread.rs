//! Evenly distributed numbers, for rows that cannot be distinguished by their ranks.

/// Returns a fraction for each row, in units of 1/2^32. The fractions of consecutive rows, and of
/// rows at any fixed distance, are evenly distributed (Weyl's sequence of the golden ratio).
pub(super) fn spread(row: u64) -> u32 {
    (row.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}

/// Returns a fraction as [`spread`] does, but independent of it.
pub(super) fn spread_again(row: u64) -> u32 {
    (row.wrapping_mul(0xd134_2543_de82_ef95) >> 32) as u32
}

/// Returns which of `parts` parts a fraction is in.
pub(super) fn part(fraction: u32, parts: u32) -> u32 {
    ((u64::from(fraction) * u64::from(parts)) >> 32) as u32
}
