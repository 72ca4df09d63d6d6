//! Races of two changes. The second one is ready to commit when the first one commits.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::{join, join_all};
use lakebed::dml::write::WriteOptions;
use lakebed::{ErrorKind, Result, Table};
use lakebed_core::path::commit_name;
use lakebed_tests::Lake;
use lakebed_tests::deeds::{self, Done, Verb};
use lakebed_tests::id_and_v::{AddOne, Between, IdAndV};
use lakebed_tests::lake::{MADE, table_over};
use tokio::time::timeout;

type Deed = deeds::Deed<IdAndV>;
type Rows = Vec<(i64, i64)>;

fn append(id: i64, v: i64) -> Deed {
    Deed { verb: Verb::Append, rows: vec![(id, v)] }
}

fn delete(first: i64, last: i64) -> Deed {
    Deed { verb: Verb::Delete(Between(first, last)), rows: Vec::new() }
}

fn erase(first: i64, last: i64) -> Deed {
    Deed { verb: Verb::Erase(Between(first, last)), rows: Vec::new() }
}

fn update(first: i64, last: i64) -> Deed {
    Deed { verb: Verb::Update(Between(first, last), AddOne), rows: Vec::new() }
}

/// Replaces the rows from one id to another by the first of them, with -1.
fn replace(first: i64, last: i64) -> Deed {
    Deed { verb: Verb::ReplaceWhere(Between(first, last)), rows: vec![(first, -1)] }
}

/// Sets `v` of these rows to -2, and inserts the missing ones.
fn upsert(first: i64, last: i64) -> Deed {
    Deed { verb: Verb::Upsert, rows: (first..=last).map(|id| (id, -2)).collect() }
}

fn compact() -> Deed {
    Deed { verb: Verb::Compact, rows: Vec::new() }
}

fn cluster() -> Deed {
    Deed { verb: Verb::Cluster, rows: Vec::new() }
}

/// Goes back to the first file.
fn restore() -> Deed {
    Deed { verb: Verb::Restore(0), rows: (1..=10).map(|id| (id, 0)).collect() }
}

async fn run(deed: &Deed, table: &Table, retries: bool) -> Result<Done> {
    deed.run(table, WriteOptions::default(), retries).await
}

async fn rows(lake: &Lake) -> Rows {
    lake.rows().await.into_iter().collect()
}

/// The outcome of the second change, which began before the first one was committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It is committed unchanged on top of the first one.
    Together,
    /// It is retried on top of the first one. Without retries it fails.
    Again,
    /// It gives up the files that the first one changed.
    GivenUp,
}

use Fate::{Again, GivenUp, Together};

/// Checks a race of two changes that begin on the same version. The second one has written
/// everything except its commit when the first one commits. The race runs with deletion vectors and
/// with rewritten files.
#[track_caller]
fn check(first: Deed, second: Deed, vectors: Fate, copied: Fate) -> impl Future<Output = ()> {
    let caller = std::panic::Location::caller();
    async move {
        for (has_vectors, fate) in [(true, vectors), (false, copied)] {
            for retries in [true, false] {
                let told = format!("{caller}: {first:?}, then {second:?}, vectors: {has_vectors}, retries: {retries}");
                let race = check_race(&first, &second, has_vectors, retries, fate, &told);
                timeout(Duration::from_secs(60), race).await.expect(&told);
            }
        }
    }
}

async fn check_race(first: &Deed, second: &Deed, has_vectors: bool, retries: bool, fate: Fate, told: &str) {
    let lake = Lake::new(has_vectors).await;
    let before = rows(&lake).await;
    let elsewhere = lake.seen_elsewhere();
    let keeper = elsewhere.hold(commit_name(MADE + 1));
    let slow = table_over(elsewhere, 3);
    let fast = async {
        keeper.reached.await.unwrap();
        let done = run(first, &lake.table, false).await.unwrap();
        keeper.open.send(()).unwrap();
        done
    };
    let (late, early) = join(run(second, &slow, retries), fast).await;
    assert!(early.committed && early.conflicts == 0, "{told}: {early:?}");
    let one_by_one = second.apply(&first.apply(&before));
    let found = rows(&lake).await;
    let is_always_retried = matches!(second.verb, Verb::ReplaceWhere(_) | Verb::Restore(_) | Verb::Erase(_));
    match (fate, late) {
        (Together, Ok(done)) => {
            assert_eq!(found, one_by_one, "{told}");
            assert_eq!((done.committed, done.conflicts), (true, 1), "{told}");
        }
        (Again, Ok(done)) if retries || is_always_retried => {
            assert_eq!(found, one_by_one, "{told}");
            // The first change may leave nothing to do.
            assert_eq!(done.committed, one_by_one != first.apply(&before), "{told}");
            assert!(!done.committed || done.conflicts > 0, "{told}: {done:?}");
        }
        (Again, Err(error)) if !retries && !is_always_retried => check_conflict(&error, &found, &first.apply(&before), told),
        (GivenUp, Ok(done)) => {
            assert_eq!(found, first.apply(&before), "{told}");
            assert_eq!((done.committed, done.conflicts), (false, 1), "{told}");
        }
        (_, late) => panic!("{told}: {late:?} instead of {fate:?}"),
    }
    lake.check_files().await;
}

