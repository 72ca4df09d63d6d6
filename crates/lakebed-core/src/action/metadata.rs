use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::text_map;

/// Schema, partitioning and properties of a table. PROTOCOL "Change Metadata".
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// A GUID. A table with another id at the same location is another table.
    pub id: String,
    /// A name, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A description, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The encoding of data files.
    #[serde(default)]
    pub format: Format,
    /// The schema as JSON. [`crate::schema::parse`] parses it.
    pub schema_string: String,
    /// Logical names, in the order of the partition directories.
    #[serde(default)]
    pub partition_columns: Vec<String>,
    /// The properties. Some writers store null values, which mean that the property is not set.
    #[serde(default, serialize_with = "text_map::sorted")]
    pub configuration: HashMap<String, Option<String>>,
    /// Milliseconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_time: Option<i64>,
}

/// The encoding of data files. It is always Parquet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Format {
    /// The name of the format, `parquet`.
    pub provider: String,
    /// The options of the format. They are not used.
    #[serde(default, serialize_with = "text_map::sorted")]
    pub options: HashMap<String, Option<String>>,
}

impl Default for Format {
    fn default() -> Self {
        Self { provider: "parquet".to_owned(), options: HashMap::new() }
    }
}

impl Metadata {
    /// Returns a property's value, if it is set.
    pub fn property(&self, name: &str) -> Option<&str> {
        self.configuration.get(name)?.as_deref()
    }
}
