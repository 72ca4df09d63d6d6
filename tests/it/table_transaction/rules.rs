//! What a transaction promises: one version or none, conflicts, identifiers, history, and clean
//! endings.

use std::collections::BTreeMap;

use lakebed::table_transaction::TransactionOptions;
use lakebed::transaction::Application;
use lakebed::{ErrorKind, Result};
use lakebed_core::ConflictKind::{ConcurrentAppend, ConcurrentDeleteRead, MetadataChanged};
use lakebed_core::property::IsolationLevel;
use lakebed_tests::Lake;
use lakebed_tests::lake::{MADE, stream};
use serde_json::{Value, json};

use super::kit::*;

#[track_caller]
fn message<T>(outcome: Result<T>) -> String {
    match outcome {
        Ok(_) => panic!("no error"),
        Err(error) => error.message().to_owned(),
    }
}

#[track_caller]
fn check_error<T>(outcome: Result<T>, kind: ErrorKind, message: &str) {
    let Err(error) = outcome else { panic!("no error instead of: {message}") };
    assert_eq!((error.kind(), error.message()), (&kind, message));
}

#[tokio::test]
async fn operations_become_one_version_with_summary() {
    let lake = Lake::new(true).await;
    let options = TransactionOptions { user_metadata: Some("mine".to_owned()), ..TransactionOptions::default() };
    let transaction = begin_with(&lake.table, options).await;
    run(&append([(21, 1), (22, 1)]), transaction.table()).await;
    run(&delete(1, 3), transaction.table()).await;
    transaction.table().cluster_by(["id"]).await.unwrap();
    // Nobody else sees them before the commit.
    assert_eq!(lake.process(3).snapshot().await.unwrap().version(), MADE);
    let outcome = transaction.commit().await.unwrap();
    assert_eq!((outcome.version, outcome.committed), (MADE + 1, true));
    let names: Vec<&str> = outcome.operations.iter().map(|operation| operation.name.as_str()).collect();
    assert_eq!(names, ["WRITE", "DELETE", "CLUSTER BY"]);
    assert_eq!(outcome.operations[1].metrics["numDeletedRows"], 3);
    let info = info(&lake, MADE + 1).await;
    let told = ["operation", "readVersion", "isBlindAppend", "isolationLevel", "userMetadata"].map(|key| info[key].clone());
    assert_eq!(
        told,
        [json!("TRANSACTION"), json!(MADE), json!(false), json!(IsolationLevel::Serializable.name()), json!("mine")]
    );
    let listed: Value = serde_json::from_str(info["operationParameters"]["operations"].as_str().unwrap()).unwrap();
    let expected = json!([
        {"operation": "WRITE", "operationParameters": {"mode": "Append", "partitionBy": "[]"}},
        {"operation": "DELETE", "operationParameters": {"predicate": "[\"id BETWEEN 1 AND 3\"]"}},
        {"operation": "CLUSTER BY", "operationParameters": {"oldClusteringColumns": "", "newClusteringColumns": "id"}},
    ]);
    assert_eq!(listed, expected);
    assert_eq!(info["operationMetrics"]["numOutputRows"], "2");
    assert_eq!(info["operationMetrics"]["numDeletedRows"], "3");
    let snapshot = lake.table.snapshot().await.unwrap();
    assert_eq!(snapshot.detail().await.unwrap().clustering_columns, ["id"]);
    assert_eq!(lake.check_files().await, MADE + 1);
}

#[tokio::test]
async fn single_operation_keeps_its_history() {
    let lake = Lake::new(true).await;
    let transaction = begin(&lake.table).await;
    run(&append([(21, 1)]), transaction.table()).await;
    transaction.commit().await.unwrap();
    let info = info(&lake, MADE + 1).await;
    assert_eq!((&info["operation"], &info["isBlindAppend"]), (&json!("WRITE"), &json!(true)));
    assert_eq!(info["operationParameters"], json!({"mode": "Append", "partitionBy": "[]"}));
}

#[tokio::test]
async fn new_file_with_deleted_rows_has_one_add() {
    let lake = Lake::new(true).await;
    let transaction = begin(&lake.table).await;
    run(&append((21..=29).map(|id| (id, 1))), transaction.table()).await;
    run(&delete(22, 23), transaction.table()).await;
    run(&delete(25, 25), transaction.table()).await;
    transaction.commit().await.unwrap();
    let adds = adds(&lake, MADE + 1).await;
    let deleted: Vec<i64> = adds.iter().map(|add| add.deletion_vector.as_ref().unwrap().cardinality).collect();
    assert_eq!(deleted, [3]);
    assert_eq!(lake.actions(MADE + 1).await.unwrap().len(), 2, "commitInfo and add");
    assert_eq!(lake.check_files().await, MADE + 1);
}

