//! Repairs of damaged tables: the damage that is mended, refused or left as it is.

use lakebed::check::{FindingKind, Level};
use lakebed::repair::{RepairKind, RepairOptions, RepairOutcome};
use lakebed::{ErrorKind, Result, Table};
use lakebed_core::action::Action;
use lakebed_core::path::{HINT_NAME, checkpoint_name, checksum_name, commit_name};
use lakebed_tests::error::check_error;
use lakebed_tests::lake::{Lake, stream};

async fn repair(table: &Table, options: RepairOptions) -> Result<RepairOutcome> {
    table.repair().options(options).run().await
}

fn done() -> RepairOptions {
    RepairOptions { dry_run: false, ..RepairOptions::default() }
}

fn kinds(outcome: &RepairOutcome) -> Vec<RepairKind> {
    outcome.actions.iter().map(|action| action.kind).collect()
}

/// Writes bytes over a file of the log.
async fn overwrite(lake: &Lake, name: &str, bytes: &'static [u8]) {
    let store = lake.table.store();
    store.put(&store.log_path(name).unwrap(), bytes.into()).await.unwrap();
}

async fn has(lake: &Lake, name: &str) -> bool {
    let store = lake.table.store();
    store.head(&store.log_path(name).unwrap()).await.is_ok()
}

#[tokio::test]
async fn sound_table_is_left_as_it_is() {
    let lake = Lake::new(true).await;
    lake.counts();
    let outcome = repair(&lake.process(2), RepairOptions { level: Level::History, ..done() }).await.unwrap();
    assert!(outcome.actions.is_empty() && outcome.commits.is_empty() && outcome.check.is_ok());
    let counts = lake.counts();
    assert_eq!((counts.puts, counts.deletes), (0, 0));
}

#[tokio::test]
async fn broken_files_of_log_are_replaced() {
    let broken: &[&[&str]] =
        &[&[&checkpoint_name(1)], &[HINT_NAME], &[&checksum_name(1)], &[&checkpoint_name(1), HINT_NAME, &checksum_name(1)]];
    for names in broken {
        let lake = Lake::new(false).await;
        lake.table.snapshot().await.unwrap().checkpoint().await.unwrap();
        for name in *names {
            overwrite(&lake, name, b"noise").await;
        }
        lake.counts();
        let planned = repair(&lake.process(2), RepairOptions::default()).await.unwrap();
        let mut expected = vec![RepairKind::MoveAside; names.len()];
        expected.push(RepairKind::WriteCheckpoint);
        assert_eq!((kinds(&planned), lake.counts().puts), (expected.clone(), 0), "{names:?}");
        let outcome = repair(&lake.process(3), done()).await.unwrap();
        assert_eq!(kinds(&outcome), expected, "{names:?}");
        assert!(outcome.check.is_ok() && outcome.check.findings.is_empty(), "{:?}", outcome.check.findings);
        for name in [&checkpoint_name(1), HINT_NAME, &checksum_name(1)] {
            assert!(has(&lake, name).await, "{names:?}: {name}");
        }
        assert_eq!(lake.rows().await, (1..=20).map(|id| (id, 0)).collect());
    }
}

#[tokio::test]
async fn missing_files_are_dropped_only_by_name() {
    let lake = Lake::new(false).await;
    let gone = lake.actions(1).await.unwrap().into_iter().find_map(|action| match action {
        Action::Add(add) => Some(add.path),
        _ => None,
    });
    let store = lake.table.store();
    store.delete(&[store.path_of(&gone.clone().unwrap()).unwrap()]).await.unwrap();
    let left = repair(&lake.process(2), done()).await.unwrap();
    assert!(left.actions.is_empty() && left.check.counts.contains_key(&FindingKind::DataFileMissing));
    let outcome = repair(&lake.process(3), RepairOptions { drop_missing_files: true, ..done() }).await.unwrap();
    assert_eq!((kinds(&outcome), outcome.commits.clone()), (vec![RepairKind::DropFile], vec![2]));
    assert!(outcome.check.is_ok());
    assert_eq!(lake.rows().await, (1..=10).map(|id| (id, 0)).collect());
    let commit = lake.actions(2).await.unwrap();
    let info = commit.iter().find_map(|action| match action {
        Action::CommitInfo(info) => Some(info.clone()),
        _ => None,
    });
    assert_eq!(info.unwrap().text("operation"), Some("FSCK"));
    let removed = commit.iter().filter_map(|action| match action {
        Action::Remove(remove) => Some((remove.path.clone(), remove.data_change)),
        _ => None,
    });
    assert_eq!(removed.collect::<Vec<_>>(), [(gone.unwrap(), true)]);
}

#[tokio::test]
async fn broken_tail_is_cut_only_by_name() {
    let lake = Lake::new(false).await;
    lake.table.write(stream([(30, 1)])).run().await.unwrap();
    overwrite(&lake, &commit_name(2), b"{\"add\":").await;
    let left = repair(&lake.process(2), done()).await.unwrap();
    assert!(left.actions.is_empty() && !left.check.is_ok());
    let options = RepairOptions { truncate_log: true, ..done() };
    let outcome = repair(&lake.process(3), options).await.unwrap();
    let mut cut: Vec<_> = outcome.actions.iter().map(|action| (action.kind, action.file.clone().unwrap_or_default())).collect();
    cut.truncate(2);
    assert_eq!(cut, [(RepairKind::CutCommit, commit_name(2)), (RepairKind::CutCommit, checksum_name(2))]);
    assert!(outcome.check.is_ok());
    assert_eq!(outcome.check.version, 1);
    assert_eq!(lake.rows().await, (1..=20).map(|id| (id, 0)).collect());
    // The next writer takes the version.
    assert_eq!(lake.process(4).write(stream([(31, 1)])).run().await.unwrap().version, 2);
}

#[tokio::test]
async fn cut_below_valid_commit_is_refused() {
    let lake = Lake::new(false).await;
    lake.table.write(stream([(30, 1)])).run().await.unwrap();
    overwrite(&lake, &commit_name(1), b"{\"add\":").await;
    lake.counts();
    let options = RepairOptions { truncate_log: true, ..done() };
    let error = repair(&lake.process(3), options).await.unwrap_err();
    check_error(&error, &ErrorKind::InvalidInput, &["cannot be cut after version 0", &commit_name(2), "can be read"]);
    let counts = lake.counts();
    assert_eq!((counts.puts, counts.deletes), (0, 0));
}
