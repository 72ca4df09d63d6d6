//! Actions of the log as JSON. Tests build commits and checkpoints from them.
//!
//! The unit tests of `lakebed-core` and `lakebed` include this file, so it uses no type of lakebed.

use std::ops::RangeInclusive;

use serde_json::{Value, json};

/// Returns the lines of a commit.
pub fn text(actions: &[Value]) -> Vec<u8> {
    actions.iter().map(|action| format!("{action}\n")).collect::<String>().into_bytes()
}

/// Returns an `add` without statistics.
pub fn add(path: &str) -> Value {
    json!({"add": {"path": path, "partitionValues": {}, "size": 100, "modificationTime": 1_700_000_000_000_i64, "dataChange": true}})
}

/// Returns the `add` of a file of partition `p` that has these ids, one in each row.
pub fn add_ids(path: &str, p: &str, ids: RangeInclusive<i64>) -> Value {
    with(add(path), json!({"partitionValues": {"p": p}, "stats": stats_of_ids(ids).to_string()}))
}

/// Returns the statistics of a file that has these ids, one in each row.
pub fn stats_of_ids(ids: RangeInclusive<i64>) -> Value {
    let (first, last) = (ids.start(), ids.end());
    json!({"numRecords": last - first + 1, "minValues": {"id": first}, "maxValues": {"id": last}, "nullCount": {"id": 0}})
}

/// Returns the `remove` of a file without deletion vector.
pub fn remove(path: &str) -> Value {
    remove_at(path, 1_700_000_000_000)
}

/// Returns the `remove` of a file that was deleted at this time.
pub fn remove_at(path: &str, time_ms: i64) -> Value {
    json!({"remove": {"path": path, "deletionTimestamp": time_ms, "dataChange": true}})
}

/// Returns the `remove` of the file of an `add`, with its deletion vector.
pub fn remove_of(add: &Value) -> Value {
    let file = &add["add"];
    let mut fields = json!({"extendedFileMetadata": true});
    for name in ["partitionValues", "size", "dataChange", "deletionVector"] {
        if let Some(value) = file.get(name) {
            fields[name] = value.clone();
        }
    }
    with(remove(file["path"].as_str().unwrap()), fields)
}

/// Returns the `cdc` of a change data file.
pub fn cdc(path: &str) -> Value {
    json!({"cdc": {"path": path, "partitionValues": {}, "size": 1, "dataChange": false}})
}

/// The name of a file of deletion vectors, as a deletion vector of the storage type `u` has it.
pub const VECTOR_FILE: &str = "ab^-aqEH.-t@S}K{vb[*k^";

/// Returns a deletion vector of six rows. An inline one has no offset.
pub fn vector(storage: &str, text: &str, offset: i64) -> Value {
    let mut vector = json!({"storageType": storage, "pathOrInlineDv": text, "sizeInBytes": 40, "cardinality": 6});
    if storage != "i" {
        vector["offset"] = json!(offset);
    }
    vector
}

/// Returns the action with these fields.
pub fn with(mut action: Value, fields: Value) -> Value {
    let (_, content) = action.as_object_mut().unwrap().iter_mut().next().unwrap();
    content.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    action
}

/// Returns the action with this deletion vector.
pub fn with_vector(action: Value, vector: Value) -> Value {
    with(action, json!({"deletionVector": vector}))
}

/// Returns the same `add` or `remove` for a commit that changes no rows.
pub fn unchanged(action: Value) -> Value {
    with(action, json!({"dataChange": false}))
}

/// Returns the protocol 3/7 with these features.
pub fn protocol(reader_features: &[&str], writer_features: &[&str]) -> Value {
    let (reader, writer) = (reader_features, writer_features);
    json!({"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": reader, "writerFeatures": writer}})
}

/// Returns a metadata with columns of the form `name type`, such as `id long`. All columns are
/// nullable.
pub fn metadata(columns: &[&str], partition_columns: &[&str], configuration: &[(&str, &str)]) -> Value {
    let field = |column: &&str| {
        let (name, of) = column.split_once(' ').unwrap();
        json!({"name": name, "type": of, "nullable": true, "metadata": {}})
    };
    let fields: Vec<Value> = columns.iter().map(field).collect();
    let configuration: serde_json::Map<String, Value> =
        configuration.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
    json!({"metaData": {
        "id": "5fba94ed-9794-4965-ba6e-6ee3c0d22af9",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json!({"type": "struct", "fields": fields}).to_string(),
        "partitionColumns": partition_columns,
        "configuration": configuration,
        "createdTime": 1_700_000_000_000_i64,
    }})
}
