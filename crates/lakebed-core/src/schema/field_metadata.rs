//! The notes on a column: what Delta keeps in a field's metadata. The fields of Arrow schemas carry
//! them under the same keys, as text.

use std::collections::HashMap;

use serde_json::Value;

use super::char_varchar::CHAR_VARCHAR;
use super::types::FieldMetadata;
use crate::{Error, Result};

/// Under which key a column keeps words for people.
pub const COMMENT: &str = "comment";
/// Under which key a column keeps the expression that computes it.
pub const GENERATION_EXPRESSION: &str = "delta.generationExpression";
/// Under which key a column keeps the value of rows that do not give one.
pub const CURRENT_DEFAULT: &str = "CURRENT_DEFAULT";
/// Under which key a column keeps a condition on its values.
pub const INVARIANTS: &str = "delta.invariants";
/// Under which key an identity column keeps its first value.
pub const IDENTITY_START: &str = "delta.identity.start";
/// Under which key an identity column keeps how far a value is from the one before.
pub const IDENTITY_STEP: &str = "delta.identity.step";
/// Under which key an identity column keeps whether rows may bring values of their own.
pub const IDENTITY_ALLOW_GIVEN: &str = "delta.identity.allowExplicitInsert";

/// The notes that are texts.
const TEXTS: [&str; 5] = [COMMENT, GENERATION_EXPRESSION, CURRENT_DEFAULT, INVARIANTS, CHAR_VARCHAR];
/// The notes that are whole numbers.
const NUMBERS: [&str; 2] = [IDENTITY_START, IDENTITY_STEP];

/// Returns the notes among the metadata of an Arrow field. Other metadata stays behind: ids and
/// names of column mapping too, which each table gives anew. `place` is for messages.
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
        } else {
            continue;
        };
        notes.insert(key.to_owned(), value);
    }
    Ok(notes)
}

/// Returns the inverse of [`metadata_from_arrow`].
pub(super) fn metadata_to_arrow(notes: &FieldMetadata) -> HashMap<String, String> {
    let is_kept = |key: &str| TEXTS.contains(&key) || NUMBERS.contains(&key) || key == IDENTITY_ALLOW_GIVEN;
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    notes.iter().filter(|(key, _)| is_kept(key)).map(|(key, value)| (key.clone(), text(value))).collect()
}
