use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Who did what, when: free JSON with a few keys that have a meaning. PROTOCOL "Commit Provenance
/// Information".
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CommitInfo(pub Map<String, Value>);

impl CommitInfo {
    /// A key's text, when it is text.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.as_str()
    }

    /// A key's number, when it is one or its text.
    pub fn long(&self, key: &str) -> Option<i64> {
        match self.0.get(key)? {
            Value::Number(number) => number.as_i64(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// The commit's own timestamp, in milliseconds. PROTOCOL "In-Commit Timestamps".
    pub fn in_commit_timestamp(&self) -> Option<i64> {
        self.long("inCommitTimestamp")
    }
}
