use proptest::prelude::*;

use super::Numbers;
use crate::layout::{Method, Split};

fn mean(shares: &[f64]) -> f64 {
    shares.iter().sum::<f64>() / shares.len() as f64
}

fn rows_of(buckets: &[u32], count: usize) -> Vec<usize> {
    let mut rows = vec![0; count];
    buckets.iter().for_each(|bucket| rows[*bucket as usize] += 1);
    rows
}

/// Columns with few or many values, and with some repeated rows.
fn any_sample() -> impl Strategy<Value = Vec<Vec<u16>>> {
    let values = prop::sample::select(vec![1_u64, 2, 3, 10, 100, 60_000]);
    (prop::collection::vec(values, 1..5), 1..1_500_usize, any::<u64>(), any::<bool>()).prop_map(
        |(values, rows, seed, is_skewed)| {
            let mut numbers = Numbers(seed);
            let mut value = |count: u64| match numbers.below(10) {
                0 => 0,
                1..6 if is_skewed => 1,
                _ => 1 + numbers.below(count) as u16,
            };
            values.iter().map(|count| (0..rows).map(|_| value(*count)).collect()).collect()
        },
    )
}

fn any_method() -> impl Strategy<Value = Method> {
    prop::sample::select(Method::ALL.to_vec())
}

/// Computes the definition of [`Split::skipping`], one query after the other.
fn skipping_one_by_one(sample: &[Vec<u16>], files: &[u32], count: usize) -> Vec<f64> {
    let rows = rows_of(files, count);
    let in_file = |file: usize, column: &[u16]| -> Vec<u16> {
        let of_file = column.iter().zip(files).filter(|(rank, other)| **other as usize == file && **rank > 0);
        of_file.map(|(rank, _)| *rank).collect()
    };
    let skipping = sample.iter().map(|column| {
        let full: Vec<usize> = (0..count).filter(|file| rows[*file] > 0).collect();
        let spans: Vec<_> = full
            .iter()
            .map(|file| in_file(*file, column))
            .map(|ranks| (ranks.iter().min().copied(), ranks.iter().max().copied()))
            .collect();
        let (mut skipped, mut queries) = (0, 0);
        for rank in column.iter().filter(|rank| **rank > 0) {
            queries += spans.len();
            skipped += spans
                .iter()
                .filter(|(low, high)| low.is_none_or(|low| *rank < low) || high.is_none_or(|high| *rank > high))
                .count();
        }
        if queries == 0 { 1.0 } else { skipped as f64 / queries as f64 }
    });
    skipping.collect()
}

