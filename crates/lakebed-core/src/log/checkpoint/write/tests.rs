use arrow_array::builder::StructBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float64Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, Int64Array, LargeStringArray, StringArray, StructArray};
use arrow_schema::{DataType, Fields};
use serde_json::json;

use super::*;
use crate::ErrorKind;
use crate::action::json::{CommitLines, parse_line};
use crate::kit;
use crate::kit::action::{remove_at, with};
use crate::kit::commit::{add_line, add_line_with_stats, added_files};
use crate::kit::schema::{field, struct_of};
use crate::kit::table::{metadata, properties, protocol_with};
use crate::log::checkpoint::{file_actions, other_actions};
use crate::log::replay::{Layer, Layers};
use crate::property::TableProperties;
use crate::schema::StructType;

/// A table with these columns, given as `name type`, and these properties.
struct Given {
    protocol: Protocol,
    metadata: Metadata,
    schema: StructType,
    properties: TableProperties,
}

fn given(columns: &[&str], partition_columns: &[&str], entries: &[(&str, &str)], features: &[&str]) -> Given {
    let fields: Vec<String> = columns
        .iter()
        .map(|column| {
            let (name, data_type) = column.split_once(' ').unwrap();
            field(name, data_type)
        })
        .collect();
    Given {
        protocol: protocol_with(features),
        metadata: metadata(&struct_of(&fields), partition_columns, entries),
        schema: kit::schema::schema(&fields),
        properties: properties(entries),
    }
}

impl Given {
    fn rows(&self) -> CheckpointRows {
        let Given { protocol, metadata, schema, properties } = self;
        CheckpointRows::new(TableHead { protocol, metadata, schema, properties }, &[]).unwrap()
    }
}

fn child(array: &StructArray, way: &[&str]) -> ArrayRef {
    let mut at: ArrayRef = Arc::new(array.clone());
    for name in way {
        at = at.as_struct().column_by_name(name).unwrap_or_else(|| panic!("{way:?}")).clone();
    }
    at
}

fn names(fields: &Fields) -> Vec<&str> {
    fields.iter().map(|field| field.name().as_str()).collect()
}

fn fields_of<'a>(schema: &'a SchemaRef, column: &str) -> &'a Fields {
    match schema.field_with_name(column).unwrap().data_type() {
        DataType::Struct(fields) => fields,
        other => panic!("{other}"),
    }
}

#[test]
fn columns_stand_in_delta_sparks_order() {
    let given = given(&["id long", "p date"], &["p"], &[], &["deletionVectors"]);
    let rows = given.rows();
    assert_eq!(names(rows.classic_schema().fields()), ["txn", "add", "remove", "metaData", "protocol", "domainMetadata"]);
    assert_eq!(names(rows.sidecar_schema().fields()), ["add", "remove"]);
    assert_eq!(names(rows.top_schema().fields())[6..], ["checkpointMetadata", "sidecar"]);
    let schema = rows.classic_schema();
    let expected = [
        "path",
        "partitionValues",
        "size",
        "modificationTime",
        "dataChange",
        "tags",
        "deletionVector",
        "baseRowId",
        "defaultRowCommitVersion",
        "clusteringProvider",
        "stats",
        "partitionValues_parsed",
        "stats_parsed",
    ];
    assert_eq!(names(fields_of(&schema, "add")), expected);
    let removed =
        ["path", "deletionTimestamp", "dataChange", "extendedFileMetadata", "partitionValues", "size", "deletionVector"];
    assert_eq!(names(fields_of(&schema, "remove"))[..7], removed);
    assert!(schema.fields().iter().all(|field| field.is_nullable()));
}

#[test]
fn statistics_are_those_of_indexed_columns() {
    let nested = r#"s {"type":"struct","fields":[{"name":"x","type":"short","nullable":true,"metadata":{}},{"name":"f","type":"boolean","nullable":true,"metadata":{}}]}"#;
    let given = given(&["p date", nested, "b binary", "id long"], &["p"], &[("delta.dataSkippingNumIndexedCols", "3")], &[]);
    let array = given.rows().adds(&added_files(&[add_line_with_stats("{}")])).unwrap().array;
    let stats = child(&array, &["stats_parsed"]);
    assert_eq!(stats.as_struct().column_names(), ["numRecords", "minValues", "maxValues", "nullCount"]);
    assert_eq!(child(&array, &["stats_parsed", "minValues"]).as_struct().column_names(), ["s"]);
    assert_eq!(child(&array, &["stats_parsed", "minValues", "s"]).as_struct().column_names(), ["x"]);
    assert_eq!(child(&array, &["stats_parsed", "nullCount"]).as_struct().column_names(), ["s", "b"]);
    assert_eq!(child(&array, &["stats_parsed", "nullCount", "s"]).as_struct().column_names(), ["x", "f"]);
}

