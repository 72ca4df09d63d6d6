//! Actions of the log as JSON. Tests build commits and checkpoints from them.

use serde_json::{Value, json};

/// Returns the lines of a commit.
pub fn text(actions: &[Value]) -> Vec<u8> {
    actions.iter().map(|action| format!("{action}\n")).collect::<String>().into_bytes()
}

/// Returns an `add` without statistics.
pub fn add(path: &str) -> Value {
    json!({"add": {"path": path, "partitionValues": {}, "size": 100, "modificationTime": 1_700_000_000_000_i64, "dataChange": true}})
}

/// Returns the `remove` of a file without deletion vector.
pub fn remove(path: &str) -> Value {
    json!({"remove": {"path": path, "deletionTimestamp": 1_700_000_000_000_i64, "dataChange": true}})
}

/// Returns the same action for a commit that changes no rows.
pub fn unchanged(mut action: Value) -> Value {
    for kind in ["add", "remove"] {
        if action.get(kind).is_some() {
            action[kind]["dataChange"] = json!(false);
        }
    }
    action
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
