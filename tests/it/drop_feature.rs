//! Drops of table features while other processes write.

use lakebed::ErrorKind;
use lakebed::Table;
use lakebed::transaction::{CommitSettings, Operation, Transaction};
use lakebed_core::action::Action;
use lakebed_core::error::ConflictKind;
use lakebed_core::feature::downgrade::without;
use lakebed_tests::Lake;
use lakebed_tests::lake::{MADE, stream};

const PROTECTED_BEFORE: &str = "delta.requireCheckpointProtectionBeforeVersion";

async fn features(table: &Table) -> Vec<String> {
    table.snapshot().await.unwrap().protocol().writer_features.clone().unwrap_or_default()
}

/// Returns whether a commit adds a file with a deletion vector.
async fn adds_vectors(lake: &Lake, version: u64) -> bool {
    let actions = lake.actions(version).await.unwrap();
    actions.iter().any(|action| matches!(action, Action::Add(add) if add.deletion_vector.is_some()))
}

#[tokio::test]
async fn drop_beside_delete_leaves_no_vector() {
    for ids in [[1, 11], [5, 15], [10, 20]] {
        let lake = Lake::new(true).await;
        lake.table.delete().filter("id = 3").run().await.unwrap();
        let other = lake.process(2);
        let deletes = async {
            for id in ids {
                other.delete().filter(format!("id = {id}")).run().await.unwrap();
                other.write(stream([(id + 100, 1)])).run().await.unwrap();
            }
        };
        let (dropped, ()) = tokio::join!(lake.table.drop_feature("deletionVectors").run(), deletes);
        let dropped = dropped.unwrap();
        let kept = (1..=20).filter(|id| *id != 3 && !ids.contains(id)).map(|id| (id, 0));
        assert_eq!(lake.rows().await, kept.chain(ids.map(|id| (id + 100, 1))).collect());
        let newest = lake.process(3);
        let snapshot = newest.snapshot().await.unwrap();
        assert_eq!(snapshot.metadata().property(PROTECTED_BEFORE), Some(dropped.version.to_string().as_str()));
        assert_eq!(features(&newest).await, ["appendOnly", "checkpointProtection", "invariants"]);
        for version in dropped.version..=snapshot.version() {
            assert!(!adds_vectors(&lake, version).await, "version {version}");
        }
    }
}

#[tokio::test]
async fn feature_is_dropped_only_right_after_its_check() {
    let lake = Lake::new(true).await;
    let snapshot = lake.table.snapshot().await.unwrap();
    let mut transaction = Transaction::begin(&snapshot, CommitSettings::default()).await.unwrap();
    transaction.set_protocol(without(snapshot.protocol(), "deletionVectors", false));
    lake.process(2).write(stream([(100, 0)])).run().await.unwrap();
    let error = transaction.commit(Operation::new("DROP FEATURE")).await.unwrap_err();
    let expected = ErrorKind::CommitConflict { kind: ConflictKind::ProtocolChanged, winner_version: MADE + 1, retryable: true };
    assert_eq!(*error.kind(), expected);
    let expected = "memory://kit/t: WRITE was committed first, as version 2: it may use the table feature that is being dropped; run \
                    the operation again on top of it";
    assert_eq!(error.message(), expected);
}

#[tokio::test]
async fn two_drops_of_one_feature_are_one() {
    let lake = Lake::new(true).await;
    let other = lake.process(2);
    let (one, two) = tokio::join!(lake.table.drop_feature("deletionVectors").run(), other.drop_feature("deletionVectors").run());
    assert!(one.is_ok() != two.is_ok(), "{one:?} {two:?}");
    let error = one.err().or(two.err()).unwrap();
    let expected = "memory://kit/t: the table does not have the table feature deletionVectors; it has appendOnly, \
                    checkpointProtection, invariants";
    assert_eq!((error.kind(), error.message()), (&ErrorKind::InvalidInput, expected));
    assert_eq!(lake.rows().await.len(), 20);
}

#[tokio::test]
async fn mapping_ends_on_top_of_concurrent_appends() {
    let lake = Lake::new(false).await;
    lake.table.alter().set_properties([("delta.columnMapping.mode", "name")]).rename_column("v", "w").run().await.unwrap();
    let other = lake.process(2);
    let appends = async {
        for id in [101, 102] {
            let rows = lakebed_tests::lake::stream([(id, 0)]);
            // The rows have the old name of the column, so they are refused before the drop and after it.
            assert_eq!(*other.write(rows).run().await.unwrap_err().kind(), ErrorKind::SchemaMismatch);
            other.delete().filter(format!("id = {}", id - 100)).run().await.unwrap();
        }
    };
    let (dropped, ()) = tokio::join!(lake.table.drop_feature("columnMapping").run(), appends);
    let dropped = dropped.unwrap();
    assert!(dropped.metrics.removed_files > 0);
    let newest = lake.process(3).snapshot().await.unwrap();
    let count = newest.scan().filter("w = 0").count().await.unwrap();
    assert_eq!((count, newest.schema().fields[1].name.as_str()), (18, "w"));
    assert!(newest.schema().fields.iter().all(|field| field.metadata.is_empty()));
}
