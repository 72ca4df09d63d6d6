use serde::{Deserialize, Serialize};

/// What readers and writers of the table must know. PROTOCOL "Protocol Evolution".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Protocol {
    /// Readers below it must refuse.
    pub min_reader_version: i32,
    /// Writers below it must refuse.
    pub min_writer_version: i32,
    /// By name, exactly when the reader version is 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reader_features: Option<Vec<String>>,
    /// By name, exactly when the writer version is 7.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writer_features: Option<Vec<String>>,
}
