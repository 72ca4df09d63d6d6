//! The facts that a commit records about itself in `commitInfo`, with Delta Spark's names. PROTOCOL
//! "Commit Provenance Information".

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::info_entries::InfoEntries;
use crate::action::CommitInfo;
use crate::property::IsolationLevel;

/// The writer, as `engineInfo` names it.
pub const ENGINE: &str = concat!("lakebed/", env!("CARGO_PKG_VERSION"));

/// The tag of a commit that changes the metadata only in the marks of identity columns.
pub const IDENTITY_ONLY_TAG: &str = "delta.identity.schemaUpdate";

/// The tag that records whether copied rows kept their ids.
pub const ROW_TRACKING_PRESERVED_TAG: &str = "delta.rowTracking.preserved";

/// The operation, as the history shows it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Operation {
    /// The name, such as `WRITE` or `DELETE`.
    pub name: String,
    /// The parameters by Delta Spark's names. Lists and maps are strings of JSON.
    pub parameters: Map<String, Value>,
    /// The metrics by Delta Spark's names. Numbers are written as strings.
    pub metrics: BTreeMap<String, i64>,
}

impl Operation {
    /// Returns an operation without parameters.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Returns the operation with one more parameter.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.parameters.insert(name.to_owned(), value.into());
        self
    }

    /// Returns the operation with more metrics.
    #[must_use]
    pub fn with_metrics<'a>(mut self, metrics: impl IntoIterator<Item = (&'a str, u64)>) -> Self {
        let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        self.metrics.extend(metrics.into_iter().map(|(name, value)| (name.to_owned(), number(value))));
        self
    }

    /// Returns the operation with a list of names as one more parameter.
    #[must_use]
    pub fn with_names(self, name: &str, names: &[String]) -> Self {
        let list = Value::from(names.to_vec()).to_string();
        self.with(name, list)
    }
}

/// The facts that a commit records besides its operation.
#[derive(Debug, Clone, Default)]
pub struct Provenance {
    /// The version that was read. It is `None` if the commit creates the table.
    pub read_version: Option<u64>,
    /// The isolation level that was used to check other commits.
    pub isolation: IsolationLevel,
    /// Whether nothing was read and only files were added.
    pub is_blind_append: bool,
    /// An id that no other commit has.
    pub txn_id: String,
    /// The metadata that the caller gave.
    pub user_metadata: Option<String>,
    /// The entries that the caller adds to `commitInfo`.
    pub entries: InfoEntries,
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
    told.entries.add_to(&mut info);
    CommitInfo(info)
}
