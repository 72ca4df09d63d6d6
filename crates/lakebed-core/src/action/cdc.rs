use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// A file of changed rows. PROTOCOL "Add CDC File".
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cdc {
    /// A URI, relative to the table root or absolute.
    pub path: String,
    /// Physical column name to text.
    #[serde(default)]
    pub partition_values: HashMap<String, Option<String>>,
    /// Of the file.
    pub size: i64,
    /// Always false.
    #[serde(default)]
    pub data_change: bool,
    /// Free notes of writers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<HashMap<String, Option<String>>>,
}
