//! How the data files of a table store its columns.

use lakebed_core::schema::mapping::{MappingMode, physical_name, to_physical};
use lakebed_core::schema::{DataType, PrimitiveType, StructField, StructType};

use crate::scan::row_tracking::MaterializedColumns;
use crate::scan::spec::ScanSpec;
use crate::{Error, Result};

/// How the data files of a table store its columns.
pub(super) struct TableLayout {
    /// The URL, for messages.
    pub(super) url: String,
    pub(super) mapping_mode: MappingMode,
    /// The schema with physical names.
    pub(super) physical_schema: StructType,
    pub(super) materialized: MaterializedColumns,
    partition_columns: Vec<StructField>,
}

impl TableLayout {
    pub(super) fn of(spec: &ScanSpec) -> Result<Self> {
        let partition_columns = spec.partition_columns.iter().map(|name| match spec.schema.field(name) {
            Some(field) => Ok(field.clone()),
            None => Err(Error::corrupt(&spec.table_url, format!("partition column {name} is not in the schema"))),
        });
        Ok(Self {
            url: spec.table_url.clone(),
            mapping_mode: spec.mapping_mode,
            physical_schema: to_physical(&spec.schema, spec.mapping_mode),
            materialized: spec.materialized.clone(),
            partition_columns: partition_columns.collect::<Result<_>>()?,
        })
    }

    /// Returns the physical name and the type of each partition column.
    pub(super) fn partition_columns(&self) -> impl Iterator<Item = (&str, PrimitiveType)> {
        self.partition_columns.iter().map(|field| {
            let primitive = match field.data_type {
                DataType::Primitive(primitive) => primitive,
                // Nobody can write such a table. Its partition values are strings.
                _ => PrimitiveType::String,
            };
            (physical_name(field, self.mapping_mode), primitive)
        })
    }

    /// Returns the position of a partition column with this logical name.
    pub(super) fn partition_position(&self, name: &str) -> Option<usize> {
        self.partition_columns.iter().position(|field| field.name == name)
    }
}
