use serde::{Deserialize, Serialize};

/// Configuration under a name. PROTOCOL "Domain Metadata".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DomainMetadata {
    /// `delta.` domains are the system's.
    pub domain: String,
    /// Text of the owner's making, mostly JSON.
    pub configuration: String,
    /// Whether this hides what was there before.
    pub removed: bool,
}
