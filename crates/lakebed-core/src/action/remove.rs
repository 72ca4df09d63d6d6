use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::{DeletionVectorDescriptor, text_map};

/// A data file is no longer part of the table. PROTOCOL "Add File and Remove File".
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Remove {
    /// The path as the `add` of the file spells it.
    pub path: String,
    /// Milliseconds since the epoch. An absent value means a time long ago.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion_timestamp: Option<i64>,
    /// False if the rows stay in the table.
    #[serde(default)]
    pub data_change: bool,
    /// Whether the action has partition values, size and tags.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extended_file_metadata: Option<bool>,
    /// Strings by physical column name.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "text_map::sorted_option")]
    pub partition_values: Option<HashMap<String, Option<String>>>,
    /// The size of the file in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<i64>,
    /// Statistics as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stats: Option<String>,
    /// Key-value pairs of the writer.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "text_map::sorted_option")]
    pub tags: Option<HashMap<String, Option<String>>>,
    /// The deletion vector that the file had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion_vector: Option<DeletionVectorDescriptor>,
    /// The row id of the first row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_row_id: Option<i64>,
    /// The commit version of rows that do not store their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_row_commit_version: Option<i64>,
}
