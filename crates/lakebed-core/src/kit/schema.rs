//! Builds schemas as the JSON of the protocol.

use crate::schema::{StructType, parse};

/// Returns a nullable column. `data_type` is the name of a primitive type, or the JSON object of a
/// nested type.
pub fn field(name: &str, data_type: &str) -> String {
    field_with(name, data_type, "")
}

/// Returns a nullable column with these JSON entries in its metadata.
pub fn field_with(name: &str, data_type: &str, metadata: &str) -> String {
    format!(r#"{{"name":"{name}","type":{},"nullable":true,"metadata":{{{metadata}}}}}"#, type_json(data_type))
}

/// Returns a column that may not be null.
pub fn required_field(name: &str, data_type: &str) -> String {
    format!(r#"{{"name":"{name}","type":{},"nullable":false,"metadata":{{}}}}"#, type_json(data_type))
}

/// Returns a struct with these fields.
pub fn struct_of(fields: &[String]) -> String {
    format!(r#"{{"type":"struct","fields":[{}]}}"#, fields.join(","))
}

/// Returns an array with nullable elements.
pub fn array_of(element: &str) -> String {
    format!(r#"{{"type":"array","elementType":{},"containsNull":true}}"#, type_json(element))
}

/// Returns a map with nullable values.
pub fn map_of(key: &str, value: &str) -> String {
    format!(r#"{{"type":"map","keyType":{},"valueType":{},"valueContainsNull":true}}"#, type_json(key), type_json(value))
}

/// Returns the schema of a table with these columns.
pub fn schema(fields: &[String]) -> StructType {
    schema_of(&fields.join(","))
}

/// Returns the schema of a table with these columns, given as JSON objects with commas between
/// them.
pub fn schema_of(fields: &str) -> StructType {
    parse(&format!(r#"{{"type":"struct","fields":[{fields}]}}"#)).unwrap()
}

fn type_json(data_type: &str) -> String {
    if data_type.starts_with('{') { data_type.to_owned() } else { format!("\"{data_type}\"") }
}