#[test]
fn write_parsed_stats_keeps_unwidened_bounds() {
    let given = given(&["t timestamp", "d double", "m decimal(20,3)"], &[], &[], &[]);
    let text = r#"{"numRecords":1,"minValues":{"t":"1700-01-01T00:00:00.123+00:19","d":-0.0,"m":12345678901234.5},"maxValues":{"t":"2024-01-01T00:00:00.999Z","d":"NaN","m":12345678901234.500}}"#;
    let array = given.rows().adds(&added_files(&[add_line_with_stats(text)])).unwrap().array;
    let time = |name: &str| child(&array, &["stats_parsed", name, "t"]).as_primitive::<TimestampMicrosecondType>().value(0);
    assert_eq!(time("maxValues"), 1_704_067_200_999_000);
    // The expected timestamp is nineteen minutes before that midnight in UTC.
    assert_eq!(time("minValues"), -8_520_336_000_000_000 + 123_000 - 19 * 60_000_000);
    let double = |name: &str| child(&array, &["stats_parsed", name, "d"]).as_primitive::<Float64Type>().value(0);
    assert_eq!(double("minValues").to_bits(), (-0.0_f64).to_bits());
    assert!(double("maxValues").is_nan());
    for name in ["minValues", "maxValues"] {
        let decimal = child(&array, &["stats_parsed", name, "m"]);
        assert_eq!(decimal.as_primitive::<Decimal128Type>().value(0), 12_345_678_901_234_500, "{name}");
    }
}

