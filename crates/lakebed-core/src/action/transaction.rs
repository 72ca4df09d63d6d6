use serde::{Deserialize, Serialize};

/// The last write of an application. PROTOCOL "Transaction Identifiers".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetTransaction {
    /// The id that the application chose.
    pub app_id: String,
    /// The application's own counter, which may also decrease.
    pub version: i64,
    /// Milliseconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<i64>,
}