proptest! {
    #[test]
    fn split_ignores_batching_of_rows(
        sample in any_sample(), other in any_sample(), method in any_method(), files in 1..30_usize, parts in 1..4_usize, batch in 1..200_usize,
    ) {
        let split = Split::new(method, &sample, files, parts);
        prop_assert_eq!(split.method(), method);
        prop_assert_eq!(split.buckets(), files * parts);
        // The rows include ranks that the sample does not have.
        let rows = other.iter().map(Vec::len).min().unwrap();
        let column = |place: usize| other[place % other.len()][..rows].to_vec();
        let columns: Vec<Vec<u16>> = (0..sample.len()).map(column).collect();
        let buckets = split.assign(&columns, 1_000);
        prop_assert_eq!(buckets.len(), rows);
        prop_assert!(buckets.iter().all(|bucket| (*bucket as usize) < split.buckets()));
        let mut batched = Vec::new();
        for start in (0..rows).step_by(batch) {
            let part: Vec<Vec<u16>> = columns.iter().map(|column| column[start..(start + batch).min(rows)].to_vec()).collect();
            batched.extend(split.assign(&part, 1_000 + start as u64));
        }
        prop_assert_eq!(buckets, batched);
    }

    #[test]
    fn parts_of_a_file_lie_in_order(sample in any_sample(), method in any_method(), files in 1..10_usize, parts in 2..5_usize) {
        let split = Split::new(method, &sample, files, parts);
        let mut rows: Vec<(u32, u128)> = split.assign(&sample, 0).into_iter().zip(split.keys(&sample)).collect();
        rows.sort_unstable();
        for pair in rows.windows(2) {
            let is_one_file = pair[0].0 / parts as u32 == pair[1].0 / parts as u32;
            prop_assert!(!is_one_file || pair[0].1 <= pair[1].1);
        }
    }

    #[test]
    fn split_distinct_rows_within_one_row(rows in 1..3_000_usize, columns in 1..5_usize, method in any_method(), files in 1..40_usize, parts in 1..4_usize) {
        let mut numbers = Numbers(rows as u64);
        let mut shuffled = || {
            let mut order: Vec<(u64, u16)> = (1..=rows as u16).map(|rank| (numbers.next(), rank)).collect();
            order.sort_unstable();
            order.into_iter().map(|(_, rank)| rank).collect::<Vec<u16>>()
        };
        let sample: Vec<Vec<u16>> = (0..columns).map(|_| shuffled()).collect();
        let split = Split::new(method, &sample, files, parts);
        let buckets = split.assign(&sample, 0);
        let of_files: Vec<u32> = buckets.iter().map(|bucket| bucket / parts as u32).collect();
        // If there are more parts than rows, each row is in one of the parts.
        for (counted, ranges, least) in [(&of_files, files, rows / files), (&buckets, files * parts, rows / files / parts)] {
            let counts = rows_of(counted, ranges);
            prop_assert!(counts.iter().all(|count| (least..=least + 1).contains(count) || least == 0), "{counts:?}");
        }
    }

    #[test]
    fn split_gives_no_file_too_much(sample in any_sample(), method in any_method(), files in 1..30_usize) {
        let split = Split::new(method, &sample, files, 1);
        let share = sample[0].len() as f64 / files as f64;
        let most = rows_of(&split.assign(&sample, 0), files).into_iter().max().unwrap_or(0) as f64;
        // Ties cost half a file at either end, and rows that are spread are not distributed quite
        // evenly.
        prop_assert!(most <= 2.0 * share + 4.0 * share.sqrt() + 2.0, "{most} of {share}");
    }

    #[test]
    fn split_keeps_equal_rows_together(sample in any_sample(), is_hilbert in any::<bool>(), files in 1..30_usize) {
        let method = if is_hilbert { Method::Hilbert } else { Method::ZOrder };
        let split = Split::new(method, &sample, files, 1);
        let mut rows: Vec<(u128, u32)> = split.keys(&sample).into_iter().zip(split.assign(&sample, 0)).collect();
        rows.sort_unstable();
        for same in rows.chunk_by(|one, other| one.0 == other.0) {
            prop_assert!(same[0].1 == same[same.len() - 1].1 || same.len() * files > rows.len());
        }
    }

    #[test]
    fn skipping_is_counted_right(sample in any_sample(), method in any_method(), files in 1..20_usize, parts in 1..3_usize) {
        let split = Split::new(method, &sample, files, parts);
        let of_files: Vec<u32> = split.assign(&sample, 0).into_iter().map(|bucket| bucket / parts as u32).collect();
        for (share, expected) in split.skipping(&sample).into_iter().zip(skipping_one_by_one(&sample, &of_files, files)) {
            prop_assert!((share - expected).abs() < 1e-9, "{share} {expected}");
        }
    }

    #[test]
    fn the_best_is_no_worse_than_any(sample in any_sample(), files in 1..30_usize) {
        let best = mean(&Split::best(&sample, files, 1).skipping(&sample));
        for method in Method::ALL {
            prop_assert!(best >= mean(&Split::new(method, &sample, files, 1).skipping(&sample)));
        }
    }
}

#[test]
fn equal_rows_are_spread_evenly() {
    for method in Method::ALL {
        for sampled in [1, 5, 10_000] {
            let split = Split::new(method, &[vec![3; sampled], vec![1; sampled]], 7, 3);
            for first_row in [0, 123_456_789] {
                let rows = rows_of(&split.assign(&[vec![3; 21_000], vec![1; 21_000]], first_row), 21);
                assert!(rows.iter().all(|rows| (950..=1_050).contains(rows)), "{method:?} {sampled} {rows:?}");
            }
        }
    }
}

#[test]
fn split_without_rows_or_columns_works() {
    for method in Method::ALL {
        for (sample, files) in [(vec![], 5), (vec![vec![]], 5), (vec![vec![], vec![]], 1), (vec![vec![1, 2], vec![2, 1]], 1)] {
            let split = Split::new(method, &sample, files, 2);
            let nothing: Vec<Vec<u16>> = sample.iter().map(|_| vec![]).collect();
            assert!(split.assign(&nothing, 0).is_empty());
            assert!(split.keys(&nothing).is_empty());
            let rows: Vec<Vec<u16>> = sample.iter().map(|_| vec![0, 1, u16::MAX]).collect();
            assert_eq!(split.assign(&rows, 0).len(), if sample.is_empty() { 0 } else { 3 });
            assert!(split.assign(&rows, 0).iter().all(|bucket| (*bucket as usize) < split.buckets()));
            assert_eq!(split.skipping(&sample).len(), sample.len());
        }
    }
}

