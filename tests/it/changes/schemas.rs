//! Schema changes during a stream, with and without a schema log.

use std::slice::from_ref;

use lakebed::changes::{Follow, Offset, Position};
use lakebed_tests::TableBuilder;
use lakebed_tests::action::{metadata, protocol};
use serde_json::{Value, json};

use super::kit::{batch, check_error, drain, file, files, follow, fruits, rows};

fn columns(columns: &[&str]) -> Value {
    metadata(columns, &[], &[])
}

#[tokio::test]
async fn new_column_stops_stream_until_restart() {
    let builder = fruits(&[]).await;
    let one = file(&builder, "one", &["a/1"]).await;
    builder.commit(&[one]).await;
    let stream = follow(&builder, &[]).await.unwrap();
    let (found, end) = drain(&builder, &stream, None, &files(9)).await.unwrap();
    assert_eq!(found.concat(), ["a/1"]);
    let two = file(&builder, "two", &["b/2"]).await;
    builder.commit(&[columns(&["name string", "fruit string", "color string"]), two]).await;
    check_error(
        stream.latest_offset(end.as_ref(), &files(9)).await,
        &["version 2 differs from the stream's schema", "column color is missing", "start the query again"],
    );
    // The new schema also reads old files.
    let again = follow(&builder, &[]).await.unwrap();
    assert_eq!(drain(&builder, &again, end, &files(9)).await.unwrap().0.concat(), ["b/2/-"]);
    assert_eq!(rows(&builder, &[("startingVersion", "0")]).await.unwrap(), ["a/1/-", "b/2/-"]);
}

#[tokio::test]
async fn incompatible_schema_stops_stream_after_restart() {
    let builder = fruits(&[]).await;
    let one = file(&builder, "one", &["a/1"]).await;
    builder.commit(&[one]).await;
    let stream = follow(&builder, &[("startingVersion", "0")]).await.unwrap();
    builder.commit(&[columns(&["name string", "fruit integer"])]).await;
    let advice =
        ["version 2", "column fruit has the type integer instead of string", "start again with a new checkpoint", "above 2"];
    check_error(stream.latest_offset(None, &files(9)).await, &advice);
    // A stream cannot convert the other way either.
    let expected = ["version 0", "column fruit has the type string instead of integer", "does not help", "above 0"];
    check_error(rows(&builder, &[("startingVersion", "0")]).await, &expected);
    // A snapshot of the newest version has one schema.
    assert!(follow(&builder, &[]).await.unwrap().latest_offset(None, &files(9)).await.is_ok());
}

#[tokio::test]
async fn relaxed_nullability_does_not_stop_stream() {
    let builder = fruits(&[]).await;
    let mut strict = columns(&["name string", "fruit string"]);
    let schema = strict["metaData"]["schemaString"].as_str().unwrap().replace("\"nullable\":true", "\"nullable\":false");
    strict["metaData"]["schemaString"] = schema.into();
    builder.commit(&[strict.clone()]).await;
    builder.commit(&[columns(&["name string", "fruit string"])]).await;
    assert!(rows(&builder, &[("startingVersion", "0")]).await.is_ok());
    builder.commit(&[strict]).await;
    check_error(rows(&builder, &[("startingVersion", "0")]).await, &["column name may be null"]);
}

#[tokio::test]
async fn wider_type_is_learnt_by_restart() {
    let features = ["typeWidening"];
    let builder = TableBuilder::with(protocol(&features, &features), columns(&["name string", "size integer"]));
    builder.commit(&[]).await;
    let stream = follow(&builder, &[("startingVersion", "0")]).await.unwrap();
    builder.commit(&[columns(&["name string", "size long"])]).await;
    check_error(stream.latest_offset(None, &files(9)).await, &["type long instead of integer", "start the query again"]);
    assert!(rows(&builder, &[("startingVersion", "0")]).await.is_ok());
}

/// Returns the metadata of a table with column mapping. Columns are written as `name=physical`.
fn mapped(columns: &[&str]) -> Value {
    let field = |(id, column): (usize, &&str)| {
        let (name, physical) = column.split_once('=').unwrap_or((column, column));
        let notes = json!({"delta.columnMapping.id": id + 1, "delta.columnMapping.physicalName": physical});
        json!({"name": name, "type": "string", "nullable": true, "metadata": notes})
    };
    let fields: Vec<Value> = columns.iter().enumerate().map(field).collect();
    let mut metadata = metadata(&[], &[], &[("delta.columnMapping.mode", "name"), ("delta.columnMapping.maxColumnId", "9")]);
    metadata["metaData"]["schemaString"] = json!({"type": "struct", "fields": fields}).to_string().into();
    metadata
}

