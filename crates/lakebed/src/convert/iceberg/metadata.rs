//! The content of a metadata file: the current schema, the partition specs, and the current
//! snapshot.

use std::collections::HashMap;
use std::io::Read;

use serde::Deserialize;
use serde_json::Value as Json;

use crate::{Error, Result};

/// The versions of the format that can be converted.
const VERSIONS: [i64; 3] = [1, 2, 3];
/// The first bytes of a file that is compressed with gzip.
const GZIP: &[u8] = &[0x1f, 0x8b];
/// The most bytes that a metadata file may have after decompression.
const MAX_BYTES: u64 = 1 << 30;

/// The current state of an Iceberg table.
#[derive(Debug)]
pub(super) struct TableMetadata {
    pub(super) location: String,
    /// The highest id of any column that the table ever had.
    pub(super) last_column_id: i64,
    pub(super) schema: Json,
    pub(super) specs: Vec<PartitionSpec>,
    /// The id of the spec of new files.
    pub(super) default_spec: i32,
    pub(super) properties: HashMap<String, String>,
    /// The path of the current snapshot's manifest list. It is `None` for a table that never had
    /// rows.
    pub(super) manifest_list: Option<String>,
}

/// A way to partition files.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct PartitionSpec {
    pub(super) spec_id: i32,
    pub(super) fields: Vec<PartitionField>,
}

/// A field of a partition spec.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct PartitionField {
    /// The column of which the values are computed. Transforms of several columns have none.
    pub(super) source_id: Option<i32>,
    /// The id of the value in manifests. The first version of the format may leave it out.
    pub(super) field_id: Option<i32>,
    pub(super) transform: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Content {
    format_version: i64,
    location: String,
    last_column_id: i64,
    /// Only in the first version of the format.
    schema: Option<Json>,
    #[serde(default)]
    schemas: Vec<Json>,
    current_schema_id: Option<i64>,
    /// Only in the first version of the format.
    partition_spec: Option<Vec<PartitionField>>,
    #[serde(default)]
    partition_specs: Vec<PartitionSpec>,
    #[serde(default)]
    default_spec_id: i32,
    #[serde(default)]
    properties: HashMap<String, String>,
    current_snapshot_id: Option<i64>,
    #[serde(default)]
    snapshots: Vec<Snapshot>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Snapshot {
    snapshot_id: i64,
    manifest_list: Option<String>,
    /// The key of an encrypted manifest list.
    key_id: Option<String>,
}

impl TableMetadata {
    /// Parses a metadata file, which may be compressed. `name` is for messages.
    pub(super) fn parse(name: &str, bytes: &[u8]) -> Result<Self> {
        let corrupt =
            |error: &dyn std::fmt::Display| Error::corrupt(name, format!("this Iceberg metadata cannot be read: {error}"));
        let mut unpacked = Vec::new();
        if bytes.starts_with(GZIP) {
            let read = flate2::read::GzDecoder::new(bytes).take(MAX_BYTES).read_to_end(&mut unpacked);
            read.map_err(|error| corrupt(&error))?;
        } else {
            unpacked.extend_from_slice(bytes);
        }
        // The version decides about the other fields, so it is checked first.
        let json: Json = serde_json::from_slice(&unpacked).map_err(|error| corrupt(&error))?;
        let version = json.get("format-version").and_then(Json::as_i64).unwrap_or_default();
        if !VERSIONS.contains(&version) {
            return Err(Error::invalid_input(format!(
                "{name}: the format version of this Iceberg table is {version}, and lakebed reads versions 1 to 3"
            )));
        }
        let content: Content = serde_json::from_value(json).map_err(|error| corrupt(&error))?;
        content.current().map_err(|error| error.within(name))
    }

    /// Returns the spec with this id.
    pub(super) fn spec(&self, id: i32) -> Result<&PartitionSpec> {
        let found = self.specs.iter().find(|spec| spec.spec_id == id);
        found.ok_or_else(|| Error::corrupt("partition-specs", format!("there is no partition spec {id}")))
    }
}

impl Content {
    fn current(self) -> Result<TableMetadata> {
        let corrupt = |what: String| Error::corrupt(format!("version {}", self.format_version), what);
        let is_current = |schema: &Json| schema.get("schema-id").and_then(Json::as_i64) == self.current_schema_id;
        let schema = match self.current_schema_id {
            Some(_) if !self.schemas.is_empty() => self.schemas.iter().find(|schema| is_current(schema)).cloned(),
            _ => self.schema.clone(),
        };
        let schema = schema.ok_or_else(|| corrupt("the current schema is missing".to_owned()))?;
        let mut specs = self.partition_specs;
        if specs.is_empty() {
            specs.push(PartitionSpec { spec_id: self.default_spec_id, fields: self.partition_spec.unwrap_or_default() });
        }
        for spec in &mut specs {
            for (field, id) in spec.fields.iter_mut().zip(FIRST_PARTITION_FIELD..) {
                field.field_id.get_or_insert(id);
            }
        }
        let manifest_list = match self.current_snapshot_id.filter(|id| *id != NO_SNAPSHOT) {
            None => None,
            Some(id) => {
                let snapshot = self.snapshots.into_iter().find(|snapshot| snapshot.snapshot_id == id);
                let snapshot = snapshot.ok_or_else(|| corrupt(format!("the current snapshot {id} is missing")))?;
                if snapshot.key_id.is_some() {
                    return Err(Error::invalid_input("this Iceberg table is encrypted, and Delta tables cannot be"));
                }
                Some(snapshot.manifest_list.ok_or_else(|| {
                    Error::invalid_input(format!(
                        "the current snapshot {id} of the Iceberg table has no manifest list, as in the oldest tables: commit to \
                         the table with a newer version of Iceberg first"
                    ))
                })?)
            }
        };
        Ok(TableMetadata {
            location: self.location,
            last_column_id: self.last_column_id,
            schema,
            specs,
            default_spec: self.default_spec_id,
            properties: self.properties,
            manifest_list,
        })
    }
}

/// The id of the current snapshot of a table that has none.
const NO_SNAPSHOT: i64 = -1;
/// The id of the first field of a spec whose fields have no ids.
const FIRST_PARTITION_FIELD: i32 = 1000;
