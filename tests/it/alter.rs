//! ALTER: columns, constraints, properties and features, with the requests that a change needs.

mod checks;
mod columns;
mod mapping;
mod properties;
mod races;

use lakebed::alter::{Alter, AlterChange};
use lakebed::{ErrorKind, Table};
use lakebed_core::action::{Action, CommitInfo};
use lakebed_tests::Lake;
use lakebed_tests::lake::MADE;
use serde_json::Value;

/// The properties of a table in which columns can be renamed and dropped.
const MAPPED: (&str, &str) = ("delta.columnMapping.mode", "name");

/// Returns a table of `id` and `v` with these properties, which an ALTER set.
async fn lake_with(properties: &[(&str, &str)]) -> Lake {
    let lake = Lake::new(false).await;
    lake.table.alter().set_properties(properties.iter().copied()).run().await.unwrap();
    lake.counts();
    lake
}

/// Returns the schema of the newest version as `name: type` in order.
async fn columns(table: &Table) -> String {
    let snapshot = table.snapshot().await.unwrap();
    let fields = snapshot.schema().fields.iter();
    let required = |nullable: bool| if nullable { "" } else { "!" };
    fields.map(|field| format!("{}: {}{}", field.name, field.data_type, required(field.nullable))).collect::<Vec<_>>().join(", ")
}

/// Returns the information about the commit of a version.
async fn info(lake: &Lake, version: u64) -> CommitInfo {
    let actions = lake.actions(version).await.unwrap();
    let found = actions.into_iter().find_map(|action| match action {
        Action::CommitInfo(info) => Some(info),
        _ => None,
    });
    found.unwrap()
}

/// Returns the operation of a version and its parameters.
async fn operation(lake: &Lake, version: u64) -> (String, Value) {
    let info = info(lake, version).await;
    (info.text("operation").unwrap().to_owned(), info.0["operationParameters"].clone())
}

/// Checks that a change is refused with this message behind the name of the table, and that nothing
/// is committed.
async fn check_refused(lake: &Lake, alter: Alter, kind: ErrorKind, expected: &str) {
    let before = lake.table.snapshot().await.unwrap().version();
    let error = alter.run().await.unwrap_err();
    assert_eq!((error.kind(), error.message()), (&kind, format!("memory://kit/t: {expected}").as_str()));
    assert_eq!(lake.table.snapshot().await.unwrap().version(), before);
}

#[tokio::test]
async fn alter_of_open_table_needs_three_requests() {
    let lake = Lake::new(false).await;
    lake.table.snapshot().await.unwrap();
    lake.counts();
    let outcome = lake.table.alter().add_column("name", "string").run().await.unwrap();
    assert_eq!((outcome.version, outcome.committed), (MADE + 1, true));
    // The listing of newer commits, the commit and its checksum.
    let counts = lake.counts();
    assert_eq!((counts.lists, counts.gets, counts.heads, counts.puts), (1, 0, 0, 2), "{counts:?}");
    assert_eq!(columns(&lake.table).await, "id: long!, v: long!, name: string");
}

#[tokio::test]
async fn alter_of_new_process_reads_log_once() {
    let lake = Lake::new(false).await;
    let table = lake.process(7);
    table.alter().add_column("name", "string").run().await.unwrap();
    let counts = lake.counts();
    // Opening reads the hint, one listing and the checksum. The definition must be that of the log,
    // so the two commits are read. Then the commit and its checksum are written.
    assert_eq!((counts.lists, counts.gets, counts.heads, counts.puts), (1, 4, 0, 2), "{counts:?}");
}

#[tokio::test]
async fn alter_without_difference_commits_nothing() {
    let lake = lake_with(&[("team", "blue")]).await;
    let outcome = lake.table.alter().set_properties([("team", "blue")]).run().await.unwrap();
    assert_eq!((outcome.version, outcome.committed), (MADE + 1, false));
    let comment = AlterChange::SetComment { column: "id".to_owned(), comment: None };
    assert!(!lake.table.alter().change(comment).run().await.unwrap().committed);
    assert!(lake.actions(MADE + 2).await.is_none());
}

#[tokio::test]
async fn several_changes_become_one_commit() {
    let lake = lake_with(&[MAPPED]).await;
    let alter = lake.table.alter().add_column("a", "int").rename_column("a", "b").add_constraint("c", "id > 0");
    assert_eq!(alter.run().await.unwrap().version, MADE + 2);
    let (name, parameters) = operation(&lake, MADE + 2).await;
    assert_eq!(name, "ALTER TABLE");
    let changes: Vec<Value> = serde_json::from_str(parameters["changes"].as_str().unwrap()).unwrap();
    let names: Vec<&str> = changes.iter().map(|change| change["operation"].as_str().unwrap()).collect();
    assert_eq!(names, ["ADD COLUMNS", "RENAME COLUMN", "ADD CONSTRAINT"]);
    assert_eq!(columns(&lake.table).await, "id: long!, v: long!, b: integer");
    assert_eq!(lake.rows().await.len(), 20);
}
