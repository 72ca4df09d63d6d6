//! Tables for streams, and functions that read a stream to its end.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use lakebed::Result;
use lakebed::changes::{Follow, FollowOptions, Offset, ReadLimits};
use lakebed::scan::{ScanTask, read_task};
use lakebed_core::dv::DeletionVector;
use lakebed_io::store::Store;
use lakebed_tests::TableBuilder;
use lakebed_tests::action::{add, cdc, metadata, protocol, with, with_vector};
use serde_json::{Value, json};

/// The property of a table that records changes.
pub(super) const FEED: (&str, &str) = ("delta.enableChangeDataFeed", "true");

/// Creates a table of names and fruits with these properties as version 0.
pub(super) async fn fruits(properties: &[(&str, &str)]) -> TableBuilder {
    let features = ["deletionVectors", "changeDataFeed"];
    let metadata = metadata(&["name string", "fruit string"], &[], properties);
    let builder = TableBuilder::with(protocol(&["deletionVectors"], &features), metadata);
    builder.commit(&[]).await;
    builder
}

/// Builds the table of [`fruits`] with one more file in each of this many versions. The row of a
/// file is `VERSION/x`.
pub(super) async fn numbered(versions: u64) -> TableBuilder {
    let builder = fruits(&[]).await;
    for version in 1..=versions {
        let file = file(&builder, &format!("f{version}"), &[&format!("{version}/x")]).await;
        builder.commit(&[file]).await;
    }
    builder
}

/// Writes a file of rows such as `jack/apple`, and returns its `add`. A third part of a row is its
/// `_change_type`. The length of the path is the file's modification time.
pub(super) async fn file(builder: &TableBuilder, path: &str, rows: &[&str]) -> Value {
    let names = ["name", "fruit", "_change_type"];
    let parts: Vec<Vec<&str>> = rows.iter().map(|row| row.split('/').collect()).collect();
    let column = |at: usize| Arc::new(StringArray::from_iter_values(parts.iter().map(|row| row[at]))) as ArrayRef;
    let width = parts.first().map_or(2, Vec::len);
    let batch = RecordBatch::try_from_iter((0..width).map(|at| (names[at], column(at)))).unwrap();
    let size = builder.put_data(path, &batch).await;
    with(add(path), json!({"size": size, "modificationTime": path.len()}))
}

/// Returns the same file with a deletion vector for these rows.
pub(super) fn without(add: &Value, rows: impl IntoIterator<Item = u64>) -> Value {
    let vector = rows.into_iter().collect::<DeletionVector>().to_inline().unwrap();
    with_vector(add.clone(), serde_json::to_value(vector).unwrap())
}

/// Returns the file as a change data file.
pub(super) fn changed(add: &Value) -> Value {
    with(cdc(add["add"]["path"].as_str().unwrap()), json!({"size": add["add"]["size"]}))
}

pub(super) async fn follow(builder: &TableBuilder, options: &[(&str, &str)]) -> Result<Follow> {
    let options: HashMap<String, String> =
        options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    builder.table().follow(FollowOptions::parse(&options)?).await
}

/// Returns the rows of a batch.
pub(super) async fn batch(store: &Store, follow: &Follow, start: Option<&Offset>, end: &Offset) -> Result<Vec<String>> {
    read(store, &follow.tasks(start, end, 1).await?).await
}

/// Returns the rows of tasks, in order. Each task is sent as bytes.
pub(super) async fn read(store: &Store, tasks: &[ScanTask]) -> Result<Vec<String>> {
    let mut rows = Vec::new();
    for task in tasks {
        let task = ScanTask::from_bytes(&task.to_bytes()?)?;
        rows.extend(show(&read_task(store, task).await?.collect_all().await?));
    }
    Ok(rows)
}

/// Returns each row as its values with slashes between them.
pub(super) fn show(batches: &[RecordBatch]) -> Vec<String> {
    let options = FormatOptions::new().with_null("-");
    let mut rows = Vec::new();
    for batch in batches {
        let columns: Vec<_> =
            batch.columns().iter().map(|column| ArrayFormatter::try_new(column.as_ref(), &options).unwrap()).collect();
        rows.extend(
            (0..batch.num_rows())
                .map(|row| columns.iter().map(|column| column.value(row).to_string()).collect::<Vec<_>>().join("/")),
        );
    }
    rows
}

/// Returns all batches from an offset, or from the beginning, until there is nothing new, and the
/// last offset.
pub(super) async fn drain(
    builder: &TableBuilder,
    follow: &Follow,
    start: Option<Offset>,
    limits: &ReadLimits,
) -> Result<(Vec<Vec<String>>, Option<Offset>)> {
    let (mut batches, mut start) = (Vec::new(), start);
    loop {
        let end = follow.latest_offset(start.as_ref(), limits).await?;
        if end == start {
            return Ok((batches, start));
        }
        let Some(reached) = &end else { return Ok((batches, start)) };
        batches.push(batch(&builder.store(), follow, start.as_ref(), reached).await?);
        follow.commit(reached).await?;
        start = end;
    }
}

pub(super) fn files(count: u64) -> ReadLimits {
    ReadLimits { max_files: Some(count), ..ReadLimits::default() }
}

/// Returns the batches of a stream that reads one commit or file at a time.
pub(super) async fn batches(builder: &TableBuilder, options: &[(&str, &str)]) -> Result<Vec<Vec<String>>> {
    let follow = follow(builder, options).await?;
    drain(builder, &follow, None, &follow.limits()).await.map(|(batches, _)| batches)
}

/// Returns the rows of all batches.
pub(super) async fn rows(builder: &TableBuilder, options: &[(&str, &str)]) -> Result<Vec<String>> {
    batches(builder, options).await.map(|batches| batches.concat())
}

/// Checks that the result is an error with all these words.
#[track_caller]
pub(super) fn check_error<T: std::fmt::Debug>(outcome: Result<T>, expected: &[&str]) {
    let error = outcome.unwrap_err().to_string();
    assert!(expected.iter().all(|expected| error.contains(expected)), "{error}");
}
