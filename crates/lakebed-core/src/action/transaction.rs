use serde::{Deserialize, Serialize};

/// How far an application has come. PROTOCOL "Transaction Identifiers".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetTransaction {
    /// The application's own name.
    pub app_id: String,
    /// Its own counter, which may also go down.
    pub version: i64,
    /// Milliseconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<i64>,
}
