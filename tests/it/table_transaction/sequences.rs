//! Random operations in one transaction. Their rows, row ids and changes are those of a model that
//! does one after the other.

use std::collections::{BTreeMap, BTreeSet};

use lakebed::{ErrorKind, Table};
use lakebed_core::ConflictKind;
use lakebed_tests::Lake;
use lakebed_tests::deeds::Verb;
use lakebed_tests::lake::{MADE, stream};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::kit::*;

/// The first id of rows that are inserted with ids of their own.
const FRESH: i64 = 40;

/// A row in the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Modelled {
    v: i64,
    /// The value before the transaction; none if the row was inserted in it.
    first: Option<i64>,
    is_updated: bool,
}

/// The rows of the table, and those of before that are gone.
struct Expected {
    rows: BTreeMap<i64, Modelled>,
    deleted: Vec<(i64, i64)>,
}

impl Expected {
    fn of(rows: &BTreeMap<i64, i64>) -> Self {
        let old = |(id, v): (&i64, &i64)| (*id, Modelled { v: *v, first: Some(*v), is_updated: false });
        Self { rows: rows.iter().map(old).collect(), deleted: Vec::new() }
    }

    fn apply(&mut self, deed: &Deed) {
        match deed.verb {
            Verb::Append => self.insert(&deed.rows),
            Verb::Delete(range) => self.delete(range),
            Verb::Overwrite => {
                self.delete(Between(i64::MIN, i64::MAX));
                self.insert(&deed.rows);
            }
            Verb::ReplaceWhere(range) => {
                self.delete(range);
                self.insert(&deed.rows);
            }
            Verb::Update(Between(first, last), _) => {
                self.rows.range_mut(first..=last).for_each(|(_, row)| *row = Modelled { v: row.v + 1, is_updated: true, ..*row });
            }
            Verb::Upsert => {
                let (known, new): (Vec<_>, Vec<_>) = deed.rows.iter().copied().partition(|(id, _)| self.rows.contains_key(id));
                for (id, v) in known {
                    let row = self.rows.get_mut(&id).unwrap();
                    *row = Modelled { v, is_updated: true, ..*row };
                }
                self.insert(&new);
            }
            Verb::ReplacePartitions
            | Verb::Compact
            | Verb::Cluster
            | Verb::Erase(_)
            | Verb::Restore(_)
            | Verb::SetProperty(_) => {
                panic!("not in these tests")
            }
        }
    }

    fn insert(&mut self, rows: &[(i64, i64)]) {
        self.rows.extend(rows.iter().map(|(id, v)| (*id, Modelled { v: *v, first: None, is_updated: false })));
    }

    fn delete(&mut self, Between(first, last): Between) {
        let gone: Vec<i64> = self.rows.range(first..=last).map(|(id, _)| *id).collect();
        for id in gone {
            let row = self.rows.remove(&id).unwrap();
            self.deleted.extend(row.first.map(|first| (id, first)));
        }
    }

    fn values(&self) -> BTreeMap<i64, i64> {
        self.rows.iter().map(|(id, row)| (*id, row.v)).collect()
    }

    fn changes(&self) -> Vec<(String, i64, i64)> {
        let mut all: Vec<(&str, i64, i64)> = self.deleted.iter().map(|(id, v)| ("delete", *id, *v)).collect();
        for (id, row) in &self.rows {
            match row.first {
                None => all.push(("insert", *id, row.v)),
                Some(first) if row.is_updated => {
                    all.extend([("update_preimage", *id, first), ("update_postimage", *id, row.v)]);
                }
                Some(_) => {}
            }
        }
        let mut all: Vec<_> = all.into_iter().map(|(kind, id, v)| (kind.to_owned(), id, v)).collect();
        all.sort();
        all
    }
}

/// Returns a random deed. `next` is an id that was never used, and above those of all ranges into
/// which a deed inserts.
fn deed(random: &mut SmallRng, next: &mut i64) -> Deed {
    let first = random.random_range(1..=24);
    let range = Between(first, first + random.random_range(0..6));
    // Rows that earlier operations inserted.
    let changed = if random.random_bool(0.3) { Between(FRESH, FRESH + random.random_range(0..4)) } else { range };
    let mut fresh = |count: i64| {
        let ids = *next..*next + count;
        *next += count;
        ids
    };
    let v = random.random_range(0..3);
    match random.random_range(0..12) {
        0..3 => append(fresh(v + 1).map(|id| (id, v))),
        3..5 => delete(changed.0, changed.1),
        5..8 => update(changed.0, changed.1),
        8 | 9 => Deed { verb: Verb::Upsert, rows: (range.0..=range.1).chain(fresh(1)).map(|id| (id, v)).collect() },
        10 => Deed { verb: Verb::ReplaceWhere(range), rows: vec![(range.0, 2)] },
        _ if random.random_bool(0.3) => Deed { verb: Verb::Overwrite, rows: fresh(4).map(|id| (id, 1)).collect() },
        _ => update(1, 100),
    }
}

