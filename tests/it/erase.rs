//! Erase: interruptions after every request, and other writers that bring rows back.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use futures::TryStreamExt;
use lakebed::erase::{EraseOptions, EraseOutcome};
use lakebed::restore::RestoreOptions;
use lakebed::{Result, Snapshot, Table};
use lakebed_core::action::Action;
use lakebed_core::path::commit_name;
use lakebed_tests::Lake;
use lakebed_tests::lake::{MADE, Rows, table_over};
use object_store::ObjectStore;
use tokio::task::JoinSet;

const GONE: &str = "id <= 5";

async fn erase_history(table: &Table) -> Result<EraseOutcome> {
    table.erase(GONE).options(EraseOptions { history: true, ..EraseOptions::new(GONE) }).run().await
}

/// Makes a table with rows to erase in several files, in a vector and in a checkpoint.
async fn lake() -> Lake {
    let lake = Lake::new(true).await;
    lake.table.update().set("v", "1").filter("id = 3").run().await.unwrap();
    lake.table.delete().filter("id = 4").run().await.unwrap();
    lake.table.snapshot().await.unwrap().checkpoint().await.unwrap();
    lake
}

async fn objects(lake: &Lake) -> BTreeSet<String> {
    let objects: Vec<_> = lake.seen_elsewhere().list(None).try_collect().await.unwrap();
    objects.into_iter().map(|object| object.location.to_string()).collect()
}

/// Asserts that nothing is left of the files that held the rows, and of the log that named them.
async fn check_erased(lake: &Lake, held: &BTreeSet<String>, version: u64) {
    let left = objects(lake).await;
    assert_eq!(left.intersection(held).collect::<Vec<_>>(), Vec::<&String>::new());
    for older in 0..version {
        for action in lake.actions(older).await.unwrap_or_default() {
            assert!(matches!(action, Action::CommitInfo(_) | Action::Protocol(_)), "version {older}: {action:?}");
        }
    }
    let checkpoints: Vec<&String> = left.iter().filter(|name| name.contains(".checkpoint.")).collect();
    assert_eq!(checkpoints.len(), 1, "{checkpoints:?}");
}

#[tokio::test]
async fn next_erase_finishes_one_that_died() {
    let after: Rows = (6..=20).map(|id| (id, 0)).collect();
    let before: Rows = after.iter().copied().chain([(1, 0), (2, 0), (3, 1), (5, 0)]).collect();
    let mut spared = 0;
    loop {
        let lake = lake().await;
        let snapshot = lake.table.snapshot().await.unwrap();
        let clean: Vec<String> = newest_files(&snapshot, "id > 10").await;
        let is_held = |name: &String| !name.contains("_delta_log") && !clean.iter().any(|clean| name.ends_with(clean.as_str()));
        let held: BTreeSet<String> = objects(&lake).await.into_iter().filter(is_held).collect();
        assert!(held.len() >= 2, "{held:?}");
        lake.observed.die_after(spared);
        let died = erase_history(&lake.process(3)).await;
        let rows = lake.rows().await;
        assert!(rows == after || rows == before, "after {spared} requests: {rows:?}");
        if let Err(error) = &died {
            assert_eq!(error.message().contains("no longer holds these rows"), rows == after, "after {spared} requests: {error}");
        }
        let other = table_over(lake.seen_elsewhere() as Arc<dyn ObjectStore>, 4);
        let outcome = erase_history(&other).await.unwrap();
        assert_eq!(lake.rows().await, after, "after {spared} requests");
        check_erased(&lake, &held, outcome.version).await;
        if died.is_ok() {
            assert!(!outcome.committed);
            assert!(spared > 40, "{spared}");
            return;
        }
        spared += 1;
    }
}

async fn newest_files(snapshot: &Snapshot, filter: &str) -> Vec<String> {
    let batches: Vec<_> = snapshot.scan().filter(filter).files().await.unwrap().try_collect().await.unwrap();
    let paths = |batch: &RecordBatch| -> Vec<String> {
        batch.column_by_name("path").unwrap().as_string::<i32>().iter().flatten().map(str::to_owned).collect()
    };
    batches.iter().flat_map(paths).collect()
}

#[tokio::test]
async fn erase_begins_again_if_others_restore_rows() {
    let lake = Lake::new(false).await;
    let keeper = lake.observed.hold(commit_name(MADE + 2));
    let table = lake.process(3);
    let mut erasing = JoinSet::new();
    erasing.spawn(async move { erase_history(&table).await });
    keeper.reached.await.unwrap();
    let other = table_over(lake.seen_elsewhere() as Arc<dyn ObjectStore>, 4);
    let options = RestoreOptions { version: Some(MADE), ..RestoreOptions::default() };
    assert_eq!(other.restore().options(options).run().await.unwrap().version, MADE + 2);
    keeper.open.send(()).unwrap();
    let outcome = erasing.join_next().await.unwrap().unwrap().unwrap();
    assert_eq!(lake.rows().await, (6..=20).map(|id| (id, 0)).collect::<Rows>());
    assert_eq!((outcome.version, outcome.metrics.erased_rows), (MADE + 4, Some(10)));
    check_erased(&lake, &BTreeSet::new(), outcome.version).await;
}
