use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::{DeletionVectorDescriptor, text_map};

/// A data file that is part of the table. PROTOCOL "Add File and Remove File".
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Add {
    /// A URI, relative to the table root or absolute, spelled as the log spells it.
    pub path: String,
    /// Strings by physical column name. Null and "" both mean null.
    #[serde(default, serialize_with = "text_map::sorted")]
    pub partition_values: HashMap<String, Option<String>>,
    /// The size of the file in bytes.
    pub size: i64,
    /// Milliseconds since the epoch.
    #[serde(default)]
    pub modification_time: i64,
    /// False if the rows were in the table before.
    #[serde(default)]
    pub data_change: bool,
    /// Statistics as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stats: Option<String>,
    /// Key-value pairs of the writer.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "text_map::sorted_option")]
    pub tags: Option<HashMap<String, Option<String>>>,
    /// The rows of the file that are deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion_vector: Option<DeletionVectorDescriptor>,
    /// The row id of the first row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_row_id: Option<i64>,
    /// The commit version of rows that do not store their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_row_commit_version: Option<i64>,
    /// The implementation that clustered the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clustering_provider: Option<String>,
}

impl Add {
    /// Returns the number of rows in the file according to its statistics, deleted rows included.
    pub fn num_records(&self) -> Option<i64> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Statistics {
            num_records: Option<i64>,
        }
        let statistics: Statistics = serde_json::from_str(self.stats.as_deref()?).ok()?;
        statistics.num_records.filter(|rows| *rows >= 0)
    }
}