#[tokio::test]
async fn operation_that_fails_leaves_earlier_ones() {
    let lake = Lake::new(false).await;
    let transaction = begin(&lake.table).await;
    run(&append([(21, 1)]), transaction.table()).await;
    assert!(transaction.table().delete().filter("nothing = 1").run().await.is_err());
    run(&delete(1, 10), transaction.table()).await;
    transaction.commit().await.unwrap();
    let ids: Vec<i64> = lake.rows().await.into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, (11..=21).collect::<Vec<_>>());
    assert_eq!(lake.check_files().await, MADE + 1);
}

#[tokio::test]
async fn rollback_commits_nothing_and_deletes_files() {
    for vectors in [true, false] {
        let lake = Lake::new(vectors).await;
        let transaction = begin(&lake.table).await;
        run(&append([(21, 1)]), transaction.table()).await;
        run(&update(1, 4), transaction.table()).await;
        run(&delete(2, 21), transaction.table()).await;
        let pending = transaction.table().clone();
        transaction.rollback().await.unwrap();
        assert_eq!(lake.check_files().await, MADE);
        assert_eq!(lake.rows().await.len(), 20);
        let expected = "the transaction has ended (it was rolled back): begin another one, or use the table";
        assert_eq!(message(pending.delete().run().await), expected);
        assert_eq!(message(pending.snapshot().await), expected);
    }
}

#[tokio::test]
async fn handle_after_commit_or_drop_is_refused() {
    let lake = Lake::new(true).await;
    let transaction = begin(&lake.table).await;
    let pending = transaction.table().clone();
    run(&append([(21, 1)]), &pending).await;
    let late = pending.snapshot().await.unwrap();
    transaction.commit().await.unwrap();
    let expected = "the transaction has ended (the table is in version 2): begin another one, or use the table";
    assert_eq!(message(pending.write(stream([(1, 1)])).run().await), expected);
    let settings = lakebed::transaction::CommitSettings::default();
    let begun = lakebed::transaction::Transaction::begin(&late, settings).await.unwrap();
    assert!(begun.commit(lakebed::transaction::Operation::new("TEST")).await.is_err());
    let dropped = begin(&lake.table).await;
    let pending = dropped.table().clone();
    drop(dropped);
    let expected = "the transaction has ended (it was dropped, and nothing was committed): begin another one, or use the table";
    assert_eq!(message(pending.snapshot().await), expected);
    assert_eq!(lake.table.snapshot().await.unwrap().version(), MADE + 1);
}

