//! Checkpoints in each of their forms, built by tests from actions as JSON.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_json::ReaderBuilder;
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use serde_json::{Value, json};

use crate::action::text as text_of;
use crate::table::parquet_bytes;

/// The form of a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// One file, V1.
    Classic,
    /// This number of files, V1.
    MultiPart(usize),
    /// One file with a classic name, V2, and this number of sidecars. Without sidecars, the file
    /// actions are in the file.
    ClassicV2(usize),
    /// A Parquet file with a unique name, and this number of sidecars.
    UuidParquet(usize),
    /// A JSON file with a unique name, and this number of sidecars.
    UuidJson(usize),
}

/// Returns the files of a checkpoint, by names relative to the log. `group_rows` is the number of
/// rows in a row group.
pub(crate) fn files(version: u64, form: Form, actions: &[Value], group_rows: usize) -> Vec<(String, Vec<u8>)> {
    let typed = actions.iter().any(|action| action["add"].get("stats_parsed").is_some());
    let is_file = |action: &&Value| action.get("add").is_some() || action.get("remove").is_some();
    let uuid = "3a0d65cd-4056-49b8-937b-95f9e3ee90e5";
    let (mut top, sidecar_count) = match form {
        Form::Classic => {
            return vec![(format!("{version:020}.checkpoint.parquet"), encode(actions, &columns(false, typed), group_rows))];
        }
        Form::MultiPart(parts) => return multi_part(version, parts, (actions, typed), group_rows),
        Form::ClassicV2(sidecars) | Form::UuidParquet(sidecars) | Form::UuidJson(sidecars) => (Vec::new(), sidecars),
    };
    top.push(json!({"checkpointMetadata": {"version": version}}));
    let (in_files, others): (Vec<Value>, Vec<Value>) = actions.iter().cloned().partition(|action| is_file(&action));
    top.extend(others);
    let mut files = Vec::new();
    if sidecar_count == 0 {
        top.extend(in_files);
    } else {
        for (index, part) in split(&in_files, sidecar_count).into_iter().enumerate() {
            let name = format!("{version:020}.checkpoint.{:010}.{sidecar_count:010}.{uuid}.parquet", index + 1);
            let bytes = encode(&part, &file_columns(typed), group_rows);
            top.push(json!({"sidecar": {"path": name, "sizeInBytes": bytes.len(), "modificationTime": 1_700_000_000_000_i64}}));
            files.push((format!("_sidecars/{name}"), bytes));
        }
    }
    let (name, bytes) = match form {
        Form::UuidJson(_) => (format!("{version:020}.checkpoint.{uuid}.json"), text_of(&top)),
        Form::UuidParquet(_) => {
            (format!("{version:020}.checkpoint.{uuid}.parquet"), encode(&top, &columns(true, typed), group_rows))
        }
        _ => (format!("{version:020}.checkpoint.parquet"), encode(&top, &columns(true, typed), group_rows)),
    };
    files.push((name, bytes));
    files
}

fn multi_part(version: u64, parts: usize, (actions, typed): (&[Value], bool), group_rows: usize) -> Vec<(String, Vec<u8>)> {
    let name = |index: usize| format!("{version:020}.checkpoint.{:010}.{parts:010}.parquet", index + 1);
    split(actions, parts)
        .iter()
        .enumerate()
        .map(|(index, part)| (name(index), encode(part, &columns(false, typed), group_rows)))
        .collect()
}

/// Distributes actions over parts. Adjacent actions go to different parts.
fn split(actions: &[Value], parts: usize) -> Vec<Vec<Value>> {
    (0..parts).map(|part| actions.iter().skip(part).step_by(parts).cloned().collect()).collect()
}

fn encode(actions: &[Value], schema: &SchemaRef, group_rows: usize) -> Vec<u8> {
    let mut decoder = ReaderBuilder::new(Arc::clone(schema)).with_batch_size(actions.len().max(1)).build_decoder().unwrap();
    // The actions go through text, because serde_json's numbers of arbitrary precision are not
    // numbers to other serializers.
    decoder.decode(&text_of(actions)).unwrap();
    let batch = decoder.flush().unwrap().unwrap_or_else(|| RecordBatch::new_empty(Arc::clone(schema)));
    parquet_bytes(&batch, group_rows)
}

fn text(name: &str) -> Field {
    Field::new(name, DataType::Utf8, true)
}

fn long(name: &str) -> Field {
    Field::new(name, DataType::Int64, true)
}

fn int(name: &str) -> Field {
    Field::new(name, DataType::Int32, true)
}

fn flag(name: &str) -> Field {
    Field::new(name, DataType::Boolean, true)
}

fn list(name: &str) -> Field {
    Field::new_list(name, Field::new("element", DataType::Utf8, true), true)
}

fn map(name: &str) -> Field {
    Field::new_map(name, "key_value", Field::new("key", DataType::Utf8, false), text("value"), false, true)
}

fn group(name: &str, fields: Vec<Field>) -> Field {
    Field::new_struct(name, Fields::from(fields), true)
}

fn vector() -> Field {
    group(
        "deletionVector",
        vec![text("storageType"), text("pathOrInlineDv"), int("offset"), int("sizeInBytes"), long("cardinality")],
    )
}

/// Returns the field of `add`. With `typed` it has statistics of a column `id` as a struct.
fn add_column(typed: bool) -> Field {
    let fields = vec![
        text("path"),
        map("partitionValues"),
        long("size"),
        long("modificationTime"),
        flag("dataChange"),
        text("stats"),
        map("tags"),
    ];
    let more = vec![vector(), long("baseRowId"), long("defaultRowCommitVersion"), text("clusteringProvider")];
    let of_id = |name: &str| group(name, vec![long("id")]);
    let stats = group("stats_parsed", vec![long("numRecords"), of_id("minValues"), of_id("maxValues"), of_id("nullCount")]);
    group("add", fields.into_iter().chain(more).chain(typed.then_some(stats)).collect())
}

fn remove_column() -> Field {
    let fields = vec![
        text("path"),
        long("deletionTimestamp"),
        flag("dataChange"),
        flag("extendedFileMetadata"),
        map("partitionValues"),
        long("size"),
    ];
    let more = vec![map("tags"), vector(), long("baseRowId"), long("defaultRowCommitVersion")];
    group("remove", fields.into_iter().chain(more).collect())
}

fn file_columns(typed: bool) -> SchemaRef {
    Arc::new(Schema::new(vec![add_column(typed), remove_column()]))
}

fn columns(v2: bool, typed: bool) -> SchemaRef {
    let format = group("format", vec![text("provider"), map("options")]);
    let metadata = vec![text("id"), text("name"), text("description"), format, text("schemaString"), list("partitionColumns")];
    let metadata = metadata.into_iter().chain([map("configuration"), long("createdTime")]).collect();
    let protocol = vec![int("minReaderVersion"), int("minWriterVersion"), list("readerFeatures"), list("writerFeatures")];
    let mut fields = vec![
        group("txn", vec![text("appId"), long("version"), long("lastUpdated")]),
        add_column(typed),
        remove_column(),
        group("metaData", metadata),
        group("protocol", protocol),
        group("domainMetadata", vec![text("domain"), text("configuration"), flag("removed")]),
    ];
    if v2 {
        fields.push(group("checkpointMetadata", vec![long("version"), map("tags")]));
        fields.push(group("sidecar", vec![text("path"), long("sizeInBytes"), long("modificationTime"), map("tags")]));
    }
    Arc::new(Schema::new(fields))
}