/// The row ids and commit versions by id.
async fn row_ids(table: &Table) -> BTreeMap<i64, (i64, i64)> {
    let columns = ["id", "_metadata.row_id", "_metadata.row_commit_version"];
    let rows = read(&table.snapshot().await.unwrap(), &columns).await;
    rows.into_iter().map(|row| (row[0].unwrap(), (row[1].unwrap(), row[2].unwrap()))).collect()
}

/// Runs random operations in one transaction. With `rival`, another writer appends a row before the
/// commit.
async fn check(seed: u64, vectors: bool, tracked: bool, partitioned: bool, rival: bool) {
    let case = format!("seed {seed}, vectors {vectors}, row ids {tracked}, partitions {partitioned}, rival {rival}");
    let properties =
        [("delta.enableDeletionVectors", vectors), ("delta.enableRowTracking", tracked), ("delta.enableChangeDataFeed", true)];
    let lake = Lake::with(&properties, partitioned.then_some("v")).await;
    let mut random = SmallRng::seed_from_u64(seed);
    let before = rows(&lake.table.snapshot().await.unwrap()).await;
    let ids_before = if tracked { row_ids(&lake.table).await } else { BTreeMap::new() };
    let (mut expected, mut next) = (Expected::of(&before), FRESH);
    let transaction = begin(&lake.table).await;
    let mut replaces_all = false;
    for number in 0..random.random_range(1..7) {
        let deed = deed(&mut random, &mut next);
        run(&deed, transaction.table()).await;
        expected.apply(&deed);
        replaces_all |= matches!(deed.verb, Verb::Overwrite);
        let seen = rows(&transaction.snapshot().unwrap()).await;
        assert_eq!(seen, expected.values(), "{case}: after operation {number}, {deed:?}");
    }
    let mut version = MADE + 1;
    if rival {
        lake.process(7).write(stream([(1000, 5)])).run().await.unwrap();
        version += 1;
    }
    let outcome = match transaction.commit().await {
        // The table is serializable, and the new row of the other writer would not be replaced.
        Err(error) if rival && replaces_all => {
            let kind = ConflictKind::ConcurrentAppend;
            assert_eq!(*error.kind(), ErrorKind::CommitConflict { kind, winner_version: version - 1, retryable: true }, "{case}");
            assert_eq!(lake.check_files().await, version - 1, "{case}");
            return;
        }
        outcome => outcome.unwrap(),
    };
    if !outcome.committed {
        assert_eq!((outcome.version, expected.values()), (MADE, before), "{case}: no operation selected a row");
        return;
    }
    assert_eq!((outcome.version, outcome.conflicts), (version, u64::from(rival)), "{case}");
    let mut values = expected.values();
    values.extend(rival.then_some((1000, 5)));
    assert_eq!(lake.rows().await.into_iter().collect::<BTreeMap<_, _>>(), values, "{case}");
    assert_eq!(rows(&outcome.snapshot.unwrap()).await, values, "{case}");
    assert_eq!(lake.check_files().await, version, "{case}");
    assert_eq!(changes(&lake.process(8), version).await, expected.changes(), "{case}");
    if tracked {
        let found = row_ids(&lake.process(9)).await;
        let unique: BTreeSet<i64> = found.values().map(|(id, _)| *id).collect();
        assert_eq!(unique.len(), values.len(), "{case}: row ids are used twice: {found:?}");
        let used: BTreeSet<i64> = ids_before.values().map(|(id, _)| *id).collect();
        let made = i64::try_from(version).unwrap();
        for (id, row) in &expected.rows {
            let (row_id, commit_version) = found[id];
            match row.first {
                Some(_) => assert_eq!(row_id, ids_before[id].0, "{case}: the row {id}"),
                None => assert!(!used.contains(&row_id), "{case}: the new row {id} has an old row id"),
            }
            let is_old = row.first.is_some() && !row.is_updated;
            assert_eq!(commit_version, if is_old { ids_before[id].1 } else { made }, "{case}: the row {id}");
        }
    }
}

#[tokio::test]
async fn random_operations_with_vectors_match_model() {
    for seed in 0..24 {
        check(seed, true, seed % 2 == 0, seed % 3 == 0, seed % 4 < 2).await;
    }
}

#[tokio::test]
async fn random_operations_with_rewrites_match_model() {
    for seed in 100..124 {
        check(seed, false, seed % 2 == 0, seed % 3 == 0, seed % 4 < 2).await;
    }
}
