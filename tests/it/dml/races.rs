//! Two changes of which the second one is ready to commit when the first one does.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{join, join_all};
use lakebed::dml::merge::{Action, Clause, MergeSource, When};
use lakebed::dml::{ChangeOptions, ChangeOutcome};
use lakebed::optimize::{Layout, OptimizeOutcome};
use lakebed::write::WriteOutcome;
use lakebed::{ErrorKind, Result, Table};
use lakebed_core::path::commit_name;
use object_store::ObjectStore;
use tokio::time::timeout;

use super::kit::*;

/// What may be done, to rows by their ids.
#[derive(Debug, Clone, Copy)]
enum Deed {
    Append(i64, i64),
    /// The rows from one id to another.
    Delete(i64, i64),
    /// Adds 1 to `v`.
    Update(i64, i64),
    /// The rows from one id to another make way for the first of them, with -1.
    Replace(i64, i64),
    /// Sets `v` of these rows to -2, and inserts those that are not there.
    Upsert(i64, i64),
    /// Puts the files together.
    Compact,
    /// Brings the rows into another order.
    Cluster,
}

use Deed::{Append, Cluster, Compact, Delete, Replace, Update, Upsert};

/// What becomes of the second one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It is committed as it is, on top of the first.
    Together,
    /// It is done again on top of the first, or fails if it may not.
    Again,
    /// It leaves the files to the first one.
    GivenUp,
}

use Fate::{Again, GivenUp, Together};

#[derive(Debug)]
struct Done {
    is_committed: bool,
    conflicts: u64,
}

impl From<ChangeOutcome> for Done {
    fn from(outcome: ChangeOutcome) -> Self {
        Self { is_committed: outcome.is_committed, conflicts: outcome.metrics.conflicts }
    }
}

impl From<WriteOutcome> for Done {
    fn from(outcome: WriteOutcome) -> Self {
        Self { is_committed: outcome.is_committed, conflicts: outcome.metrics.conflicts }
    }
}

impl From<OptimizeOutcome> for Done {
    fn from(outcome: OptimizeOutcome) -> Self {
        Self { is_committed: outcome.commits > 0, conflicts: outcome.metrics.conflicts }
    }
}

impl Deed {
    async fn run(self, table: &Table, retries: bool) -> Result<Done> {
        let options = ChangeOptions { retries, ..ChangeOptions::default() };
        let between = |first: i64, last: i64| format!("id BETWEEN {first} AND {last}");
        match self {
            Append(id, v) => table.write(stream([(id, v)])).run().await.map(Done::from),
            Delete(first, last) => table.delete().filter(between(first, last)).options(options).run().await.map(Done::from),
            Update(first, last) => {
                let update = table.update().set("v", "v + 1").filter(between(first, last));
                update.options(options).run().await.map(Done::from)
            }
            Replace(first, last) => {
                table.write(stream([(first, -1)])).options(replace(&between(first, last))).run().await.map(Done::from)
            }
            Upsert(first, last) => {
                let source = MergeSource::read(stream((first..=last).map(|id| (id, -2)))).await?;
                let clause = |when, action| Clause { when, condition: None, action };
                let merge = table.merge(&source, "target.id = source.id").options(options);
                let merge = merge.when(clause(When::Matched, Action::UpdateAll));
                merge.when(clause(When::NotMatched, Action::InsertAll)).run().await.map(Done::from)
            }
            Compact => table.optimize().run().await.map(Done::from),
            Cluster => {
                let columns = vec!["v".to_owned(), "id".to_owned()];
                table.optimize().layout(Layout::Cluster(columns)).run().await.map(Done::from)
            }
        }
    }

    /// The same to rows in a list.
    fn apply(self, rows: &Rows) -> Rows {
        let is_between = |first: i64, last: i64| move |row: &&(i64, i64)| (first..=last).contains(&row.0);
        let (own, others): (Rows, Rows) = match self {
            Append(..) | Compact | Cluster => (Rows::new(), rows.clone()),
            Delete(first, last) | Update(first, last) | Replace(first, last) | Upsert(first, last) => {
                rows.iter().partition(|row| is_between(first, last)(row))
            }
        };
        let new: Rows = match self {
            Append(id, v) => [(id, v)].into(),
            Delete(..) | Compact | Cluster => Rows::new(),
            Update(..) => own.iter().map(|(id, v)| (*id, v + 1)).collect(),
            Replace(first, _) => [(first, -1)].into(),
            Upsert(first, last) => (first..=last).map(|id| (id, -2)).collect(),
        };
        others.union(&new).copied().collect()
    }
}

