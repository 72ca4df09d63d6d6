//! Runs concurrent transactions with a few operations in every order, and compares them with the
//! same operations run one after the other.
//!
//! The transactions that commit must leave the same rows as the same operations run alone in the
//! order of their versions. An operation that runs alone sees the rows that its isolation level
//! guarantees: all rows (Serializable), all rows except those of blind appends since it began
//! (WriteSerializable), or no rows that were added since it began (SnapshotIsolation).

use std::ops::RangeInclusive;

use proptest::prelude::*;

use super::model::{Deed, Row, World};
use crate::action::Action;
use crate::error::ConflictKind;
use crate::property::IsolationLevel::{self, Serializable, SnapshotIsolation, WriteSerializable};

/// An operation, and the version on which it begins.
type Begun = (Deed, u64);

/// A row, and the commit that added it.
#[derive(Debug, Clone)]
struct Known {
    row: Row,
    version: u64,
    is_blind: bool,
}

/// The rows after operations that run alone.
struct Reference {
    rows: Vec<Known>,
    isolation: IsolationLevel,
}

impl Reference {
    fn new(isolation: IsolationLevel) -> Self {
        let known = |row| Known { row, version: 0, is_blind: false };
        Self { rows: World::new().rows().into_iter().map(known).collect(), isolation }
    }

    fn run(&mut self, deed: &Deed, snapshot: u64, version: u64) {
        let isolation = self.isolation;
        let sees = |known: &Known| match isolation {
            Serializable => true,
            WriteSerializable => known.version <= snapshot || !known.is_blind,
            SnapshotIsolation => known.version <= snapshot,
        };
        let has = |known: &Known, keys: &RangeInclusive<i64>| sees(known) && keys.contains(&known.row.0);
        let comes = |row, is_blind| Known { row, version, is_blind };
        match deed {
            Deed::Append(row) => self.rows.push(comes(*row, true)),
            Deed::Sum(keys, to) => {
                let sum = self.rows.iter().filter(|known| has(known, keys)).map(|known| known.row.1).sum();
                self.rows.push(comes((*to, sum), false));
            }
            Deed::Delete(keys) | Deed::DeleteRows(keys) => self.rows.retain(|known| !has(known, keys)),
            Deed::Update(keys, by) | Deed::UpdateRows(keys, by) => {
                for known in self.rows.iter_mut().filter(|known| has(known, keys)) {
                    *known = comes((known.row.0, known.row.1 + by), false);
                }
            }
            Deed::Merge(gone, wanted) => {
                let is_there = self.rows.iter().any(|known| has(known, &(*wanted..=*wanted)));
                self.rows.retain(|known| !has(known, &(*gone..=*gone)));
                self.rows.extend((!is_there).then(|| comes((*wanted, 0), false)));
            }
            Deed::Overwrite(row) => {
                self.rows.retain(|known| !sees(known));
                self.rows.push(comes(*row, false));
            }
            Deed::Optimize(_) => {}
        }
    }

    fn sorted(&self) -> Vec<Row> {
        let mut rows: Vec<Row> = self.rows.iter().map(|known| known.row).collect();
        rows.sort_unstable();
        rows
    }
}

/// Runs the operations one after the other, and returns their outcomes. Each begins on top of its
/// version, or of the latest version if that is older.
#[track_caller]
fn check(begun: &[Begun], isolation: IsolationLevel) -> Vec<Result<u64, ConflictKind>> {
    let (mut world, mut reference) = (World::new(), Reference::new(isolation));
    let mut outcomes = Vec::new();
    for (deed, snapshot) in begun {
        let snapshot = (*snapshot).min(world.latest());
        let outcome = world.run(deed, snapshot, isolation);
        // A transaction that changed no rows counts as if it had run directly after the version
        // that it read.
        if let Ok(version) = outcome
            && world.changes_rows(version)
        {
            reference.run(deed, snapshot, version);
        }
        let is_free = snapshot + 1 == world.latest() + u64::from(outcome.is_err()) || matches!(deed, Deed::Append(_));
        assert!(outcome.is_ok() || !is_free, "{deed:?} conflicts with nobody, but {outcome:?}");
        outcomes.push(outcome);
        assert_eq!(world.rows(), reference.sorted(), "{isolation:?}: {outcomes:?} of {begun:?}");
    }
    check_numbers(&world);
    outcomes
}

