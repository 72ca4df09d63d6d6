use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The provenance of a commit: its writer, its operation and its time. It is free JSON in which a
/// few keys have a meaning. PROTOCOL "Commit Provenance Information".
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CommitInfo(pub Map<String, Value>);

impl CommitInfo {
    /// Returns the value of a key, if it is a string.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.as_str()
    }

    /// Returns the value of a key, if it is an integer or a string with an integer.
    pub fn long(&self, key: &str) -> Option<i64> {
        match self.0.get(key)? {
            Value::Number(number) => number.as_i64(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// Returns the commit's own timestamp, in milliseconds. PROTOCOL "In-Commit Timestamps".
    pub fn in_commit_timestamp(&self) -> Option<i64> {
        self.long("inCommitTimestamp")
    }
}
