use std::sync::LazyLock;

use proptest::prelude::*;
use tokio::runtime::Runtime;

use super::*;

/// Rows that an operation deleted, inserted and updated. A row is one byte.
type Changes = (Vec<u8>, Vec<u8>, Vec<(u8, u8)>);

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

/// Returns the net changes of operations, in order. With a limit of 0 all rows spill at once.
fn net(operations: &[Changes], limit_bytes: u64) -> Changes {
    RUNTIME.block_on(async {
        let mut net = NetChanges::new(limit_bytes);
        for (deleted, inserted, updated) in operations {
            net.delete(deleted.iter().map(std::slice::from_ref)).await.unwrap();
            net.insert(inserted.iter().map(std::slice::from_ref)).await.unwrap();
            let updated = updated.iter().map(|(before, after)| (std::slice::from_ref(before), std::slice::from_ref(after)));
            net.update(updated).await.unwrap();
            net.end_operation().await.unwrap();
        }
        let mut all = Changes::default();
        for number in 0..BUCKETS {
            let BucketChanges { deleted, inserted, updated } = net.take_bucket(number).await.unwrap();
            all.0.extend(deleted.iter().map(|row| row[0]));
            all.1.extend(inserted.iter().map(|row| row[0]));
            all.2.extend(updated.iter().map(|(first, last)| (first[0], last[0])));
        }
        all.0.sort_unstable();
        all.1.sort_unstable();
        all.2.sort_unstable();
        all
    })
}

#[track_caller]
fn check(operations: &[Changes], expected: &Changes) {
    for limit_bytes in [0, 300, u64::MAX] {
        assert_eq!(&net(operations, limit_bytes), expected, "limit {limit_bytes}");
    }
}

#[test]
fn inserted_row_that_is_deleted_vanishes() {
    check(&[(vec![], vec![1, 2], vec![]), (vec![1], vec![], vec![])], &(vec![], vec![2], vec![]));
}

#[test]
fn inserted_row_that_is_updated_is_inserted() {
    check(&[(vec![], vec![1], vec![]), (vec![], vec![], vec![(1, 5)])], &(vec![], vec![5], vec![]));
}

#[test]
fn row_updated_twice_has_first_and_last_image() {
    check(&[(vec![], vec![], vec![(1, 2)]), (vec![], vec![], vec![(2, 3)])], &(vec![], vec![], vec![(1, 3)]));
}

#[test]
fn updated_row_that_is_deleted_shows_first_image() {
    check(&[(vec![], vec![], vec![(1, 2)]), (vec![2], vec![], vec![])], &(vec![1], vec![], vec![]));
}

#[test]
fn rows_that_exchange_values_keep_their_origins() {
    let exchange = (vec![], vec![], vec![(1, 2), (2, 1)]);
    check(&[(vec![], vec![1], vec![]), exchange], &(vec![], vec![2], vec![(2, 1)]));
}

proptest! {
    /// The net change turns the rows before the transaction into those after it. No row that was
    /// inserted in it is deleted or updated in the net change.
    #[test]
    fn net_change_leads_to_last_rows(
        before in prop::collection::vec(0u8..4, 0..6),
        operations in prop::collection::vec((0u8..4, 0u8..3, 0u8..4), 0..8),
        limit_bytes in prop_oneof![Just(0), Just(500), Just(u64::MAX)],
    ) {
        let sorted = |mut rows: Vec<u8>| { rows.sort_unstable(); rows };
        let (mut rows, mut changes) = (before.clone(), Vec::new());
        for (row, verb, other) in operations {
            let (hit, rest): (Vec<u8>, Vec<u8>) = rows.iter().partition(|known| **known == row);
            let mut one = Changes::default();
            rows = match verb {
                0 => { one.1 = vec![row, other]; [rows, vec![row, other]].concat() }
                1 => { one.0 = hit; rest }
                _ => {
                    one.2 = hit.iter().map(|row| (*row, other)).collect();
                    [rest, vec![other; hit.len()]].concat()
                }
            };
            changes.push(one);
        }
        let (deleted, inserted, updated) = net(&changes, limit_bytes);
        let mut left = before;
        for row in deleted.iter().chain(updated.iter().map(|(first, _)| first)) {
            let place = left.iter().position(|known| known == row);
            prop_assert!(place.is_some(), "{row} was not in the table");
            left.swap_remove(place.unwrap());
        }
        left.extend(inserted.iter().chain(updated.iter().map(|(_, last)| last)));
        prop_assert_eq!(sorted(left), sorted(rows));
    }
}