/// Returns a table: version 1 adds a file, version 2 renames `fruit` to `food`, version 3 adds a
/// file, version 4 drops `food`, version 5 adds a file.
async fn renamed() -> TableBuilder {
    let features = ["columnMapping"];
    let builder = TableBuilder::with(protocol(&features, &features), mapped(&["name", "fruit"]));
    builder.commit(&[]).await;
    let one = file(&builder, "one", &["a/1"]).await;
    builder.commit(&[one]).await;
    builder.commit(&[mapped(&["name", "food=fruit"])]).await;
    let two = file(&builder, "two", &["b/2"]).await;
    builder.commit(&[two]).await;
    builder.commit(&[mapped(&["name"])]).await;
    let three = file(&builder, "three", &["c/3"]).await;
    builder.commit(&[three]).await;
    builder
}

#[tokio::test]
async fn renamed_column_without_schema_log_stops_stream() {
    let builder = renamed().await;
    check_error(
        rows(&builder, &[("startingVersion", "0")]).await,
        &["column fruit dropped", "schemaTrackingLocation", "start the query again"],
    );
    assert_eq!(rows(&builder, &[]).await.unwrap(), ["a", "b", "c"]);
    assert_eq!(rows(&builder, &[("startingVersion", "4")]).await.unwrap(), ["c"]);
}

fn names(follow: &Follow) -> Vec<String> {
    follow.schema().unwrap().fields().iter().map(|field| field.name().clone()).collect()
}

/// Reads and commits one batch.
async fn step(builder: &TableBuilder, stream: &Follow, start: Option<&Offset>) -> lakebed::Result<(Vec<String>, Offset)> {
    let end = stream.latest_offset(start, &files(9)).await?.unwrap();
    let rows = batch(&builder.store(), stream, start, &end).await?;
    Ok((rows, end))
}

#[tokio::test]
async fn schema_log_leads_stream_over_each_change() {
    let builder = renamed().await;
    let location = ("schemaTrackingLocation", "memory://changes-steps/checkpoint/_schema");
    let start = ("startingVersion", "0");
    // The schema log begins with the schema of the version that is read first. The stream must be
    // restarted with it.
    let stream = follow(&builder, &[start, location]).await.unwrap();
    check_error(stream.latest_offset(None, &files(9)).await, &["changed at version 0", "start the query again"]);

    let stream = follow(&builder, &[start, location]).await.unwrap();
    assert_eq!(names(&stream), ["name", "fruit"]);
    let (rows, end) = step(&builder, &stream, None).await.unwrap();
    assert_eq!((rows.concat(), end.version, end.position), ("a/1".to_owned(), 2, Position::SchemaChange));
    // The engine requests the next offset before it commits this one.
    let (rows, held) = step(&builder, &stream, Some(&end)).await.unwrap();
    assert_eq!((rows.len(), held.position), (0, Position::AfterSchemaChange));
    assert!(held.to_string().contains("\"sourceVersion\":3") && held.to_string().contains("\"index\":-19"));
    assert_eq!(stream.latest_offset(Some(&held), &files(9)).await.unwrap(), Some(held.clone()));
    check_error(stream.commit(&end).await, &["changed at version 2", "start the query again"]);

    // A renamed column needs the user's permission.
    let blocked = follow(&builder, &[start, location]).await;
    check_error(blocked.map(drop), &["column fruit renamed to food", "allowSourceColumnRename=2"]);
    let rename = ("allowSourceColumnRename", "2");
    let stream = follow(&builder, &[start, location, rename]).await.unwrap();
    assert_eq!(names(&stream), ["name", "food"]);
    let end = stream.latest_offset(Some(&end), &files(9)).await.unwrap().unwrap();
    assert_eq!((end.version, end.position), (2, Position::AfterSchemaChange));
    stream.commit(&end).await.unwrap();
    let (rows, end) = step(&builder, &stream, Some(&end)).await.unwrap();
    assert_eq!((rows.concat(), end.version, end.position), ("b/2".to_owned(), 4, Position::SchemaChange));
    check_error(stream.commit(&end).await, &["changed at version 4"]);

    check_error(
        follow(&builder, &[start, location, rename]).await.map(drop),
        &["column food dropped", "allowSourceColumnDrop=4"],
    );
    let stream = follow(&builder, &[start, location, ("allowSourceColumnDrop", "always")]).await.unwrap();
    assert_eq!(names(&stream), ["name"]);
    let (found, end) = drain(&builder, &stream, Some(end), &files(9)).await.unwrap();
    assert_eq!(found.concat(), ["c"]);
    assert_eq!(end.unwrap().version, 6);
}

