use proptest::prelude::*;

use super::*;

type Net = (Vec<u8>, Vec<u8>, Vec<(u8, u8)>);

#[track_caller]
fn check(operations: Vec<Net>, (deleted, inserted, updated): Net) {
    let mut net = NetChanges::default();
    for (deleted, inserted, updated) in operations {
        net.then(OperationChanges { deleted, inserted, updated });
    }
    let net = net.finish();
    assert_eq!((net.deleted, net.inserted, net.updated), (deleted, inserted, updated));
}

#[test]
fn inserted_row_that_is_deleted_vanishes() {
    check(vec![(vec![], vec![1, 2], vec![]), (vec![1], vec![], vec![])], (vec![], vec![2], vec![]));
}

#[test]
fn inserted_row_that_is_updated_is_inserted() {
    check(vec![(vec![], vec![1], vec![]), (vec![], vec![], vec![(1, 5)])], (vec![], vec![5], vec![]));
}

#[test]
fn row_updated_twice_has_first_and_last_image() {
    check(vec![(vec![], vec![], vec![(1, 2)]), (vec![], vec![], vec![(2, 3)])], (vec![], vec![], vec![(1, 3)]));
}

#[test]
fn updated_row_that_is_deleted_shows_first_image() {
    check(vec![(vec![], vec![], vec![(1, 2)]), (vec![2], vec![], vec![])], (vec![1], vec![], vec![]));
}

#[test]
fn rows_that_exchange_values_keep_their_origins() {
    let exchange = (vec![], vec![], vec![(1, 2), (2, 1)]);
    check(vec![(vec![], vec![1], vec![]), exchange], (vec![], vec![2], vec![(2, 1)]));
}

proptest! {
    /// The net change turns the rows before the transaction into those after it. No row that was
    /// inserted in it is deleted or updated in the net change.
    #[test]
    fn net_change_leads_to_last_rows(
        before in prop::collection::vec(0u8..4, 0..6),
        operations in prop::collection::vec((0u8..4, 0u8..3, 0u8..4), 0..8),
    ) {
        let sorted = |mut rows: Vec<u8>| { rows.sort_unstable(); rows };
        let (mut rows, mut net) = (before.clone(), NetChanges::default());
        for (row, verb, other) in operations {
            let (hit, rest): (Vec<u8>, Vec<u8>) = rows.iter().partition(|known| **known == row);
            let mut one = OperationChanges::default();
            rows = match verb {
                0 => { one.inserted = vec![row, other]; [rows, vec![row, other]].concat() }
                1 => { one.deleted = hit; rest }
                _ => {
                    one.updated = hit.iter().map(|row| (*row, other)).collect();
                    [rest, vec![other; hit.len()]].concat()
                }
            };
            net.then(one);
        }
        let net = net.finish();
        let mut left = before;
        for row in net.deleted.iter().chain(net.updated.iter().map(|(first, _)| first)) {
            let place = left.iter().position(|known| known == row);
            prop_assert!(place.is_some(), "{row} was not in the table");
            left.swap_remove(place.unwrap());
        }
        left.extend(net.inserted.iter().chain(net.updated.iter().map(|(_, last)| last)));
        prop_assert_eq!(sorted(left), sorted(rows));
    }
}
