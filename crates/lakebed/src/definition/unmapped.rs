//! The definition of a table that no longer has column mapping.

use lakebed_core::property::TableProperties;
use lakebed_core::schema::mapping::{self, FIELD_ID, MappingMode, NESTED_IDS, PHYSICAL_NAME, physical_path};
use lakebed_core::schema::{StructType, parse};
use serde_json::Value;

use super::columns::check_columns;
use super::value::Definition;
use crate::clustering::{clustering_domain, leaf_names};
use crate::{Error, Result, Snapshot};

/// The properties of column mapping. `hasDroppedOrRenamed` stays, because it never goes back.
const PROPERTIES: [&str; 2] = [mapping::MODE, mapping::MAX_COLUMN_ID];

impl Definition {
    /// Returns the definition of a table without column mapping. Its files must have the logical
    /// names of the columns.
    pub(crate) async fn without_column_mapping(snapshot: &Snapshot) -> Result<Self> {
        let mut definition = Self::of(snapshot).await?;
        let schema = without_mapping(snapshot.schema());
        PROPERTIES.iter().for_each(|name| drop(definition.metadata.configuration.remove(*name)));
        let properties = TableProperties::parse(&definition.metadata.configuration)?;
        check_columns(&schema, &properties)?;
        definition.metadata.schema_string = schema.to_json();
        // A schema that cannot be parsed again must not become the schema of a table.
        parse(&definition.metadata.schema_string)?;
        definition.changes_metadata = definition.metadata != *snapshot.metadata();
        let logical = definition.clustering.iter().map(|path| logical_path(snapshot, path)).collect::<Result<Vec<_>>>()?;
        if logical != definition.clustering {
            definition.domains = vec![clustering_domain(&logical)];
            definition.clustering = logical;
        }
        Ok(definition)
    }
}

/// Returns whether a schema has names or ids of column mapping.
pub(crate) fn has_mapping(schema: &StructType) -> bool {
    *schema != without_mapping(schema)
}

/// Returns the logical names of a column that is given by its physical names.
fn logical_path(snapshot: &Snapshot, physical: &[String]) -> Result<Vec<String>> {
    let mode: MappingMode = snapshot.mapping_mode();
    let is_same = |names: &Vec<String>| {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        physical_path(snapshot.schema(), &names, mode).is_some_and(|path| path == physical)
    };
    leaf_names(snapshot.schema(), Vec::new()).into_iter().find(is_same).ok_or_else(|| {
        Error::corrupt(snapshot.url(), format!("no column has the name {} of a clustering column", physical.join(".")))
    })
}

/// Removes names and ids that are left from a time when the table had column mapping. Without it
/// they have no meaning.
pub(super) fn without_mapping(schema: &StructType) -> StructType {
    let mut schema = schema.clone();
    schema.each_field_mut(&mut |field| {
        [PHYSICAL_NAME, FIELD_ID, NESTED_IDS].iter().for_each(|key| drop::<Option<Value>>(field.metadata.remove(*key)));
    });
    schema
}
