//! What writers get wrong in JSON, put right before serde sees it: nulls for absent fields, numbers
//! and booleans as text, other scalars where text belongs, statistics that are an object instead of
//! its text. Read [`repair`] first.

use serde_json::{Map, Value};

/// Fields that are whole numbers wherever they appear.
const LONGS: [&str; 13] = [
    "size",
    "modificationTime",
    "deletionTimestamp",
    "baseRowId",
    "defaultRowCommitVersion",
    "version",
    "lastUpdated",
    "createdTime",
    "offset",
    "sizeInBytes",
    "cardinality",
    "minReaderVersion",
    "minWriterVersion",
];

/// Fields that are true or false wherever they appear.
const FLAGS: [&str; 3] = ["dataChange", "extendedFileMetadata", "removed"];

/// Fields that, if objects, map keys to texts.
const TEXT_MAPS: [&str; 4] = ["partitionValues", "tags", "configuration", "options"];

/// Fields that are structs themselves.
const STRUCTS: [&str; 2] = ["deletionVector", "format"];

/// The same action with every field in the form that the protocol gives it, as far as its meaning
/// is beyond doubt.
pub(super) fn repair(action: Map<String, Value>) -> Map<String, Value> {
    action.into_iter().filter(|(_, value)| !value.is_null()).map(|(key, value)| repair_field(key, value)).collect()
}

fn repair_field(key: String, value: Value) -> (String, Value) {
    let name = key.as_str();
    let value = match value {
        value if LONGS.contains(&name) => long(&value).map_or(value, Value::from),
        Value::String(text) if FLAGS.contains(&name) => match text.as_str() {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => Value::String(text),
        },
        Value::Object(map) if TEXT_MAPS.contains(&name) => {
            Value::Object(map.into_iter().map(|(key, value)| (key, text(value))).collect())
        }
        Value::Object(fields) if STRUCTS.contains(&name) => Value::Object(repair(fields)),
        stats @ Value::Object(_) if name == "stats" => text(stats),
        other => other,
    };
    (key, value)
}

/// The whole number that a value means: itself, its text, or one with a fraction of zero (`1.0`,
/// `1e3`).
pub(crate) fn long(value: &Value) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) => number.as_i64().or_else(|| {
            let float = number.as_f64()?;
            (float.fract() == 0.0 && float.abs() < EXACT).then_some(float as i64)
        }),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

fn text(value: Value) -> Value {
    match value {
        Value::Null | Value::String(_) => value,
        other => Value::String(other.to_string()),
    }
}

/// Sorts the maps of texts inside an action, which come from hash maps.
pub(super) fn sort_text_maps(action: &mut Value) {
    let Value::Object(fields) = action else { return };
    for (key, value) in fields {
        match value {
            Value::Object(map) if TEXT_MAPS.contains(&key.as_str()) => map.sort_keys(),
            Value::Object(_) if STRUCTS.contains(&key.as_str()) => sort_text_maps(value),
            _ => {}
        }
    }
}