/// Both begin on the same version; the second one has written everything but its commit when the first one commits. With deletion vectors,
/// and with files that are written anew.
#[track_caller]
fn check(first: Deed, second: Deed, vectors: Fate, copied: Fate) -> impl Future<Output = ()> {
    let caller = std::panic::Location::caller();
    async move {
        for (has_vectors, fate) in [(true, vectors), (false, copied)] {
            for retries in [true, false] {
                let told = format!("{caller}: {first:?}, then {second:?}, vectors: {has_vectors}, retries: {retries}");
                let race = check_race(first, second, has_vectors, retries, fate, &told);
                timeout(Duration::from_secs(60), race).await.expect(&told);
            }
        }
    }
}

async fn check_race(first: Deed, second: Deed, has_vectors: bool, retries: bool, fate: Fate, told: &str) {
    let case = Case::new(has_vectors).await;
    let before = case.rows().await;
    let elsewhere = case.seen_elsewhere();
    let keeper = elsewhere.hold(commit_name(MADE + 1));
    let slow = table(elsewhere, 3);
    let fast = async {
        keeper.reached.await.unwrap();
        let done = first.run(&case.table, false).await.unwrap();
        keeper.open.send(()).unwrap();
        done
    };
    let (late, early) = join(second.run(&slow, retries), fast).await;
    assert!(early.is_committed && early.conflicts == 0, "{told}: {early:?}");
    let one_by_one = second.apply(&first.apply(&before));
    let found = case.rows().await;
    // A replacement is always done again.
    let is_replaced = matches!(second, Replace(..));
    match (fate, late) {
        (Together, Ok(done)) => {
            let other_way = first.apply(&second.apply(&before));
            assert!(found == one_by_one || found == other_way, "{told}: {found:?}");
            assert_eq!((done.is_committed, done.conflicts), (true, 1), "{told}");
        }
        (Again, Ok(done)) if retries || is_replaced => {
            assert_eq!(found, one_by_one, "{told}");
            // What the first one did may leave nothing to do.
            assert_eq!(done.is_committed, one_by_one != first.apply(&before), "{told}");
            assert!(!done.is_committed || done.conflicts > 0, "{told}: {done:?}");
        }
        (Again, Err(error)) if !retries && !is_replaced => check_conflict(&error, &found, &first.apply(&before), told),
        (GivenUp, Ok(done)) => {
            assert_eq!(found, first.apply(&before), "{told}");
            assert_eq!((done.is_committed, done.conflicts), (false, 1), "{told}");
        }
        (_, late) => panic!("{told}: {late:?} instead of {fate:?}"),
    }
    case.check_files().await;
}

#[track_caller]
fn check_conflict(error: &lakebed::Error, found: &Rows, expected: &Rows, told: &str) {
    let ErrorKind::CommitConflict { winner_version, retryable, .. } = error.kind() else { panic!("{told}: {error}") };
    assert_eq!((*winner_version, *retryable), (MADE + 1, true), "{told}: {error}");
    assert_eq!(found, expected, "{told}");
}

#[tokio::test]
async fn appends_come_after_anything() {
    for first in [Append(100, 0), Delete(3, 3), Delete(1, 20), Update(3, 3), Replace(8, 12), Upsert(20, 21)] {
        check(first, Append(101, 0), Together, Together).await;
        check(first, Append(3, 7), Together, Together).await;
    }
}

#[tokio::test]
async fn deletes_of_other_rows_of_one_file_come_together_where_vectors_note_them() {
    check(Delete(3, 3), Delete(4, 4), Together, Again).await;
    check(Delete(1, 5), Delete(6, 10), Together, Again).await;
    check(Delete(3, 3), Delete(4, 12), Together, Again).await;
    check(Delete(3, 3), Delete(15, 15), Together, Together).await;
}

#[tokio::test]
async fn deletes_of_the_same_rows_are_done_again() {
    check(Delete(3, 3), Delete(3, 3), Again, Again).await;
    check(Delete(3, 5), Delete(5, 7), Again, Again).await;
    check(Delete(1, 10), Delete(3, 3), Again, Again).await;
    check(Delete(3, 3), Delete(1, 10), Again, Again).await;
    check(Delete(1, 20), Delete(1, 20), Again, Again).await;
}

#[tokio::test]
async fn deletes_come_after_appends_that_they_are_not_about() {
    check(Append(100, 0), Delete(3, 3), Together, Together).await;
    check(Append(100, 0), Delete(1, 20), Together, Together).await;
    check(Append(3, 7), Delete(3, 3), Again, Again).await;
    check(Append(3, 7), Delete(1, 20), Again, Again).await;
}

