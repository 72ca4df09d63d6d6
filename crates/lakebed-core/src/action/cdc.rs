use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::text_map;

/// A change data file. PROTOCOL "Add CDC File".
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cdc {
    /// A URI, relative to the table root or absolute.
    pub path: String,
    /// Strings by physical column name.
    #[serde(default, serialize_with = "text_map::sorted")]
    pub partition_values: HashMap<String, Option<String>>,
    /// The size of the file in bytes.
    pub size: i64,
    /// Whether the file changes data. It is always false.
    #[serde(default)]
    pub data_change: bool,
    /// Key-value pairs of the writer.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "text_map::sorted_option")]
    pub tags: Option<HashMap<String, Option<String>>>,
}