#[test]
fn write_parsed_stats_leaves_unknown_null() {
    let given = given(&["id long"], &[], &[], &["deletionVectors"]);
    let lines = [add_line_with_stats(r#"{"numRecords":3}"#), add_line_with_stats("not json").replace("\"a\"", "\"b\"")];
    let array = given.rows().adds(&added_files(&lines)).unwrap().array;
    let parsed = child(&array, &["stats_parsed"]);
    assert!(parsed.is_valid(0) && parsed.is_null(1));
    assert!(child(&array, &["stats_parsed", "minValues"]).is_null(0));
    assert!(child(&array, &["stats_parsed", "tightBounds"]).is_null(0));
    assert_eq!(child(&array, &["stats_parsed", "numRecords"]).as_primitive::<Int64Type>().value(0), 3);
    assert_eq!(child(&array, &["stats"]).as_string::<i32>().value(1), "not json");
}

#[test]
fn write_rows_repairs_other_writers_checkpoints() {
    let given = given(&["id long"], &[], &[("delta.checkpoint.writeStatsAsStruct", "false")], &[]);
    let vector = Fields::from(vec![Field::new("storageType", DataType::Utf8, true), Field::new("offset", DataType::Int64, true)]);
    let mut vectors = StructBuilder::from_fields(vector, 1);
    vectors.field_builder::<arrow_array::builder::StringBuilder>(0).unwrap().append_null();
    vectors.field_builder::<arrow_array::builder::Int64Builder>(1).unwrap().append_null();
    vectors.append(true);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("size", Arc::new(Int64Array::from(vec![7]))),
        ("path", Arc::new(LargeStringArray::from(vec!["a"]))),
        ("deletionVector", Arc::new(vectors.finish())),
        ("dataChange", Arc::new(arrow_array::BooleanArray::from(vec![true]))),
        ("unheardOf", Arc::new(StringArray::from(vec!["x"]))),
    ];
    let batch = FileBatch::new(RecordBatch::try_from_iter(columns).unwrap()).unwrap();
    let array = given.rows().adds(&batch).unwrap().array;
    assert!(child(&array, &["deletionVector"]).is_null(0), "a struct of nulls is no vector");
    assert!(child(&array, &["partitionValues"]).is_valid(0), "it is required");
    assert!(!child(&array, &["dataChange"]).as_boolean().value(0));
    assert!(child(&array, &["modificationTime"]).is_null(0));
    assert_eq!(array.column_by_name("unheardOf"), None);
}

#[test]
fn write_other_actions_round_trips() {
    let lines = [
        r#"{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":[],"writerFeatures":["x"]}}"#,
        r#"{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}"#,
        r#"{"metaData":{"id":"i","name":"n","format":{"provider":"parquet","options":{"a":"b"}},"schemaString":"{}","partitionColumns":["p","q"],"configuration":{"k":null,"l":"v"},"createdTime":5}}"#,
        r#"{"txn":{"appId":"a","version":1}}"#,
        r#"{"txn":{"appId":"b","version":-2,"lastUpdated":3}}"#,
        r#"{"domainMetadata":{"domain":"d","configuration":"{}","removed":false}}"#,
        r#"{"checkpointMetadata":{"version":4,"tags":{"t":"u"}}}"#,
        r#"{"sidecar":{"path":"s","sizeInBytes":1,"modificationTime":2}}"#,
    ];
    let actions: Vec<Action> = lines.iter().map(|line| parse_line(line.as_bytes()).unwrap().unwrap()).collect();
    let rows = given(&["id long"], &[], &[], &[]).rows().others(&actions).unwrap();
    let mut found = Vec::new();
    for ActionRows { column, array } in rows {
        let batch = RecordBatch::try_from_iter([(column, Arc::new(array) as ArrayRef)]).unwrap();
        found.extend(other_actions(&batch, "x").unwrap());
    }
    assert_eq!(found, actions);
    let info = parse_line(br#"{"commitInfo":{}}"#).unwrap().unwrap();
    let refused = given(&["id long"], &[], &[], &[]).rows().others(&[info]).map(|rows| rows.len());
    assert_eq!(refused.map_err(|error| error.kind().clone()), Err(ErrorKind::Internal));
}

/// Checks the tombstones that remain after commits, oldest first, above an older checkpoint with
/// these lines.
#[track_caller]
fn check_tombstones(commits: &[&str], old: &str, expected: &[&str]) {
    let parts = || commits.iter().rev().map(|commit| CommitLines::whole(commit.as_bytes(), "x"));
    let layers = Layers::new(Layer::fold(parts()).unwrap());
    let rows = given(&["id long"], &[], &[], &[]).rows();
    let mut found = Vec::new();
    let mut take = |batch: Option<RecordBatch>| {
        if let Some(batch) = batch {
            let array: ArrayRef = Arc::new(rows.removes(&batch).unwrap().array);
            let batch = RecordBatch::try_from_iter([("remove", array)]).unwrap();
            found.extend(file_actions(&batch, "x").unwrap().into_iter().map(|action| match action {
                Action::Remove(remove) => {
                    assert!(!remove.data_change);
                    format!("{} {}", remove.path, remove.deletion_timestamp.unwrap())
                }
                other => panic!("{other:?}"),
            }));
        }
    };
    let mut of_commits = Tombstones::of_commits(&layers, 5);
    for part in parts() {
        take(of_commits.read(part).unwrap());
    }
    take(of_commits.finish().unwrap());
    let mut of_old = Tombstones::of_checkpoint(&layers, 5);
    take(of_old.read(CommitLines::whole(old.as_bytes(), "y")).unwrap());
    take(of_old.finish().unwrap());
    found.sort();
    assert_eq!(found, expected);
}

#[test]
fn collect_tombstones_keeps_newest_unexpired_removals() {
    let add: &str = &add_line("a", None);
    let remove = |path: &str, time: i64| remove_at(path, time).to_string();
    check_tombstones(&[&remove("a", 6), &remove("b", 5)], "", &["a 6"]);
    check_tombstones(&[&remove("a", 6), add], "", &[]);
    check_tombstones(&[&remove("a", 6), add, &remove("a", 8)], "", &["a 8"]);
    check_tombstones(&[&remove("a", 9), add, &remove("a", 8)], &remove("a", 7), &["a 8"]);
    check_tombstones(&[add], &remove("a", 7), &[]);
    check_tombstones(&[&remove("b", 8)], &remove("a", 7), &["a 7", "b 8"]);
    check_tombstones(&[], &remove("a", 5), &[]);
    check_tombstones(&[&with(remove_at("ageless", 0), json!({"deletionTimestamp": null})).to_string()], "", &[]);
}
