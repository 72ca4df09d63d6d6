//! `_last_checkpoint`: the hint at the newest checkpoint. Any of its fields may be outdated or
//! wrong.
//!
//! [`parse`] refuses a hint that cannot be trusted: a torn file, or a file with a wrong checksum.
//! PROTOCOL "Last Checkpoint File Schema".

mod canonical;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use crate::action::{Action, Sidecar, json};
use crate::path::HINT_NAME;
use crate::{Error, Result};

/// The content of the file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Hint {
    /// The version of the checkpoint.
    pub version: u64,
    /// The number of actions in the checkpoint.
    pub size: Option<i64>,
    /// The number of files of a multi-part checkpoint.
    pub parts: Option<u32>,
    /// The total size of the checkpoint's files.
    pub size_in_bytes: Option<i64>,
    /// The number of files in the table.
    pub num_of_add_files: Option<i64>,
    /// The schema of the checkpoint's files as Delta's schema JSON.
    pub checkpoint_schema: Option<Value>,
    /// Delta Spark's fields about a V2 checkpoint.
    pub v2_checkpoint: Option<V2Hint>,
    /// Key-value pairs of the writer.
    pub tags: Option<Map<String, Value>>,
}

/// Delta Spark's fields about a V2 checkpoint.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct V2Hint {
    /// The name of the top file.
    pub path: String,
    /// The size of the top file.
    pub size_in_bytes: Option<i64>,
    /// The modification time of the top file in milliseconds since the epoch.
    pub modification_time: Option<i64>,
    /// All actions except `add`, `remove` and `sidecar`, or `None` if they are unknown.
    pub non_file_actions: Option<Vec<Action>>,
    /// All sidecars, or `None` if they are unknown.
    pub sidecar_files: Option<Vec<Sidecar>>,
}

/// Parses the file. An error says why the hint cannot be used. Readers can work without it.
pub fn parse(bytes: &[u8]) -> Result<Hint> {
    let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes).trim_ascii();
    if text.is_empty() {
        return Err(no_hint("it is empty"));
    }
    canonical::check_unique_keys(text).map_err(|error| no_hint("it is not valid JSON").with_source(error))?;
    let fields: Map<String, Value> =
        serde_json::from_slice(text).map_err(|error| no_hint("it is not a JSON object").with_source(error))?;
    if let Some(stored) = fields.get(canonical::CHECKSUM_KEY).filter(|stored| !stored.is_null())
        && !canonical::checksums(&fields).iter().any(|checksum| Some(checksum.as_str()) == stored.as_str())
    {
        return Err(no_hint(format!("its checksum is not {stored}: the file is incomplete or was changed")));
    }
    from_fields(&fields).ok_or_else(|| no_hint("it names no version"))
}

fn no_hint(why: impl std::fmt::Display) -> Error {
    Error::corrupt(HINT_NAME, why)
}

fn from_fields(fields: &Map<String, Value>) -> Option<Hint> {
    Some(Hint {
        version: u64::try_from(long_of(fields, "version")?).ok()?,
        size: long_of(fields, "size"),
        parts: long_of(fields, "parts").and_then(|parts| u32::try_from(parts).ok()),
        size_in_bytes: long_of(fields, "sizeInBytes"),
        num_of_add_files: long_of(fields, "numOfAddFiles"),
        checkpoint_schema: fields.get("checkpointSchema").filter(|schema| schema.is_object()).cloned(),
        v2_checkpoint: fields.get("v2Checkpoint").and_then(Value::as_object).and_then(v2_from_fields),
        tags: fields.get("tags").and_then(Value::as_object).cloned(),
    })
}

fn v2_from_fields(fields: &Map<String, Value>) -> Option<V2Hint> {
    let list = |key: &str| fields.get(key).and_then(Value::as_array);
    Some(V2Hint {
        path: fields.get("path")?.as_str()?.to_owned(),
        size_in_bytes: long_of(fields, "sizeInBytes"),
        modification_time: long_of(fields, "modificationTime"),
        non_file_actions: list("nonFileActions").and_then(|actions| all_actions(actions)),
        sidecar_files: list("sidecarFiles").and_then(|sidecars| all_sidecars(sidecars)),
    })
}

/// Returns all actions. It returns `None` if one cannot be parsed, because an incomplete list would
/// look complete.
fn all_actions(lines: &[Value]) -> Option<Vec<Action>> {
    let actions: Result<Vec<_>> = lines.iter().map(|line| json::from_value(line.clone())).collect();
    Some(actions.ok()?.into_iter().flatten().collect())
}

fn all_sidecars(sidecars: &[Value]) -> Option<Vec<Sidecar>> {
    sidecars
        .iter()
        .map(|sidecar| {
            let line = Map::from_iter([("sidecar".to_owned(), sidecar.clone())]);
            match json::from_value(Value::Object(line)) {
                Ok(Some(Action::Sidecar(sidecar))) => Some(sidecar),
                _ => None,
            }
        })
        .collect()
}

fn long_of(fields: &Map<String, Value>, key: &str) -> Option<i64> {
    json::long(fields.get(key)?)
}

impl Hint {
    /// Returns the content of the file, with its checksum.
    pub fn to_json(&self) -> Result<String> {
        let mut fields = self.to_fields()?;
        // If the rules can be read in two ways with two checksums, no checksum is written, because
        // some readers would find either one wrong.
        if let [checksum] = canonical::checksums(&fields).as_slice() {
            fields.insert(canonical::CHECKSUM_KEY.to_owned(), Value::String(checksum.clone()));
        }
        Ok(Value::Object(fields).to_string())
    }

    /// Returns the fields of the file. `version`, `size` and `parts` come first, so a client that
    /// reads a torn file without a check gets all three from one write.
    fn to_fields(&self) -> Result<Map<String, Value>> {
        let mut fields = Map::new();
        fields.insert("version".to_owned(), self.version.into());
        insert(&mut fields, "size", self.size);
        insert(&mut fields, "parts", self.parts);
        insert(&mut fields, "sizeInBytes", self.size_in_bytes);
        insert(&mut fields, "numOfAddFiles", self.num_of_add_files);
        insert(&mut fields, "checkpointSchema", self.checkpoint_schema.clone());
        insert(&mut fields, "v2Checkpoint", self.v2_checkpoint.as_ref().map(V2Hint::to_value).transpose()?);
        insert(&mut fields, "tags", self.tags.clone());
        Ok(fields)
    }
}

impl V2Hint {
    fn to_value(&self) -> Result<Value> {
        let mut fields = Map::new();
        fields.insert("path".to_owned(), self.path.clone().into());
        insert(&mut fields, "sizeInBytes", self.size_in_bytes);
        insert(&mut fields, "modificationTime", self.modification_time);
        let actions =
            self.non_file_actions.as_ref().map(|actions| actions.iter().map(Action::to_value).collect::<Result<Vec<_>>>());
        insert(&mut fields, "nonFileActions", actions.transpose()?);
        let sidecars = self.sidecar_files.as_ref().map(|sidecars| sidecars.iter().map(sidecar_value).collect::<Result<Vec<_>>>());
        insert(&mut fields, "sidecarFiles", sidecars.transpose()?);
        Ok(Value::Object(fields))
    }
}

fn sidecar_value(sidecar: &Sidecar) -> Result<Value> {
    match Action::Sidecar(sidecar.clone()).to_value()? {
        Value::Object(mut line) => Ok(line.remove("sidecar").unwrap_or_default()),
        _ => Err(Error::internal("an action that is not a JSON object")),
    }
}

fn insert(fields: &mut Map<String, Value>, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        fields.insert(key.to_owned(), value.into());
    }
}
