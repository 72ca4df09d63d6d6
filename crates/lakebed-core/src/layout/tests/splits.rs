use super::Numbers;
use crate::layout::{Method, Split};

fn mean(shares: &[f64]) -> f64 {
    shares.iter().sum::<f64>() / shares.len() as f64
}

#[test]
fn four_even_columns_are_skipped_evenly() {
    let mut numbers = Numbers(7);
    let columns: Vec<Vec<u16>> = (0..4).map(|_| numbers.column(200_000, 60_000)).collect();
    let split = Split::new(Method::KdTree, &columns, 100, 1);
    let skipping = split.skipping(&columns);
    assert!(mean(&skipping) > 0.67 && skipping.iter().all(|share| *share > 0.65), "{skipping:?}");
}