/// Checks that no row id is assigned twice, that commit versions are those of the commits, and that
/// in-commit timestamps increase.
#[track_caller]
fn check_numbers(world: &World) {
    let (mut next_row_id, mut before) = (0, i64::MIN);
    for version in 0..=world.latest() {
        for action in world.actions(version) {
            match action {
                Action::CommitInfo(info) => {
                    let timestamp = info.in_commit_timestamp().unwrap();
                    assert!(timestamp > before);
                    before = timestamp;
                }
                Action::Add(add) if add.default_row_commit_version == Some(version as i64) => {
                    assert_eq!(add.base_row_id, Some(next_row_id), "version {version}");
                    let stats: serde_json::Value = serde_json::from_str(add.stats.as_deref().unwrap()).unwrap();
                    next_row_id += stats["numRecords"].as_i64().unwrap();
                }
                Action::Add(add) => assert!(add.deletion_vector.is_some() && add.base_row_id.is_some(), "{add:?}"),
                _ => {}
            }
        }
    }
}

fn keys() -> impl Strategy<Value = RangeInclusive<i64>> {
    (0..9_i64, 0..9_i64).prop_map(|(one, other)| one.min(other)..=one.max(other))
}

fn deed() -> impl Strategy<Value = Deed> {
    let key = || 0..10_i64;
    prop_oneof![
        (key(), 1..9_i64).prop_map(Deed::Append),
        (keys(), key()).prop_map(|(keys, to)| Deed::Sum(keys, to)),
        keys().prop_map(Deed::Delete),
        keys().prop_map(Deed::DeleteRows),
        (keys(), 1..9_i64).prop_map(|(keys, by)| Deed::Update(keys, 1000 * by)),
        (keys(), 1..9_i64).prop_map(|(keys, by)| Deed::UpdateRows(keys, 1000 * by)),
        (key(), key())
            .prop_filter("two keys", |(gone, wanted)| gone != wanted)
            .prop_map(|(gone, wanted)| Deed::Merge(gone, wanted)),
        (key(), 1..9_i64).prop_map(Deed::Overwrite),
        keys().prop_map(Deed::Optimize),
    ]
}

fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4000) }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn concurrent_commits_equal_some_serial_order(
        begun in prop::collection::vec((deed(), 0..4_u64), 2..5),
        isolation in prop::sample::select(vec![Serializable, WriteSerializable, SnapshotIsolation]),
    ) {
        check(&begun, isolation);
    }
}

#[test]
fn delete_different_rows_of_file_commits_both() {
    let begun = [(Deed::DeleteRows(0..=0), 0), (Deed::DeleteRows(1..=1), 0), (Deed::UpdateRows(2..=2, 1000), 0)];
    assert_eq!(check(&begun, Serializable), [Ok(1), Ok(2), Ok(3)]);
    let begun = [(Deed::DeleteRows(0..=1), 0), (Deed::DeleteRows(1..=2), 0)];
    assert_eq!(check(&begun, Serializable), [Ok(1), Err(ConflictKind::ConcurrentDeleteDelete)]);
}

#[test]
fn read_conflicts_with_delete_after_rearrangement() {
    let begun = [(Deed::Optimize(0..=5), 0), (Deed::DeleteRows(0..=0), 1), (Deed::Sum(0..=2, 9), 0)];
    for isolation in [Serializable, WriteSerializable, SnapshotIsolation] {
        assert_eq!(check(&begun, isolation), [Ok(1), Ok(2), Err(ConflictKind::ConcurrentDeleteRead)]);
    }
}

#[test]
fn blind_append_is_unseen_under_write_serializable() {
    let begun = [(Deed::Append((1, 1)), 0), (Deed::Sum(0..=2, 9), 0)];
    assert_eq!(check(&begun, Serializable), [Ok(1), Err(ConflictKind::ConcurrentAppend)]);
    assert_eq!(check(&begun, WriteSerializable), [Ok(1), Ok(2)]);
    let begun = [(Deed::Sum(6..=8, 1), 0), (Deed::Sum(0..=2, 9), 0)];
    assert_eq!(check(&begun, WriteSerializable), [Ok(1), Err(ConflictKind::ConcurrentAppend)]);
    assert_eq!(check(&begun, SnapshotIsolation), [Ok(1), Ok(2)]);
}

#[test]
fn add_outside_predicate_by_statistics_commits() {
    let begun = [(Deed::Append((9, 1)), 0), (Deed::Update(6..=8, 1000), 0), (Deed::Delete(0..=5), 0)];
    assert_eq!(check(&begun, Serializable), [Ok(1), Ok(2), Ok(3)]);
}