#[test]
fn very_many_files_are_filled() {
    let mut numbers = Numbers(7);
    let rows: Vec<Vec<u16>> = (0..3).map(|_| numbers.column(200_000, 60_000)).collect();
    let sample: Vec<Vec<u16>> = rows.iter().map(|column| column[..20_000].to_vec()).collect();
    for method in Method::ALL {
        for (sample, least) in [(&rows, 99_000), (&sample, 15_000)] {
            let filled = rows_of(&Split::new(method, sample, 100_000, 1).assign(&rows, 0), 100_000);
            assert!(filled.iter().filter(|rows| **rows > 0).count() > least, "{method:?}");
        }
    }
}

/// Checks the percentage of files that each method skips, on average over the columns, with every
/// fifth row as the sample. The results must be at least the given numbers. The last number is for
/// the column for which a k-d tree skips least.
#[track_caller]
fn check_skipping(rows: &[Vec<u16>], files: usize, [zorder, hilbert, kd_tree, each]: [f64; 4]) {
    let sample: Vec<Vec<u16>> = rows.iter().map(|column| column.iter().step_by(5).copied().collect()).collect();
    let skipping = Method::ALL.map(|method| Split::new(method, &sample, files, 1).skipping(rows));
    let means = skipping.each_ref().map(|shares| 100.0 * mean(shares));
    let is_enough = means.iter().zip([zorder, hilbert, kd_tree]).all(|(mean, least)| *mean > least);
    assert!(is_enough && skipping[2].iter().all(|share| 100.0 * share > each), "{means:?} {skipping:?}");
    assert_eq!(Split::best(&sample, files, 1).method(), Method::KdTree);
}

const ROWS: usize = 200_000;

#[test]
fn even_columns_are_skipped_evenly() {
    let mut numbers = Numbers(7);
    let columns: Vec<Vec<u16>> = (0..8).map(|_| numbers.column(ROWS, 60_000)).collect();
    check_skipping(&columns[..2], 100, [83.0, 87.0, 89.5, 89.0]);
    check_skipping(&columns[..4], 100, [55.0, 61.0, 67.5, 65.0]);
    check_skipping(&columns, 100, [30.0, 36.0, 41.0, 20.0]);
}

/// Returns values of which number n has a share that shrinks with a power of n.
fn zipf(numbers: &mut Numbers, values: usize, power: f64) -> Vec<u16> {
    let mut shares: Vec<f64> = (1..=values).map(|value| (value as f64).powf(-power)).collect();
    for value in 1..values {
        shares[value] += shares[value - 1];
    }
    let all = shares[values - 1];
    let mut value = || shares.partition_point(|share| share / all * (1_u64 << 40) as f64 <= numbers.below(1 << 40) as f64);
    // Frequent values are distributed over the whole order.
    (0..ROWS).map(|_| 1 + (value().min(values - 1) * 7_919 % values) as u16).collect()
}

#[test]
fn skewed_columns_are_skipped_evenly() {
    let mut numbers = Numbers(7);
    for (power, least) in [(1.1, [54.0, 60.0, 67.0, 65.0]), (1.5, [53.0, 59.0, 66.5, 64.0])] {
        let columns: Vec<Vec<u16>> = (0..4).map(|_| zipf(&mut numbers, 20_011, power)).collect();
        check_skipping(&columns, 100, least);
    }
}

#[test]
fn split_correlated_dates_by_one_cut() {
    let mut numbers = Numbers(7);
    let ordered = numbers.column(ROWS, 2_400);
    let mut later =
        |dates: &[u16], days: u64| -> Vec<u16> { dates.iter().map(|date| date + 1 + numbers.below(days) as u16).collect() };
    let shipped = later(&ordered, 121);
    let received = later(&shipped, 30);
    let price = numbers.column(ROWS, 60_000);
    check_skipping(&[ordered, shipped, received, price], 100, [83.0, 82.0, 89.0, 78.0]);
}
