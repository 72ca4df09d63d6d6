//! Optimize: its requests to the store, the files that stay, and the log afterwards.

use std::sync::Arc;

use lakebed::ErrorKind;
use lakebed::optimize::{Commits, Layout, Optimize, OptimizeOptions};
use lakebed_core::action::Action;
use lakebed_core::path::commit_name;
use lakebed_tests::error::check_error;
use lakebed_tests::lake::{MADE, stream, table_over};
use lakebed_tests::{Fault, Lake};
use object_store::ObjectStore;

/// The number of data files of `Lake::new`.
const FILES: usize = 2;

#[tokio::test]
async fn compact_of_small_files_changes_no_row() {
    let lake = Lake::new(true).await;
    let before = lake.rows().await;
    let outcome = lake.table.optimize().run().await.unwrap();
    assert_eq!((outcome.version, outcome.commits), (MADE + 1, 1));
    // Each file is read once. The new file, the commit and its checksum are written.
    assert_eq!(lake.counts().reads_and_writes(), (FILES, 3, 0));
    assert_eq!(lake.rows().await, before);
    assert_eq!(lake.check_files().await, MADE + 1);
    let (mut added, mut removed) = (0, 0);
    for action in lake.actions(MADE + 1).await.unwrap() {
        match action {
            Action::Add(add) => {
                added += 1;
                assert_eq!((add.data_change, add.num_records()), (false, Some(20)));
            }
            Action::Remove(remove) => {
                removed += 1;
                assert!(!remove.data_change);
            }
            Action::CommitInfo(info) => {
                assert_eq!(info.text("operation"), Some("OPTIMIZE"));
                assert_eq!(info.text("isolationLevel"), Some("SnapshotIsolation"));
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((added, removed), (1, FILES));
}

#[tokio::test]
async fn optimize_without_work_reads_no_data() {
    let layouts =
        [Layout::OfTable, Layout::ZOrder(vec!["id".to_owned()]), Layout::Cluster(vec!["v".to_owned(), "id".to_owned()])];
    for layout in layouts {
        let lake = Lake::new(false).await;
        let optimize = || lake.table.optimize().layout(layout.clone());
        assert_eq!(optimize().run().await.unwrap().commits, 1, "{layout:?}");
        lake.counts();
        let outcome = optimize().run().await.unwrap();
        assert_eq!((outcome.version, outcome.commits, outcome.metrics.scanned_files), (MADE + 1, 0, 1), "{layout:?}");
        assert_eq!(lake.counts().reads_and_writes(), (0, 0, 0), "{layout:?}");
        // New rows make new work.
        lake.table.write(stream([(100, 1)])).run().await.unwrap();
        let again = optimize().options(OptimizeOptions { layout: layout.clone(), ..OptimizeOptions::default() });
        assert_eq!(again.run().await.unwrap().metrics.removed_files, FILES as u64, "{layout:?}");
    }
}

#[tokio::test]
async fn plan_of_optimize_writes_nothing() {
    let lake = Lake::new(false).await;
    let groups = lake.table.optimize().plan().await.unwrap();
    assert_eq!(lake.counts().reads_and_writes(), (0, 0, 0));
    let [group] = groups.as_slice() else { panic!("{groups:?}") };
    assert_eq!((group.partition.as_str(), group.paths.len()), ("", FILES));
    let names: u64 = groups.iter().map(|group| group.size_bytes).sum();
    let detail = lake.table.snapshot().await.unwrap().detail().await.unwrap();
    assert_eq!((names, detail.version, detail.num_files), (detail.size_bytes, MADE, FILES as u64));
}

/// Returns a table in four partitions of three files each.
async fn partitioned() -> Lake {
    let lake = Lake::with(&[("delta.enableDeletionVectors", true)], Some("v")).await;
    for round in 0..3 {
        let rows = (0..4).map(|v| (100 + round * 10 + v, v + 1));
        lake.table.write(stream(rows)).run().await.unwrap();
    }
    lake.counts();
    lake
}

fn per_group(optimize: Optimize) -> Optimize {
    optimize.options(OptimizeOptions { commits: Commits::PerGroup, ..OptimizeOptions::default() })
}

#[tokio::test]
async fn optimize_per_group_commits_each_partition() {
    let lake = partitioned().await;
    let before = lake.rows().await;
    let made = lake.table.snapshot().await.unwrap().version();
    let outcome = per_group(lake.table.optimize()).run().await.unwrap();
    // The fifth partition, 0, has the two files with which the table was created.
    assert_eq!((outcome.version, outcome.commits), (made + 5, 5));
    assert_eq!((outcome.metrics.groups, outcome.metrics.removed_files, outcome.metrics.added_files), (5, 14, 5));
    assert_eq!(lake.rows().await, before);
    lake.check_files().await;
    let paths = lake.table.snapshot().await.unwrap().detail().await.unwrap();
    assert_eq!(paths.num_files, 5);
}

#[tokio::test]
async fn a_filter_names_the_partitions() {
    let lake = partitioned().await;
    let outcome = lake.table.optimize().filter("v IN (1, 2)").run().await.unwrap();
    assert_eq!((outcome.metrics.groups, outcome.metrics.removed_files, outcome.metrics.scanned_files), (2, 6, 6));
}

#[tokio::test]
async fn optimize_loses_only_groups_changed_meanwhile() {
    for commits in [Commits::PerRun, Commits::PerGroup] {
        let lake = partitioned().await;
        let before = lake.rows().await;
        let made = lake.table.snapshot().await.unwrap().version();
        let elsewhere = lake.seen_elsewhere();
        let keeper = elsewhere.hold(commit_name(made + 1));
        let slow = table_over(elsewhere as Arc<dyn ObjectStore>, 3);
        let fast = async {
            keeper.reached.await.unwrap();
            lake.table.delete().filter("id = 102").run().await.unwrap();
            keeper.open.send(()).unwrap();
        };
        let options = OptimizeOptions { commits, ..OptimizeOptions::default() };
        let (outcome, ()) = futures::join!(slow.optimize().options(options).run(), fast);
        let metrics = outcome.unwrap().metrics;
        assert_eq!((metrics.groups, metrics.lost_groups), (4, 1), "{commits:?}");
        let left = before.iter().copied().filter(|(id, _)| *id != 102).collect();
        assert_eq!(lake.rows().await, left, "{commits:?}");
        lake.check_files().await;
    }
}

#[tokio::test]
async fn optimize_removes_deleted_rows_from_files() {
    let lake = Lake::new(true).await;
    lake.table.optimize().run().await.unwrap();
    lake.table.delete().filter("id = 3").run().await.unwrap();
    // One row of twenty does not exceed the allowed share of deleted rows.
    assert_eq!(lake.table.optimize().run().await.unwrap().commits, 0);
    lake.table.delete().filter("id = 4").run().await.unwrap();
    let before = lake.rows().await;
    let outcome = lake.table.optimize().run().await.unwrap();
    assert_eq!((outcome.metrics.deletion_vectors_removed, outcome.metrics.rows), (1, 18));
    assert_eq!(lake.rows().await, before);
}

#[tokio::test]
async fn nothing_stays_of_a_run_that_fails() {
    let lake = partitioned().await;
    let made = lake.table.snapshot().await.unwrap().version();
    lake.observed.fail_with(".parquet", Fault::Denied, 1);
    let error = lake.table.optimize().run().await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Store { .. }), "{error}");
    assert_eq!(lake.check_files().await, made);
}

#[tokio::test]
async fn auto_compact_runs_where_property_asks() {
    let lake = Lake::with(&[], None).await;
    for id in 100..160 {
        lake.table.write(stream([(id, 0)])).run().await.unwrap();
    }
    let snapshot = lake.table.snapshot().await.unwrap();
    assert!(lake.table.auto_compact(&snapshot).await.unwrap().is_none(), "nobody asked for it");
    let lake = Lake::with(&[("delta.autoOptimize.autoCompact", true)], None).await;
    let mut compacted = Vec::new();
    for id in 100..160 {
        let written = lake.table.write(stream([(id, 0)])).run().await.unwrap();
        let outcome = lake.table.auto_compact(&written.snapshot.unwrap()).await.unwrap();
        compacted.extend(outcome.map(|outcome| (outcome.version, outcome.metrics.removed_files)));
    }
    // Version 49 has 50 files, version 50 is a checkpoint and has 51.
    assert_eq!(compacted, [(51, 51)]);
    let before = lake.rows().await;
    assert_eq!(before.len(), 80);
    let history = lake.table.snapshot_at(51).await.unwrap().history(Some(1)).await.unwrap();
    assert_eq!(history[0].info.0["operationParameters"]["auto"], true);
}

#[tokio::test]
async fn optimize_clusters_clustered_table_incrementally() {
    let lake = Lake::new(false).await;
    lake.table.cluster_by(["id"]).await.unwrap();
    let optimize = |full| {
        let options = OptimizeOptions { full, ..OptimizeOptions::default() };
        lake.table.optimize().options(options).run()
    };
    let removed = |outcome: lakebed::optimize::OptimizeOutcome| outcome.metrics.removed_files;
    assert_eq!(removed(optimize(false).await.unwrap()), 2);
    assert_eq!(removed(optimize(false).await.unwrap()), 0);
    // The new files are smaller than the clustered files, which stay.
    lake.table.write(stream([(30, 0)])).run().await.unwrap();
    let clustered = lake.table.optimize().plan().await.unwrap();
    assert_eq!(clustered[0].paths.len(), 1);
    assert_eq!(removed(optimize(false).await.unwrap()), 1);
    // A change of the clustering columns affects only new rows, unless `full` is set.
    lake.table.cluster_by(["v", "id"]).await.unwrap();
    assert_eq!(removed(optimize(false).await.unwrap()), 0);
    assert_eq!(removed(optimize(true).await.unwrap()), 2);
    assert_eq!(removed(optimize(false).await.unwrap()), 0);
    let error = lake.table.optimize().layout(Layout::ZOrder(vec!["id".to_owned()])).run().await.unwrap_err();
    check_error(&error, &ErrorKind::InvalidInput, &["v, id"]);
    lake.table.cluster_by(Vec::<String>::new()).await.unwrap();
    lake.table.write(stream([(31, 0)])).run().await.unwrap();
    assert_eq!(removed(optimize(false).await.unwrap()), 2);
    lake.check_files().await;
}