#[track_caller]
fn check_conflict(error: &lakebed::Error, found: &Rows, expected: &Rows, told: &str) {
    let ErrorKind::CommitConflict { winner_version, retryable, .. } = error.kind() else { panic!("{told}: {error}") };
    assert_eq!((*winner_version, *retryable), (MADE + 1, true), "{told}: {error}");
    assert_eq!(found, expected, "{told}");
}

#[tokio::test]
async fn appends_come_after_anything() {
    for first in [append(100, 0), delete(3, 3), delete(1, 20), update(3, 3), replace(8, 12), upsert(20, 21)] {
        check(first.clone(), append(101, 0), Together, Together).await;
        check(first.clone(), append(3, 7), Together, Together).await;
    }
}

#[tokio::test]
async fn restore_runs_again_after_any_change_of_files() {
    for first in [append(100, 0), delete(3, 3), delete(1, 20), update(13, 13), replace(8, 12), upsert(20, 21), compact()] {
        check(first, restore(), Again, Again).await;
    }
    // Changes that read rows lose them to the restore.
    for second in [delete(13, 13), update(3, 13), replace(8, 12), upsert(20, 21)] {
        check(restore(), second, Again, Again).await;
    }
    check(restore(), append(100, 0), Together, Together).await;
}

#[tokio::test]
async fn erase_runs_again_after_change_of_its_files() {
    for first in [append(3, 7), delete(4, 4), update(3, 3), replace(3, 4), upsert(3, 4), compact(), erase(4, 4), erase(3, 3)] {
        check(first, erase(3, 3), Again, Again).await;
    }
    for first in [append(100, 0), delete(15, 15), update(18, 18), erase(15, 15)] {
        check(first, erase(3, 3), Together, Together).await;
    }
    for second in [delete(4, 4), update(4, 4), upsert(4, 5), replace(8, 12)] {
        check(erase(3, 3), second, Again, Again).await;
    }
    check(erase(3, 3), append(3, 7), Together, Together).await;
    check(erase(3, 3), compact(), GivenUp, GivenUp).await;
}

#[tokio::test]
async fn deletes_of_other_rows_commit_with_vectors() {
    check(delete(3, 3), delete(4, 4), Together, Again).await;
    check(delete(1, 5), delete(6, 10), Together, Again).await;
    check(delete(3, 3), delete(4, 12), Together, Again).await;
    check(delete(3, 3), delete(15, 15), Together, Together).await;
}

#[tokio::test]
async fn deletes_of_same_rows_run_again() {
    check(delete(3, 3), delete(3, 3), Again, Again).await;
    check(delete(3, 5), delete(5, 7), Again, Again).await;
    check(delete(1, 10), delete(3, 3), Again, Again).await;
    check(delete(3, 3), delete(1, 10), Again, Again).await;
    check(delete(1, 20), delete(1, 20), Again, Again).await;
}

#[tokio::test]
async fn delete_commits_after_unrelated_append() {
    check(append(100, 0), delete(3, 3), Together, Together).await;
    check(append(100, 0), delete(1, 20), Together, Together).await;
    check(append(3, 7), delete(3, 3), Again, Again).await;
    check(append(3, 7), delete(1, 20), Again, Again).await;
}

#[tokio::test]
async fn updates_of_other_rows_commit_with_vectors() {
    check(update(4, 4), delete(3, 3), Together, Again).await;
    check(delete(3, 3), update(4, 4), Together, Again).await;
    check(update(3, 3), update(4, 4), Together, Again).await;
    check(update(15, 15), update(4, 4), Together, Together).await;
    check(append(100, 0), update(4, 4), Together, Together).await;
}

