use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::text_map;

/// The version of a V2 checkpoint. PROTOCOL "Checkpoint Metadata".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointMetadata {
    /// The version.
    pub version: i64,
    /// Key-value pairs of the writer.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "text_map::sorted_option")]
    pub tags: Option<HashMap<String, Option<String>>>,
}

/// A file with the file actions of a V2 checkpoint. PROTOCOL "Sidecar File Information".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sidecar {
    /// The URI of the file: a name below `_delta_log/_sidecars`, or a path.
    pub path: String,
    /// The size of the file in bytes.
    pub size_in_bytes: i64,
    /// Milliseconds since the epoch.
    pub modification_time: i64,
    /// Key-value pairs of the writer.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "text_map::sorted_option")]
    pub tags: Option<HashMap<String, Option<String>>>,
}