#[tokio::test]
async fn updates_and_deletes_of_other_rows_come_together_where_vectors_note_them() {
    check(Update(4, 4), Delete(3, 3), Together, Again).await;
    check(Delete(3, 3), Update(4, 4), Together, Again).await;
    check(Update(3, 3), Update(4, 4), Together, Again).await;
    check(Update(15, 15), Update(4, 4), Together, Together).await;
    check(Append(100, 0), Update(4, 4), Together, Together).await;
}

#[tokio::test]
async fn updates_and_deletes_of_the_same_rows_are_done_again() {
    check(Update(3, 3), Delete(3, 3), Again, Again).await;
    check(Delete(3, 3), Update(3, 3), Again, Again).await;
    check(Update(3, 3), Update(3, 3), Again, Again).await;
    check(Update(1, 20), Update(4, 4), Again, Again).await;
    check(Append(4, 7), Update(4, 4), Again, Again).await;
}

#[tokio::test]
async fn overwrites_of_some_rows_come_after_what_leaves_these_alone() {
    check(Append(100, 0), Replace(8, 12), Together, Together).await;
    check(Delete(3, 3), Replace(8, 12), Together, Again).await;
    check(Update(3, 3), Replace(8, 12), Together, Again).await;
    check(Update(18, 18), Replace(8, 9), Together, Together).await;
    check(Replace(3, 4), Replace(8, 12), Together, Again).await;
    check(Append(9, 7), Replace(8, 12), Again, Again).await;
    check(Delete(9, 9), Replace(8, 12), Again, Again).await;
    check(Update(9, 9), Replace(8, 12), Again, Again).await;
    check(Replace(10, 11), Replace(8, 12), Again, Again).await;
}

#[tokio::test]
async fn changes_come_after_overwrites_of_other_rows() {
    check(Replace(8, 12), Delete(3, 3), Together, Again).await;
    check(Replace(8, 12), Update(3, 3), Together, Again).await;
    check(Replace(8, 9), Delete(18, 18), Together, Together).await;
    check(Replace(8, 12), Delete(9, 9), Again, Again).await;
    check(Replace(8, 12), Update(8, 8), Again, Again).await;
}

#[tokio::test]
async fn merges_come_after_what_they_do_not_depend_on() {
    check(Append(100, 0), Upsert(4, 5), Together, Together).await;
    check(Update(15, 15), Upsert(4, 5), Together, Together).await;
    check(Delete(15, 15), Upsert(4, 5), Together, Together).await;
    check(Append(21, 7), Upsert(20, 22), Again, Again).await;
    check(Upsert(20, 21), Upsert(21, 22), Again, Again).await;
    check(Update(5, 5), Upsert(4, 5), Again, Again).await;
    check(Upsert(4, 5), Delete(5, 5), Again, Again).await;
    check(Delete(5, 5), Upsert(4, 5), Again, Again).await;
    check(Upsert(4, 5), Delete(15, 15), Together, Together).await;
}

#[tokio::test]
async fn files_are_written_anew_beside_what_leaves_them_alone() {
    for optimize in [Compact, Cluster] {
        check(Append(100, 0), optimize, Together, Together).await;
        check(optimize, Append(100, 0), Together, Together).await;
    }
}

#[tokio::test]
async fn files_that_another_changed_are_left_to_him() {
    for optimize in [Compact, Cluster] {
        for first in [Delete(3, 3), Delete(1, 10), Update(3, 3), Replace(8, 12), Upsert(4, 5), Compact, Cluster] {
            check(first, optimize, GivenUp, GivenUp).await;
        }
    }
}

#[tokio::test]
async fn changes_of_files_that_were_written_anew_are_done_again() {
    for optimize in [Compact, Cluster] {
        check(optimize, Delete(3, 3), Again, Again).await;
        check(optimize, Delete(1, 20), Again, Again).await;
        check(optimize, Update(3, 3), Again, Again).await;
        check(optimize, Upsert(4, 5), Again, Again).await;
        check(optimize, Replace(8, 12), Again, Again).await;
    }
}

#[tokio::test]
async fn many_deletes_at_once_are_all_done() {
    for vectors in [true, false] {
        let case = Case::new(vectors).await;
        let tables: Vec<Table> =
            (10..16).map(|process| table(Arc::clone(&case.observed) as Arc<dyn ObjectStore>, process)).collect();
        let deeds = [Delete(1, 1), Delete(3, 4), Update(5, 6), Delete(10, 12), Update(6, 7), Delete(4, 5)];
        let all = deeds.iter().zip(&tables).map(|(deed, table)| deed.run(table, true));
        let committed = join_all(all).await.into_iter().filter(|done| done.as_ref().unwrap().is_committed).count() as u64;
        assert_eq!(case.check_files().await, MADE + committed);
        let found: BTreeMap<i64, i64> = case.rows().await.into_iter().collect();
        // 5 is updated or not before it is deleted, 6 is updated twice; whatever comes first.
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
