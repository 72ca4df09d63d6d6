//! Changes of the definition while other writers commit.

use lakebed::ErrorKind;
use lakebed_tests::Lake;
use lakebed_tests::lake::{MADE, stream};

use super::columns;

#[tokio::test]
async fn alter_starts_again_after_other_alter() {
    let lake = Lake::new(false).await;
    let other = lake.process(2);
    let (one, two) = tokio::join!(lake.table.alter().add_column("a", "int").run(), other.alter().add_column("b", "int").run());
    let mut versions = [one.unwrap().version, two.unwrap().version];
    versions.sort_unstable();
    assert_eq!(versions, [MADE + 1, MADE + 2]);
    let found = lake.process(3);
    assert_eq!(found.snapshot().await.unwrap().schema().fields.len(), 4, "{}", columns(&found).await);
}

#[tokio::test]
async fn constraint_checks_rows_of_concurrent_append() {
    let lake = Lake::new(false).await;
    let other = lake.process(2);
    let (append, alter) =
        tokio::join!(other.write(stream([(100, 0)])).run(), lake.table.alter().add_constraint("c", "id < 50").run());
    // Whichever comes second sees the first.
    assert!(append.is_ok() != alter.is_ok(), "{append:?} {alter:?}");
    let expected = [append.err(), alter.err()].into_iter().flatten().map(|error| error.kind().clone()).collect::<Vec<_>>();
    let is_conflict = matches!(expected.as_slice(), [ErrorKind::CommitConflict { .. } | ErrorKind::ConstraintViolation]);
    assert!(is_conflict, "{expected:?}");
    let rows = lake.rows().await;
    let constrained = !lake.process(3).snapshot().await.unwrap().properties().constraints.is_empty();
    assert_eq!(rows.contains(&(100, 0)), !constrained);
}
