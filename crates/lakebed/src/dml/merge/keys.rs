//! The ON condition of a merge by keys, which depends on the table: the source's values are compared in the form in which the table keeps
//! them. Else a row with an empty text in a partition column would not find itself again.

use lakebed_core::path::hive::NULL_NAME;
use lakebed_core::schema::{DataType, PrimitiveType, StructType};

use super::Given;
use super::names::quoted;
use crate::Snapshot;

/// The columns of both tables that must be equal, as text. Null equals null.
pub(super) fn equal_columns(keys: &[String], target_alias: &str, source_alias: &str) -> String {
    let equal = |key: &String| format!("{} <=> {}", column(target_alias, key), column(source_alias, key));
    keys.iter().map(equal).collect::<Vec<_>>().join(" AND ")
}

/// The ON condition on top of a version.
pub(super) fn condition(given: &Given, snapshot: &Snapshot, source: &StructType) -> String {
    if given.keys.is_empty() {
        return given.on.clone();
    }
    let equal = |key: &String| {
        let own = column(&given.source_alias, key);
        let is_partition = snapshot.partition_columns().iter().any(|name| name.to_lowercase() == key.to_lowercase());
        let stored = match source.field(key).map(|field| &field.data_type) {
            Some(DataType::Primitive(PrimitiveType::String | PrimitiveType::Char { .. })) if is_partition => {
                format!("nullif(nullif({own}, ''), '{NULL_NAME}')")
            }
            Some(DataType::Primitive(PrimitiveType::Binary)) if is_partition => {
                format!("nullif(nullif({own}, CAST('' AS BINARY)), CAST('{NULL_NAME}' AS BINARY))")
            }
            _ => own,
        };
        format!("{} <=> {stored}", column(&given.target_alias, key))
    };
    given.keys.iter().map(equal).collect::<Vec<_>>().join(" AND ")
}

fn column(alias: &str, name: &str) -> String {
    quoted(&[alias.to_owned(), name.to_owned()])
}
