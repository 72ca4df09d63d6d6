//! Entries of the caller in `commitInfo`, beside those that lakebed records.
//!
//! PROTOCOL "Commit Provenance Information" lets a writer store any JSON there. Readers give some
//! entries a type, though: Delta Spark cannot show the history of a table, and delta-kernel cannot
//! read a commit, if such an entry has another one. So [`InfoEntries::new`] checks all of them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Error, Result};

/// Entries of the caller in `commitInfo`, by their names.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "Map<String, Value>")]
pub struct InfoEntries(Map<String, Value>);

/// The entry for parameters of the operation.
const PARAMETERS: &str = "operationParameters";

/// The entries that lakebed records, or that a reader of Delta Spark expects to be facts.
const RECORDED: [&str; 11] = [
    "version",
    "inCommitTimestamp",
    "timestamp",
    "operation",
    "readVersion",
    "isolationLevel",
    "isBlindAppend",
    "operationMetrics",
    "tags",
    "engineInfo",
    "txnId",
];

/// The entries that are strings in Delta Spark or delta-kernel.
const TEXTS: [&str; 4] = ["userId", "userName", "clusterId", "kernelVersion"];

/// The entries that are objects with string values in Delta Spark.
const TEXT_OBJECTS: [&str; 2] = ["job", "notebook"];

/// The most levels of lists and objects. Parsers of JSON refuse deep nesting, serde's at 128 levels.
const MOST_LEVELS: usize = 32;

/// The most bytes of all entries. Every reader of the history reads them.
const MOST_BYTES: usize = 1 << 20;

impl InfoEntries {
    /// Checks the entries. It is an error if lakebed records one of them itself, or if other readers
    /// could not read one of them.
    pub fn new(entries: Map<String, Value>) -> Result<Self> {
        let refused = |name: &str, why: &str| Err(Error::invalid_input(format!("{name}: {why}")));
        let is = |name: &str, known: &[&str]| known.iter().any(|known| known.eq_ignore_ascii_case(name));
        for (name, value) in &entries {
            if name.trim().is_empty() {
                return refused(&format!("{name:?}"), "the name of an entry is empty");
            }
            if is(name, &["userMetadata"]) {
                return refused(name, "this entry has an option of its own: pass it as user_metadata");
            }
            if is(name, &RECORDED) {
                return refused(name, "lakebed records this entry itself: choose another name");
            }
            if is(name, &TEXTS) && !value.is_string() {
                return refused(name, "other readers expect a string here");
            }
            if is(name, &TEXT_OBJECTS) && !value.as_object().is_some_and(|found| found.values().all(Value::is_string)) {
                return refused(name, "other readers expect an object with string values here");
            }
            if is(name, &[PARAMETERS]) && (name != PARAMETERS || !is_parameters(value)) {
                return refused(name, "operationParameters must be an object without nulls");
            }
            if !is_flat(value, MOST_LEVELS) {
                return refused(name, &format!("its value has more than {MOST_LEVELS} levels of lists and objects"));
            }
        }
        let size = serde_json::to_string(&entries).map_err(|error| Error::invalid_input(error.to_string()))?.len();
        match size > MOST_BYTES {
            true => refused("all entries", &format!("they have {size} bytes as JSON, and {MOST_BYTES} are allowed")),
            false => Ok(Self(entries)),
        }
    }

    /// Returns whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the entries to those that the commit has already. The parameters of the operation get
    /// those of the caller that they lack, as strings.
    pub(super) fn add_to(&self, info: &mut Map<String, Value>) {
        for (name, value) in &self.0 {
            if name != PARAMETERS {
                info.entry(name.as_str()).or_insert_with(|| value.clone());
            } else if let (Some(Value::Object(known)), Value::Object(own)) = (info.get_mut(PARAMETERS), value) {
                for (name, value) in own {
                    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                    known.entry(name.as_str()).or_insert(Value::String(text));
                }
            }
        }
    }
}

impl TryFrom<Map<String, Value>> for InfoEntries {
    type Error = Error;

    fn try_from(entries: Map<String, Value>) -> Result<Self> {
        Self::new(entries)
    }
}

fn is_parameters(value: &Value) -> bool {
    value.as_object().is_some_and(|found| !found.values().any(Value::is_null))
}

/// Returns whether the value has at most this many levels of lists and objects.
fn is_flat(value: &Value, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else { return !matches!(value, Value::Array(_) | Value::Object(_)) };
    match value {
        Value::Array(values) => values.iter().all(|value| is_flat(value, below)),
        Value::Object(values) => values.values().all(|value| is_flat(value, below)),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entries(value: Value) -> Result<InfoEntries> {
        let Value::Object(entries) = value else { panic!("not an object: {value}") };
        InfoEntries::new(entries)
    }

    #[track_caller]
    fn check_refused(value: Value, expected: &str) {
        assert_eq!(entries(value).unwrap_err().to_string(), expected);
    }

    #[test]
    fn entries_join_those_of_the_commit() {
        let own = json!({"team": {"name": "a", "ids": [1, null]}, "none": null, "userName": "Ada",
            "operationParameters": {"mode": "mine", "from": {"a": 1}, "n": 7}});
        let mut info = json!({"operation": "WRITE", "operationParameters": {"mode": "Append"}});
        entries(own).unwrap().add_to(info.as_object_mut().unwrap());
        let expected = json!({"operation": "WRITE",
            "operationParameters": {"mode": "Append", "from": "{\"a\":1}", "n": "7"},
            "team": {"name": "a", "ids": [1, null]}, "none": null, "userName": "Ada"});
        assert_eq!(info, expected);
    }

    #[test]
    fn entries_of_lakebed_are_refused_in_any_case() {
        for name in RECORDED.into_iter().chain(["OPERATION", "TimeStamp"]) {
            let mut given = Map::new();
            given.insert(name.to_owned(), Value::from(1));
            let expected = format!("{name}: lakebed records this entry itself: choose another name");
            check_refused(Value::Object(given), &expected);
        }
        check_refused(
            json!({"userMetadata": "a"}),
            "userMetadata: this entry has an option of its own: pass it as user_metadata",
        );
    }

    #[test]
    fn entries_that_others_cannot_read_are_refused() {
        check_refused(json!({"userName": 1}), "userName: other readers expect a string here");
        check_refused(json!({"kernelVersion": null}), "kernelVersion: other readers expect a string here");
        let objects = "job: other readers expect an object with string values here";
        check_refused(json!({"job": "nightly"}), objects);
        check_refused(json!({"job": {"jobId": 1}}), objects);
        let parameters = "operationParameters: operationParameters must be an object without nulls";
        check_refused(json!({"operationParameters": "a"}), parameters);
        check_refused(json!({"operationParameters": {"a": null}}), parameters);
        check_refused(json!({" ": 1}), "\" \": the name of an entry is empty");
        assert!(entries(json!({"job": {"jobId": "1"}, "userId": "a"})).is_ok());
    }

    #[test]
    fn deep_and_large_entries_are_refused() {
        let nested = |levels| (0..levels).fold(Value::from(1), |value, _| json!([value]));
        assert!(entries(json!({"a": nested(32)})).is_ok());
        check_refused(json!({"a": nested(33)}), "a: its value has more than 32 levels of lists and objects");
        let expected = "all entries: they have 1048577 bytes as JSON, and 1048576 are allowed";
        check_refused(json!({"a": "x".repeat((1 << 20) - 7)}), expected);
        assert!(entries(json!({"a": "x".repeat((1 << 20) - 8)})).is_ok());
    }
}
