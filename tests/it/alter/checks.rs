//! Changes that depend on the rows of the table.

use lakebed::ErrorKind;
use lakebed::alter::AlterChange;
use lakebed_tests::Lake;
use lakebed_tests::lake::MADE;
use serde_json::json;

use super::{check_refused, columns, operation};

fn required(column: &str) -> AlterChange {
    AlterChange::SetNullable { column: column.to_owned(), nullable: false }
}

#[tokio::test]
async fn constraint_is_checked_by_statistics_first() {
    let lake = Lake::new(false).await;
    lake.table.alter().add_constraint("Small", "id <= 20").run().await.unwrap();
    assert_eq!(lake.counts().reads_and_writes(), (0, 2, 0), "statistics prove it");
    let expected = ("ADD CONSTRAINT".to_owned(), json!({"name": "Small", "expr": "id <= 20"}));
    assert_eq!(operation(&lake, MADE + 1).await, expected);
    lake.table.alter().add_constraint("odd", "id % 2 = 1 OR id < 11 OR v = 0").run().await.unwrap();
    let snapshot = lake.table.snapshot().await.unwrap();
    let constraints = [("odd", "id % 2 = 1 OR id < 11 OR v = 0"), ("small", "id <= 20")];
    assert_eq!(snapshot.properties().constraints, constraints.map(|(name, sql)| (name.to_owned(), sql.to_owned())));
    let error = lake.table.write(lakebed_tests::lake::stream([(21, 0)])).run().await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::ConstraintViolation);
}

#[tokio::test]
async fn constraint_that_rows_break_is_refused() {
    let lake = Lake::new(false).await;
    let error = lake.table.alter().add_constraint("c", "id < 15").run().await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::ConstraintViolation);
    let start = "memory://kit/t: CHECK constraint c (id < 15): 6 rows do not meet this, the first of them in part-";
    assert!(error.message().starts_with(start) && error.message().ends_with(".parquet; nothing was committed"), "{error}");
    // Only the file that may hold such rows is read.
    assert_eq!(lake.counts().reads_and_writes(), (1, 0, 0));
    let error = lake.table.alter().add_constraint("c", "IF(id = 7, NULL, true)").run().await.unwrap_err();
    assert!(error.message().contains("1 row does not meet this"), "{error}");
}

#[tokio::test]
async fn constraint_needs_name_and_valid_condition() {
    let lake = Lake::new(false).await;
    lake.table.alter().add_constraint("c", "id > 0").run().await.unwrap();
    let expected = "constraint c: the table has a constraint of this name already: id > 0; drop it first";
    check_refused(&lake, lake.table.alter().add_constraint("C", "id > 1"), ErrorKind::InvalidInput, expected).await;
    let expected = "constraint \" \": its name is empty";
    check_refused(&lake, lake.table.alter().add_constraint(" ", "id > 1"), ErrorKind::InvalidInput, expected).await;
    let drop = AlterChange::DropConstraint { name: "d".to_owned(), if_exists: false };
    let expected = "the table has no constraint d; there are: c";
    check_refused(&lake, lake.table.alter().change(drop), ErrorKind::InvalidInput, expected).await;
    let error = lake.table.alter().add_constraint("d", "nope > 1").run().await.unwrap_err();
    assert!(error.message().starts_with("memory://kit/t: constraint d: "), "{error}");
    let drop = AlterChange::DropConstraint { name: "C".to_owned(), if_exists: true };
    lake.table.alter().change(drop.clone()).run().await.unwrap();
    let expected = json!({"name": "C", "expr": "id > 0", "existed": "true"});
    assert_eq!(operation(&lake, MADE + 2).await, ("DROP CONSTRAINT".to_owned(), expected));
    assert!(!lake.table.alter().change(drop).run().await.unwrap().committed);
}

#[tokio::test]
async fn constraint_over_new_column_needs_own_call() {
    let lake = Lake::new(false).await;
    let alter = lake.table.alter().add_column("a", "int").add_constraint("c", "a > 0");
    let expected = "CHECK constraint c (a > 0): it uses columns that this call changes, so the rows cannot be checked; add it in a \
                    call of its own";
    check_refused(&lake, alter, ErrorKind::InvalidInput, expected).await;
}

#[tokio::test]
async fn forbidding_nulls_checks_the_rows() {
    let lake = Lake::new(false).await;
    let allowed = |column: &str| AlterChange::SetNullable { column: column.to_owned(), nullable: true };
    lake.table.alter().change(allowed("id")).change(allowed("v")).run().await.unwrap();
    lake.counts();
    lake.table.alter().change(required("id")).run().await.unwrap();
    assert_eq!(lake.counts().reads_and_writes(), (0, 2, 0), "statistics prove it");
    lake.table.alter().add_column("n", "struct<x:int,l:array<struct<y:int>>>").run().await.unwrap();
    let error = lake.table.alter().change(required("n")).run().await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::ConstraintViolation);
    let start = "memory://kit/t: column n must not be null: 20 rows do not meet this, the first of them in part-";
    assert!(error.message().starts_with(start), "{error}");
    // A field of a null struct has no value.
    lake.table.alter().change(required("n.x")).run().await.unwrap();
    assert_eq!(columns(&lake.table).await, "id: long!, v: long, n: struct<x: integer, l: array<struct<y: integer>>>");
    let expected =
        "column n.l.element.y: nulls can be forbidden only in columns and in fields of structs, not inside arrays and maps";
    check_refused(&lake, lake.table.alter().change(required("n.l.element.y")), ErrorKind::InvalidInput, expected).await;
    let expected = "column n.l.element: elements, keys and values have no rule about nulls that could be changed";
    check_refused(&lake, lake.table.alter().change(required("n.l.element")), ErrorKind::InvalidInput, expected).await;
    lake.table.alter().change(allowed("id")).run().await.unwrap();
    assert!(columns(&lake.table).await.starts_with("id: long, "));
}