#[tokio::test]
async fn conflict_commits_nothing_and_names_winner() {
    for vectors in [true, false] {
        let lake = Lake::new(vectors).await;
        let transaction = begin(&lake.table).await;
        run(&append([(21, 1)]), transaction.table()).await;
        run(&update(1, 4), transaction.table()).await;
        run(&delete(4, 4), &lake.process(5)).await;
        let error = transaction.commit().await.unwrap_err();
        let ErrorKind::CommitConflict { winner_version, retryable, .. } = error.kind() else { panic!("{error}") };
        assert_eq!((*winner_version, *retryable), (MADE + 1, true));
        assert_eq!(lake.check_files().await, MADE + 1);
        let ids: Vec<i64> = lake.rows().await.into_iter().map(|(id, _)| id).collect();
        assert_eq!(ids, (1..=20).filter(|id| *id != 4).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn deletes_of_other_rows_are_joined() {
    let lake = Lake::new(true).await;
    let transaction = begin(&lake.table).await;
    run(&delete(1, 1), transaction.table()).await;
    run(&delete(3, 3), transaction.table()).await;
    run(&delete(2, 2), &lake.process(5)).await;
    assert_eq!(transaction.commit().await.unwrap().conflicts, 1);
    let ids: Vec<i64> = lake.rows().await.into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, (4..=20).collect::<Vec<_>>());
}

#[tokio::test]
async fn scan_in_transaction_is_a_read() {
    let scanned = |filter: Option<&str>| lakebed::scan::ScanOptions {
        filter: filter.map(Into::into),
        ..lakebed::scan::ScanOptions::default()
    };
    // A change of rows that were read is a conflict, and a change of others is not.
    for (filter, deleted, expected) in
        [(Some("id <= 10"), 4, Some(ConcurrentDeleteRead)), (Some("id <= 10"), 14, None), (None, 14, Some(ConcurrentDeleteRead))]
    {
        let lake = Lake::new(true).await;
        let transaction = begin(&lake.table).await;
        run(&append([(30, 1)]), transaction.table()).await;
        let count = transaction.scan(scanned(filter)).await.unwrap().count().await.unwrap();
        assert_eq!(count, if filter.is_some() { 10 } else { 21 });
        run(&append([(31, i64::try_from(count).unwrap())]), transaction.table()).await;
        run(&delete(deleted, deleted), &lake.process(5)).await;
        let found = match transaction.commit().await {
            Ok(_) => None,
            Err(error) => match error.kind() {
                ErrorKind::CommitConflict { kind, .. } => Some(*kind),
                other => panic!("{other:?}"),
            },
        };
        assert_eq!(found, expected, "{filter:?}");
    }
}

#[tokio::test]
async fn operation_that_finds_nothing_is_a_read() {
    // The delete finds no row, but it would find the row of the other writer.
    for (appended, expected) in [(41, Some(ConcurrentAppend)), (51, None)] {
        let lake = Lake::new(true).await;
        let transaction = begin(&lake.table).await;
        run(&delete(40, 45), transaction.table()).await;
        run(&append([(30, 1)]), transaction.table()).await;
        run(&append([(appended, 1)]), &lake.process(5)).await;
        let found = match transaction.commit().await {
            Ok(_) => None,
            Err(error) => match error.kind() {
                ErrorKind::CommitConflict { kind, .. } => Some(*kind),
                other => panic!("{other:?}"),
            },
        };
        assert_eq!(found, expected, "{appended}");
    }
}

#[tokio::test]
async fn definition_changes_conflict_as_alone() {
    let lake = Lake::new(true).await;
    let transaction = begin(&lake.table).await;
    run(&append([(21, 1)]), transaction.table()).await;
    let replaced = lakebed::dml::write::WriteOptions {
        schema_mode: lakebed::dml::write::SchemaMode::Overwrite,
        mode: lakebed::dml::write::WriteMode::Overwrite,
        ..Default::default()
    };
    let rival = lake.process(5);
    let wider =
        arrow_array::RecordBatch::try_from_iter([("other", std::sync::Arc::new(arrow_array::Int64Array::from(vec![1])) as _)]);
    rival.write(lakebed_tests::lake::stream_of(wider.unwrap())).options(replaced).run().await.unwrap();
    let error = transaction.commit().await.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::CommitConflict { kind: MetadataChanged | ConcurrentAppend, winner_version: 2, .. }),
        "{error}"
    );
    assert_eq!(lake.check_files().await, MADE + 1);
}

#[tokio::test]
async fn identifier_is_committed_once() {
    let lake = Lake::new(true).await;
    let options = || TransactionOptions { txn: Some(Application::new("load", 3)), ..TransactionOptions::default() };
    let transaction = begin_with(&lake.table, options()).await;
    run(&append([(21, 1)]), transaction.table()).await;
    run(&append([(22, 1)]), transaction.table()).await;
    transaction.commit().await.unwrap();
    assert!(lake.table.transaction().options(options()).begin().await.unwrap().is_none());
    assert_eq!(lake.table.snapshot().await.unwrap().transaction_version("load").await.unwrap(), Some(3));
    // Two runs at the same time: one of them wins.
    let next = TransactionOptions { txn: Some(Application::new("load", 4)), ..TransactionOptions::default() };
    let [one, other] = [begin_with(&lake.table, next.clone()).await, begin_with(&lake.table, next).await];
    run(&append([(23, 1)]), one.table()).await;
    run(&append([(23, 1)]), other.table()).await;
    one.commit().await.unwrap();
    let outcome = other.commit().await.unwrap();
    assert_eq!((outcome.version, outcome.committed), (MADE + 2, false));
    assert_eq!(lake.check_files().await, MADE + 2);
    assert_eq!(lake.rows().await.len(), 23);
}

#[tokio::test]
async fn empty_transaction_commits_only_identifier() {
    let lake = Lake::new(true).await;
    let outcome = begin(&lake.table).await.commit().await.unwrap();
    assert_eq!((outcome.version, outcome.committed), (MADE, false));
    assert_eq!(lake.actions(MADE + 1).await, None);
    let outcome = lake.table.transaction().txn("load", 0).begin().await.unwrap().unwrap().commit().await.unwrap();
    assert_eq!((outcome.version, outcome.committed), (MADE + 1, true));
    assert_eq!(lake.table.snapshot().await.unwrap().transaction_version("load").await.unwrap(), Some(0));
}

