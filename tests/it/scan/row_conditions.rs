//! Predicates on `_metadata.row_id` and the other fields of `_metadata`.

use std::collections::BTreeSet;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use futures::TryStreamExt;
use lakebed::Predicate;
use lakebed::{ErrorKind, Table};
use lakebed_tests::Lake;
use lakebed_tests::lake::stream;

const COLUMNS: [&str; 4] = ["id", "_metadata.row_id", "_metadata.row_commit_version", "_metadata.row_index"];

/// Returns the rows with `COLUMNS`.
async fn rows(table: &Table, filter: Option<&str>) -> BTreeSet<Vec<Option<i64>>> {
    let scan = table.snapshot().await.unwrap().scan().select(COLUMNS);
    let scan = match filter {
        Some(filter) => scan.filter(filter),
        None => scan,
    };
    let mut rows = BTreeSet::new();
    let mut batches = scan.stream().await.unwrap();
    while let Some(batch) = batches.try_next().await.unwrap() {
        let columns: Vec<_> = batch.columns().iter().map(|column| column.as_primitive::<Int64Type>()).collect();
        rows.extend(
            (0..batch.num_rows())
                .map(|row| columns.iter().map(|column| column.is_valid(row).then(|| column.value(row))).collect::<Vec<_>>()),
        );
    }
    rows
}

/// Checks that each predicate returns the matching rows of a full scan.
async fn check(table: &Table) {
    let all = rows(table, None).await;
    for (place, column) in COLUMNS.iter().enumerate().skip(1) {
        for value in (-1..45).step_by(3) {
            for (operator, holds) in [("=", i64::eq as fn(&i64, &i64) -> bool), ("<", i64::lt), (">=", i64::ge), ("<>", i64::ne)]
            {
                let condition = format!("{column} {operator} {value}");
                let expected = all.iter().filter(|row| row[place].is_some_and(|found| holds(&found, &value))).cloned().collect();
                assert_eq!(rows(table, Some(&condition)).await, expected, "{condition}");
            }
        }
    }
}

#[tokio::test]
async fn row_id_condition_finds_moved_rows() {
    for vectors in [true, false] {
        let lake = Lake::with(&[("delta.enableRowTracking", true), ("delta.enableDeletionVectors", vectors)], None).await;
        let table = &lake.table;
        check(table).await;
        table.update().set("v", "1").filter("id % 3 = 0").run().await.unwrap();
        check(table).await;
        table.write(stream((21..=25).map(|id| (id, 0)))).run().await.unwrap();
        table.delete().filter("_metadata.row_id = 21 OR _metadata.row_id = 2").run().await.unwrap();
        check(table).await;
        table.optimize().run().await.unwrap();
        check(table).await;
        table.write(stream((26..=27).map(|id| (id, 0)))).run().await.unwrap();
        table.update().set("v", "2").filter("_metadata.row_id < 4 AND v = 1").run().await.unwrap();
        table.snapshot().await.unwrap().checkpoint().await.unwrap();
        check(table).await;
        let snapshot = table.snapshot().await.unwrap();
        let scan = || snapshot.scan().filter("_metadata.row_id < 4");
        assert_eq!(scan().count().await.unwrap(), 3);
        let tasks = scan().tasks(1 << 20).await.unwrap();
        assert_eq!(
            tasks.iter().map(|task| task.spec.filter.as_ref().map(Predicate::text)).collect::<BTreeSet<_>>(),
            [Some("_metadata.row_id < 4")].into()
        );
    }
}

#[tokio::test]
async fn row_id_condition_skips_files_below() {
    let lake = Lake::with(&[("delta.enableRowTracking", true)], None).await;
    let explained = |filter: &'static str| {
        let table = lake.table.clone();
        async move {
            let explanation = table.snapshot().await.unwrap().scan().filter(filter).explain().await.unwrap();
            (explanation.files, explanation.skipped_by_statistics)
        }
    };
    assert_eq!(explained("_metadata.row_id >= 10").await, (1, 1));
    assert_eq!(explained("_metadata.row_id >= 20").await, (0, 2));
    assert_eq!(explained("_metadata.row_id = 3").await, (2, 0));
    assert_eq!(explained("_metadata.row_commit_version > 0").await, (1, 1));
    assert_eq!(explained("_metadata.row_index > 9").await, (0, 2));
}

#[tokio::test]
async fn row_id_condition_without_tracking_is_refused() {
    let lake = Lake::new(true).await;
    let snapshot = lake.table.snapshot().await.unwrap();
    let asked = "_metadata.row_id = 3";
    let of_scan = snapshot.scan().filter(asked).stream().await.err().unwrap();
    let of_select = snapshot.scan().select(["_metadata.row_id"]).stream().await.err().unwrap();
    assert_eq!(of_scan.message(), of_select.message());
    assert_eq!(lake.table.delete().filter(asked).run().await.unwrap_err().message(), of_scan.message());
    assert_eq!(of_scan.kind(), &ErrorKind::InvalidInput);
    // The row index is known without row tracking.
    assert_eq!(snapshot.scan().filter("_metadata.row_index < 2").count().await.unwrap(), 4);
}
