use serde::{Deserialize, Serialize};

/// The versions and features that readers and writers of the table must support. PROTOCOL "Protocol
/// Evolution".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Protocol {
    /// Readers that support only lower versions must refuse the table.
    pub min_reader_version: i32,
    /// Writers that support only lower versions must refuse the table.
    pub min_writer_version: i32,
    /// The names of the reader features. Present exactly when the reader version is 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reader_features: Option<Vec<String>>,
    /// The names of the writer features. Present exactly when the writer version is 7.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writer_features: Option<Vec<String>>,
}
