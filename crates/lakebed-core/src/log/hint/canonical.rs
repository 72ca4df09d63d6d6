//! The checksum of `_last_checkpoint`: MD5 of a canonical form of its JSON. PROTOCOL "JSON
//! checksum".
//!
//! The form is a list of `path=value`, one entry for each leaf. The specification sorts it by path,
//! and Delta Spark by the whole entry. The orders differ if an array holds more than ten scalars
//! (`"a"+1="x"` and `"a"+10="y"`). [`checksums`] returns both checksums.

use std::collections::HashSet;
use std::fmt::{self, Write};

use md5::{Digest, Md5};
use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// The key of the checksum itself.
pub(super) const CHECKSUM_KEY: &str = "checksum";

/// Returns the checksum in the specification's order, and the one in Delta Spark's order if it
/// differs.
pub(super) fn checksums(fields: &Map<String, Value>) -> Vec<String> {
    let mut leaves = Vec::new();
    for (key, value) in fields.iter().filter(|(key, _)| *key != CHECKSUM_KEY) {
        collect_leaves(quote(key), value, &mut leaves);
    }
    leaves.sort();
    let by_path: Vec<String> = leaves.into_iter().map(|(path, value)| format!("{path}={value}")).collect();
    let mut by_entry = by_path.clone();
    by_entry.sort();
    let mut checksums = vec![md5_hex(&by_path)];
    if by_entry != by_path {
        checksums.push(md5_hex(&by_entry));
    }
    checksums
}

fn collect_leaves(path: String, value: &Value, leaves: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                collect_leaves(format!("{path}+{}", quote(key)), value, leaves);
            }
        }
        Value::Array(elements) => {
            for (index, value) in elements.iter().enumerate() {
                collect_leaves(format!("{path}+{index}"), value, leaves);
            }
        }
        Value::String(text) => leaves.push((path, quote(text))),
        Value::Null | Value::Bool(_) | Value::Number(_) => leaves.push((path, value.to_string())),
    }
}

/// Returns the string in quotes with every byte escaped except unreserved ones.
fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => quoted.push(char::from(byte)),
            _ => push_hex(&mut quoted, "%", byte),
        }
    }
    quoted.push('"');
    quoted
}

fn push_hex(text: &mut String, before: &str, byte: u8) {
    // Writing to a string cannot fail.
    let _ = write!(text, "{before}{byte:02X}");
}

fn md5_hex(entries: &[String]) -> String {
    let mut hex = String::with_capacity(32);
    for byte in Md5::digest(entries.join(",")) {
        push_hex(&mut hex, "", byte);
    }
    hex.make_ascii_lowercase();
    hex
}

/// Fails if the text is not JSON, or if an object has a key twice.
pub(super) fn check_unique_keys(text: &[u8]) -> Result<(), serde_json::Error> {
    serde_json::from_slice::<UniqueKeys>(text).map(|_| ())
}

struct UniqueKeys;

impl<'de> Deserialize<'de> for UniqueKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueKeysVisitor)
    }
}

struct UniqueKeysVisitor;

impl<'de> Visitor<'de> for UniqueKeysVisitor {
    type Value = UniqueKeys;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_i64<E>(self, _: i64) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_u64<E>(self, _: u64) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_f64<E>(self, _: f64) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_str<E>(self, _: &str) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_unit<E>(self) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<UniqueKeys, A::Error> {
        while elements.next_element::<UniqueKeys>()?.is_some() {}
        Ok(UniqueKeys)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<UniqueKeys, A::Error> {
        let mut keys = HashSet::new();
        while let Some((key, UniqueKeys)) = fields.next_entry::<String, UniqueKeys>()? {
            if !keys.insert(key) {
                return Err(A::Error::custom("an object has the same key twice"));
            }
        }
        Ok(UniqueKeys)
    }
}
