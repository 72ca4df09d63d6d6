//! Repairs the JSON of other writers before serde reads it: nulls for absent fields, numbers and
//! booleans as strings, other scalars in place of strings, and statistics as an object instead of a
//! string. Read [`repair`] first.

use serde_json::{Map, Value};

/// Fields that are integers wherever they occur.
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

/// Fields that are booleans wherever they occur.
const FLAGS: [&str; 3] = ["dataChange", "extendedFileMetadata", "removed"];

/// Fields that are objects with keys and strings.
const TEXT_MAPS: [&str; 4] = ["partitionValues", "tags", "configuration", "options"];

/// Fields that are structs.
const STRUCTS: [&str; 2] = ["deletionVector", "format"];

/// Returns the action with every field in the form of the protocol, as far as its meaning is
/// unambiguous.
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

/// Returns the integer of a value. The value may be an integer, a string with an integer, or a
/// number with the fraction zero (`1.0`, `1e3`).
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