#[tokio::test]
async fn updates_of_same_rows_run_again() {
    check(update(3, 3), delete(3, 3), Again, Again).await;
    check(delete(3, 3), update(3, 3), Again, Again).await;
    check(update(3, 3), update(3, 3), Again, Again).await;
    check(update(1, 20), update(4, 4), Again, Again).await;
    check(append(4, 7), update(4, 4), Again, Again).await;
}

#[tokio::test]
async fn partial_overwrite_commits_after_unrelated_change() {
    check(append(100, 0), replace(8, 12), Together, Together).await;
    check(delete(3, 3), replace(8, 12), Together, Again).await;
    check(update(3, 3), replace(8, 12), Together, Again).await;
    check(update(18, 18), replace(8, 9), Together, Together).await;
    check(replace(3, 4), replace(8, 12), Together, Again).await;
    check(append(9, 7), replace(8, 12), Again, Again).await;
    check(delete(9, 9), replace(8, 12), Again, Again).await;
    check(update(9, 9), replace(8, 12), Again, Again).await;
    check(replace(10, 11), replace(8, 12), Again, Again).await;
}

#[tokio::test]
async fn changes_come_after_overwrites_of_other_rows() {
    check(replace(8, 12), delete(3, 3), Together, Again).await;
    check(replace(8, 12), update(3, 3), Together, Again).await;
    check(replace(8, 9), delete(18, 18), Together, Together).await;
    check(replace(8, 12), delete(9, 9), Again, Again).await;
    check(replace(8, 12), update(8, 8), Again, Again).await;
}

#[tokio::test]
async fn merge_commits_after_unrelated_change() {
    check(append(100, 0), upsert(4, 5), Together, Together).await;
    check(update(15, 15), upsert(4, 5), Together, Together).await;
    check(delete(15, 15), upsert(4, 5), Together, Together).await;
    check(append(21, 7), upsert(20, 22), Again, Again).await;
    check(upsert(20, 21), upsert(21, 22), Again, Again).await;
    check(update(5, 5), upsert(4, 5), Again, Again).await;
    check(upsert(4, 5), delete(5, 5), Again, Again).await;
    check(delete(5, 5), upsert(4, 5), Again, Again).await;
    check(upsert(4, 5), delete(15, 15), Together, Together).await;
}

#[tokio::test]
async fn optimize_commits_beside_append() {
    for optimize in [compact(), cluster()] {
        check(append(100, 0), optimize.clone(), Together, Together).await;
        check(optimize.clone(), append(100, 0), Together, Together).await;
    }
}

#[tokio::test]
async fn optimize_gives_up_files_changed_meanwhile() {
    for optimize in [compact(), cluster()] {
        for first in [delete(3, 3), delete(1, 10), update(3, 3), replace(8, 12), upsert(4, 5), compact(), cluster()] {
            check(first, optimize.clone(), GivenUp, GivenUp).await;
        }
    }
}

#[tokio::test]
async fn change_of_optimized_files_runs_again() {
    for optimize in [compact(), cluster()] {
        check(optimize.clone(), delete(3, 3), Again, Again).await;
        check(optimize.clone(), delete(1, 20), Again, Again).await;
        check(optimize.clone(), update(3, 3), Again, Again).await;
        check(optimize.clone(), upsert(4, 5), Again, Again).await;
        check(optimize.clone(), replace(8, 12), Again, Again).await;
    }
}

#[tokio::test]
async fn many_deletes_at_once_are_all_done() {
    for vectors in [true, false] {
        let lake = Lake::new(vectors).await;
        let tables: Vec<Table> = (10..16).map(|process| lake.process(process)).collect();
        let deeds = [delete(1, 1), delete(3, 4), update(5, 6), delete(10, 12), update(6, 7), delete(4, 5)];
        let all = deeds.iter().zip(&tables).map(|(deed, table)| run(deed, table, true));
        let committed = join_all(all).await.into_iter().filter(|done| done.as_ref().unwrap().committed).count() as u64;
        assert_eq!(lake.check_files().await, MADE + committed);
        let found: BTreeMap<i64, i64> = lake.rows().await.into_iter().collect();
        // The update of 5 comes before its delete or does not happen. 6 is updated twice. The order
        // does not matter.
        let expected = (1..=20).filter(|id| ![1, 3, 4, 5, 10, 11, 12].contains(id));
        let times_updated = |id: i64| match id {
            6 => 2,
            7 => 1,
            _ => 0,
        };
        let expected: BTreeMap<i64, i64> = expected.map(|id| (id, times_updated(id))).collect();
        assert_eq!(found, expected, "vectors: {vectors}");
    }
}
