use serde::{Deserialize, Serialize};

/// A named configuration. PROTOCOL "Domain Metadata".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DomainMetadata {
    /// The name. Names with the prefix `delta.` are reserved for Delta.
    pub domain: String,
    /// The configuration as its owner writes it, mostly JSON.
    pub configuration: String,
    /// Whether this action removes the domain.
    pub removed: bool,
}
