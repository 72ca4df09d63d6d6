//! The notes on a column: the entries that Delta keeps in a field's metadata. The fields of Arrow
//! schemas have them under the same keys, as strings.

use std::collections::HashMap;

use serde_json::Value;

use super::char_varchar::CHAR_VARCHAR;
use super::types::FieldMetadata;
use crate::{Error, Result};

/// The key of a column's comment.
pub const COMMENT: &str = "comment";
/// The key of the expression that computes a generated column.
pub const GENERATION_EXPRESSION: &str = "delta.generationExpression";
/// The key of a column's default: the value of rows that do not give one.
pub const CURRENT_DEFAULT: &str = "CURRENT_DEFAULT";
/// The key of a column's invariant: a condition on its values.
pub const INVARIANTS: &str = "delta.invariants";
/// The key of the first value of an identity column.
pub const IDENTITY_START: &str = "delta.identity.start";
/// The key of the step between consecutive values of an identity column.
pub const IDENTITY_STEP: &str = "delta.identity.step";
/// The key of the flag that allows rows to have values of their own in an identity column.
pub const IDENTITY_ALLOW_GIVEN: &str = "delta.identity.allowExplicitInsert";

/// The notes that are strings.
const TEXTS: [&str; 5] = [COMMENT, GENERATION_EXPRESSION, CURRENT_DEFAULT, INVARIANTS, CHAR_VARCHAR];
/// The notes that are whole numbers.
const NUMBERS: [&str; 2] = [IDENTITY_START, IDENTITY_STEP];

/// The key of the entries of the caller in the metadata of an Arrow field: an object of JSON.
const OWN: &str = "lakebed.metadata";

/// The keys that Delta and Spark use, beside those that begin with one of [`RESERVED_PREFIXES`].
const RESERVED: [&str; 5] = [COMMENT, CURRENT_DEFAULT, "EXISTS_DEFAULT", CHAR_VARCHAR, OWN];
const RESERVED_PREFIXES: [&str; 4] = ["delta.", "__", "parquet.", "collations"];

/// Refuses entries of a column's metadata that Delta or Spark would understand, and values that no
/// reader expects there. Null stands for an entry that is removed.
pub fn check_own_metadata<'a>(entries: impl IntoIterator<Item = (&'a String, &'a Value)>) -> Result<()> {
    for (key, value) in entries {
        let lower = key.to_ascii_lowercase();
        let is_reserved = RESERVED.iter().any(|reserved| reserved.eq_ignore_ascii_case(key))
            || RESERVED_PREFIXES.iter().any(|prefix| lower.starts_with(prefix));
        if key.trim().is_empty() || is_reserved {
            let why = if is_reserved { "Delta has a meaning for this key: choose another one" } else { "the key is empty" };
            return Err(Error::invalid_input(format!("metadata: {key:?}: {why}")));
        }
        if matches!(value, Value::Array(_) | Value::Object(_)) {
            return Err(Error::invalid_input(format!("metadata: {key:?}: the value must be a string, a number or a boolean")));
        }
    }
    Ok(())
}

/// Returns the notes in the metadata of an Arrow field. Other metadata is left out, including ids
/// and names of column mapping, which each table assigns itself. `place` is for messages.
///
/// # Errors
/// If a note is not a value of its kind.
pub(super) fn metadata_from_arrow(metadata: &HashMap<String, String>, place: &str) -> Result<FieldMetadata> {
    let mut notes = FieldMetadata::new();
    let refused =
        |key: &str, text: &str, wanted: &str| Error::invalid_input(format!("column {place}: {key} is {text:?}, not {wanted}"));
    for (key, text) in metadata {
        let key = key.as_str();
        let value = if TEXTS.contains(&key) {
            Value::from(text.as_str())
        } else if NUMBERS.contains(&key) {
            let number: i64 = text.trim().parse().map_err(|_| refused(key, text, "a whole number of 64 bits"))?;
            Value::from(number)
        } else if key == IDENTITY_ALLOW_GIVEN {
            let flag = text.trim().to_ascii_lowercase();
            Value::from(flag.parse::<bool>().map_err(|_| refused(key, text, "true or false"))?)
        } else if key == OWN {
            let entries: serde_json::Map<String, Value> =
                serde_json::from_str(text).map_err(|_| refused(key, text, "an object"))?;
            check_own_metadata(&entries).map_err(|error| error.within(format!("column {place}")))?;
            notes.extend(entries.into_iter().filter(|(_, value)| !value.is_null()));
            continue;
        } else {
            continue;
        };
        notes.insert(key.to_owned(), value);
    }
    Ok(notes)
}

/// Returns the metadata of an Arrow field with these notes. This is the inverse of
/// [`metadata_from_arrow`].
pub(super) fn metadata_to_arrow(notes: &FieldMetadata) -> HashMap<String, String> {
    let is_kept = |key: &str| TEXTS.contains(&key) || NUMBERS.contains(&key) || key == IDENTITY_ALLOW_GIVEN;
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut kept: HashMap<String, String> =
        notes.iter().filter(|(key, _)| is_kept(key)).map(|(key, value)| (key.clone(), text(value))).collect();
    let own: serde_json::Map<String, Value> = notes
        .iter()
        .filter(|entry| !is_kept(entry.0) && check_own_metadata([*entry]).is_ok())
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    if !own.is_empty() {
        kept.insert(OWN.to_owned(), Value::Object(own).to_string());
    }
    kept
}
