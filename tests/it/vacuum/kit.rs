//! Tables for vacuums. Their clock is a hundred days ahead of the times of their files.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{BooleanArray, Int64Array, RecordBatch, StringArray};
use lakebed::Result;
use lakebed::vacuum::{VacuumMetrics, VacuumOptions};
use lakebed_tests::TableBuilder;
use lakebed_tests::action::{metadata, protocol};
use serde_json::{Value, json};

pub(super) use lakebed_tests::table::sorted;

const DAYS_AHEAD: u64 = 100;

/// The outcome of a vacuum, with the sorted paths of its files.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) version: u64,
    pub(super) metrics: VacuumMetrics,
    pub(super) paths: Vec<String>,
}

pub(super) async fn table() -> TableBuilder {
    table_with(&[]).await
}

pub(super) async fn table_with(properties: &[(&str, &str)]) -> TableBuilder {
    let features = ["deletionVectors", "v2Checkpoint"];
    made(TableBuilder::with(protocol(&features, &features), metadata(&["id long"], &[], properties))).await
}

pub(super) async fn partitioned(columns: &[&str]) -> TableBuilder {
    let all: Vec<String> = columns.iter().map(|column| format!("{column} string")).chain(["id long".to_owned()]).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    made(TableBuilder::with(protocol(&[], &[]), metadata(&all, columns, &[]))).await
}

/// Returns a table with in-commit timestamps. The first commit was made a hundred days ago.
pub(super) async fn timed() -> TableBuilder {
    let properties = [("delta.enableInCommitTimestamps", "true")];
    let features = ["inCommitTimestamp", "deletionVectors"];
    let table = TableBuilder::with(protocol(&["deletionVectors"], &features), metadata(&["id long"], &[], &properties));
    let table = table.days_ahead(DAYS_AHEAD);
    table.commit(&[info(&table, 100)]).await;
    table
}

async fn made(table: TableBuilder) -> TableBuilder {
    let table = table.days_ahead(DAYS_AHEAD);
    table.commit(&[]).await;
    table
}

/// Returns the `commitInfo` of a commit that was made this many days ago.
pub(super) fn info(table: &TableBuilder, days: i64) -> Value {
    json!({"commitInfo": {"inCommitTimestamp": table.days_ago(days)}})
}

/// Runs a vacuum in a process with empty caches.
pub(super) async fn vacuum(table: &TableBuilder, options: VacuumOptions) -> Result<Outcome> {
    let outcome = table.table().vacuum().options(options).run().await?;
    let paths: StringArray = outcome.files.column(0).as_string::<i32>().clone();
    let paths = paths.iter().map(|path| path.unwrap().to_owned()).collect();
    Ok(Outcome { version: outcome.version, metrics: outcome.metrics, paths })
}

pub(super) fn inventory_of(rows: &[(String, i64)]) -> RecordBatch {
    let paths = StringArray::from_iter_values(rows.iter().map(|(path, _)| path));
    let times = Int64Array::from_iter_values(rows.iter().map(|(_, time)| *time));
    let (lengths, folders) = (Int64Array::from(vec![1; rows.len()]), BooleanArray::from(vec![false; rows.len()]));
    let columns: [(&str, arrow_array::ArrayRef); 4] = [
        ("path", Arc::new(paths)),
        ("length", Arc::new(lengths)),
        ("isDir", Arc::new(folders)),
        ("modificationTime", Arc::new(times)),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}