#[tokio::test]
async fn schema_changes_without_files_pass_together() {
    let features = ["columnMapping"];
    let builder = TableBuilder::with(protocol(&features, &features), mapped(&["name", "fruit"]));
    builder.commit(&[]).await;
    let location = ("schemaLocation", "memory://changes-merged/checkpoint");
    let stream = follow(&builder, &[location]).await.unwrap();
    let (_, end) = drain(&builder, &stream, None, &files(9)).await.unwrap();
    builder.commit(&[mapped(&["name", "food=fruit"])]).await;
    builder.commit(&[mapped(&["name", "meal=fruit"])]).await;
    let one = file(&builder, "one", &["a/1"]).await;
    builder.commit(&[one]).await;
    let end = stream.latest_offset(end.as_ref(), &files(9)).await.unwrap().unwrap();
    assert_eq!((end.version, end.position), (1, Position::SchemaChange));
    check_error(stream.commit(&end).await, &["changed at version 1"]);
    check_error(follow(&builder, &[location]).await.map(drop), &["column fruit renamed to meal", "allowSourceColumnRename=2"]);
    let stream = follow(&builder, &[location, ("allowSourceColumnRename", "2")]).await.unwrap();
    assert_eq!(names(&stream), ["name", "meal"]);
    assert_eq!(drain(&builder, &stream, Some(end), &files(9)).await.unwrap().0.concat(), ["a/1"]);
}

#[tokio::test]
async fn schema_log_outlives_its_commits() {
    let builder = fruits(&[]).await;
    let location = ("schemaTrackingLocation", "memory://changes-outlived/checkpoint");
    let start = ("startingVersion", "0");
    let one = file(&builder, "one", &["a/1"]).await;
    builder.commit(from_ref(&one)).await;
    let stream = follow(&builder, &[start, location]).await.unwrap();
    let (found, end) = drain(&builder, &stream, None, &files(9)).await.unwrap();
    assert_eq!(found.concat(), ["a/1"]);

    builder.checkpoint(1, &[one]).await;
    builder.delete_log("00000000000000000000.json").await;
    builder.delete_log("00000000000000000001.json").await;
    let two = file(&builder, "two", &["b/2"]).await;
    builder.commit(&[two]).await;
    let stream = follow(&builder, &[start, location]).await.unwrap();
    assert_eq!(drain(&builder, &stream, end, &files(9)).await.unwrap().0.concat(), ["b/2"]);
}

#[tokio::test]
async fn schema_log_belongs_to_one_stream() {
    let builder = fruits(&[]).await;
    let location = ("schemaTrackingLocation", "memory://changes-shared/checkpoint");
    let (one, two) = (follow(&builder, &[location]).await.unwrap(), follow(&builder, &[location]).await.unwrap());
    let other = follow(&builder, &[location, ("streamingSourceTrackingId", "other")]).await.unwrap();
    one.latest_offset(None, &files(1)).await.unwrap();
    // A second stream may log the same schema, but not another one.
    two.latest_offset(None, &files(1)).await.unwrap();
    other.latest_offset(None, &files(1)).await.unwrap();
    let location = ("schemaTrackingLocation", "memory://changes-conflict/checkpoint");
    let one = follow(&builder, &[location]).await.unwrap();
    builder.commit(&[columns(&["name string", "fruit string", "color string"])]).await;
    let two = follow(&builder, &[location]).await.unwrap();
    one.latest_offset(None, &files(1)).await.unwrap();
    check_error(two.latest_offset(None, &files(1)).await, &["another stream has written here", "streamingSourceTrackingId"]);
    let lossy = follow(&builder, &[location, ("failOnDataLoss", "false")]).await;
    check_error(lossy.map(drop), &["failOnDataLoss=false cannot be combined with schemaTrackingLocation"]);
}