#[tokio::test]
async fn verbs_with_own_commits_are_refused() {
    let lake = Lake::new(true).await;
    let transaction = begin(&lake.table).await;
    let table = transaction.table();
    let refused = |what: &str| {
        format!(
            "memory://kit/t: {what} cannot be part of a transaction with several operations: run it on the table, before or after the transaction"
        )
    };
    assert_eq!(message(table.optimize().run().await), refused("OPTIMIZE"));
    assert_eq!(message(table.vacuum().run().await), refused("VACUUM"));
    assert_eq!(message(table.transaction().begin().await), refused("another transaction"));
    assert_eq!(message(table.check().run().await), refused("a check"));
    assert_eq!(message(table.repair().run().await), refused("a repair"));
    let pending = transaction.snapshot().unwrap();
    assert_eq!(message(pending.checkpoint().await), refused("a checkpoint"));
    assert_eq!(message(pending.health().await), refused("a look at the health of the table"));
    assert_eq!(message(pending.history(None).await), refused("a look at the history"));
    let own = lakebed::dml::write::WriteOptions { user_metadata: Some("x".to_owned()), ..Default::default() };
    let expected = "user_metadata: it belongs to the whole commit: set it where the transaction begins";
    check_error(table.write(stream([(21, 1)])).options(own).run().await, ErrorKind::InvalidInput, expected);
    transaction.rollback().await.unwrap();
    assert_eq!(lake.check_files().await, MADE);
}

#[tokio::test]
async fn operation_on_older_pending_state_is_refused() {
    let lake = Lake::new(true).await;
    let transaction = begin(&lake.table).await;
    let settings = lakebed::transaction::CommitSettings::default;
    let early = lakebed::transaction::Transaction::begin(&transaction.snapshot().unwrap(), settings()).await.unwrap();
    run(&append([(21, 1)]), transaction.table()).await;
    let expected = "memory://kit/t: another operation of the same transaction came between: run the operations of a transaction one after the other";
    assert_eq!(message(early.commit(lakebed::transaction::Operation::new("TEST")).await), expected);
    transaction.commit().await.unwrap();
    assert_eq!(lake.rows().await.len(), 21);
}

#[tokio::test]
async fn transaction_puts_one_commit_and_lists_once() {
    let lake = Lake::new(true).await;
    let process = lake.process(4);
    process.snapshot().await.unwrap();
    lake.counts();
    let transaction = begin(&process).await;
    let begun = lake.counts();
    for id in 21..=25 {
        run(&append([(id, 1)]), transaction.table()).await;
    }
    let staged = lake.counts();
    transaction.commit().await.unwrap();
    let committed = lake.counts();
    assert_eq!((begun.puts, begun.lists), (0, 1));
    assert_eq!((staged.puts, staged.lists, staged.gets, staged.heads), (5, 0, 0, 0));
    // The commit and its checksum.
    assert_eq!((committed.puts, committed.lists, committed.deletes), (2, 0, 0));
}

#[tokio::test]
async fn missing_table_cannot_begin_transaction() {
    let lake = Lake::empty();
    let expected = "a transaction begins on a version of a table, so create the table first: memory://kit/t: there is no Delta table \
                    here (no commits in _delta_log)";
    check_error(lake.table.transaction().begin().await, ErrorKind::TableNotFound, expected);
}

#[tokio::test]
async fn rows_keep_values_of_first_and_last_state() {
    let lake = Lake::with(&[("delta.enableDeletionVectors", true), ("delta.enableChangeDataFeed", true)], None).await;
    let transaction = begin(&lake.table).await;
    run(&update(1, 2), transaction.table()).await;
    run(&update(1, 1), transaction.table()).await;
    run(&append([(21, 7), (22, 7)]), transaction.table()).await;
    run(&update(21, 21), transaction.table()).await;
    run(&delete(22, 22), transaction.table()).await;
    run(&delete(2, 3), transaction.table()).await;
    transaction.commit().await.unwrap();
    let expected = [("delete", 2, 0), ("delete", 3, 0), ("insert", 21, 8), ("update_postimage", 1, 2), ("update_preimage", 1, 0)];
    let found = changes(&lake.table, MADE + 1).await;
    assert_eq!(found, expected.map(|(kind, id, v)| (kind.to_owned(), id, v)));
    let rows: BTreeMap<i64, i64> = lake.rows().await.into_iter().collect();
    assert_eq!((rows[&1], rows[&21], rows.len()), (2, 8, 19));
}
