//! The parts of a definition that lakebed adds by itself: names and ids of columns in data files,
//! and the hidden columns of row tracking.

use std::collections::HashMap;

use lakebed_core::property::TableProperties;
use lakebed_core::schema::StructType;
use lakebed_core::schema::evolve::Mapping;
use lakebed_core::schema::mapping::{MAX_COLUMN_ID, MappingMode};
use lakebed_io::env::Env;

/// Returns the schema with names and ids for the columns that lack them, if column mapping is
/// enabled.
pub(super) fn with_mapping(
    schema: &StructType,
    properties: &TableProperties,
    configuration: &mut HashMap<String, Option<String>>,
    env: &Env,
) -> StructType {
    let mode = properties.column_mapping_mode;
    if mode == MappingMode::None {
        return schema.clone();
    }
    let mut mapping = Mapping {
        max_column_id: properties.column_mapping_max_column_id.unwrap_or(0),
        new_name: Some(|| format!("col-{}", env.new_uuid())),
        nested_ids: properties.iceberg_compat_v2,
    };
    let schema = mapping.complete(schema, mode);
    configuration.insert(MAX_COLUMN_ID.to_owned(), Some(mapping.max_column_id.to_string()));
    schema
}

/// PROTOCOL "Row Tracking": adds the names of the columns that keep the row ids of rows that move
/// between files. No other column has these names.
pub(super) fn add_row_tracking_columns(
    properties: &TableProperties,
    configuration: &mut HashMap<String, Option<String>>,
    env: &Env,
) {
    if properties.row_tracking {
        let mut set = |key: &str, name: String| {
            configuration.entry(format!("delta.rowTracking.{key}")).or_insert(Some(name));
        };
        set("materializedRowIdColumnName", format!("_row-id-col-{}", env.new_uuid()));
        set("materializedRowCommitVersionColumnName", format!("_row-commit-version-col-{}", env.new_uuid()));
    }
}
