//! What a commit tells about itself, in Delta Spark's words. PROTOCOL "Commit Provenance
//! Information".

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::action::CommitInfo;
use crate::property::IsolationLevel;

/// Who writes, as `engineInfo` names it.
pub const ENGINE: &str = concat!("lakebed/", env!("CARGO_PKG_VERSION"));

/// The tag of a commit that changes the metadata only in the marks of identity columns.
pub const IDENTITY_ONLY_TAG: &str = "delta.identity.schemaUpdate";

/// The tag that tells whether copied rows kept their ids.
pub const ROW_TRACKING_PRESERVED_TAG: &str = "delta.rowTracking.preserved";

/// What is done, as the history shows it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Operation {
    /// Such as `WRITE` or `DELETE`.
    pub name: String,
    /// By Delta Spark's names; lists and maps as texts of JSON.
    pub parameters: Map<String, Value>,
    /// By Delta Spark's names; numbers are written as texts.
    pub metrics: BTreeMap<String, i64>,
}

impl Operation {
    /// Returns an operation without parameters.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// The same with one more parameter.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.parameters.insert(name.to_owned(), value.into());
        self
    }

    /// The same with more metrics.
    #[must_use]
    pub fn with_metrics<'a>(mut self, metrics: impl IntoIterator<Item = (&'a str, u64)>) -> Self {
        let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        self.metrics.extend(metrics.into_iter().map(|(name, value)| (name.to_owned(), number(value))));
        self
    }

    /// The same with a list of names as a parameter.
    #[must_use]
    pub fn with_names(self, name: &str, names: &[String]) -> Self {
        let list = Value::from(names.to_vec()).to_string();
        self.with(name, list)
    }
}

/// What a commit tells besides its operation.
#[derive(Debug, Clone, Default)]
pub struct Provenance {
    /// The version that was read; none when the table is made.
    pub read_version: Option<u64>,
    /// Under which rules others were looked at.
    pub isolation: IsolationLevel,
    /// Whether nothing was read and nothing but files was added.
    pub is_blind_append: bool,
    /// Tells this commit from all others.
    pub txn_id: String,
    /// The caller's own words.
    pub user_metadata: Option<String>,
    /// Notes for other writers.
    pub tags: BTreeMap<String, String>,
}

/// Returns the action, with the keys in Delta Spark's order.
pub fn commit_info(operation: &Operation, told: &Provenance, now_ms: i64, in_commit_timestamp: Option<i64>) -> CommitInfo {
    let mut info = Map::new();
    let mut set = |key: &str, value: Value| info.insert(key.to_owned(), value);
    if let Some(timestamp) = in_commit_timestamp {
        set("inCommitTimestamp", timestamp.into());
    }
    set("timestamp", now_ms.into());
    set("operation", operation.name.clone().into());
    set("operationParameters", operation.parameters.clone().into());
    if let Some(version) = told.read_version {
        set("readVersion", version.into());
    }
    set("isolationLevel", told.isolation.name().into());
    set("isBlindAppend", told.is_blind_append.into());
    let metrics = operation.metrics.iter().map(|(name, value)| (name.clone(), Value::String(value.to_string())));
    set("operationMetrics", Value::Object(metrics.collect()));
    if let Some(words) = &told.user_metadata {
        set("userMetadata", words.clone().into());
    }
    if !told.tags.is_empty() {
        let tags = told.tags.iter().map(|(key, value)| (key.clone(), Value::String(value.clone())));
        set("tags", Value::Object(tags.collect()));
    }
    set("engineInfo", ENGINE.into());
    set("txnId", told.txn_id.clone().into());
    CommitInfo(info)
}
