//! Definitions that a write derives from the definition of a table: with more columns, or with
//! another schema.

use lakebed_core::action::Metadata;
use lakebed_core::feature::given::GivenProperties;
use lakebed_core::feature::upgrade::{upgrade, used_features};
use lakebed_core::property::TableProperties;
use lakebed_core::schema::arrow::nullable_type_to_arrow;
use lakebed_core::schema::evolve::{MergeOptions, merge};
use lakebed_core::schema::mapping::{FIELD_ID, NESTED_IDS, PHYSICAL_NAME};
use lakebed_core::schema::{DataType, PrimitiveType, StructField, StructType};
use lakebed_io::env::Env;

use super::columns::{check_columns, check_constraints, partition_columns_of, refuse_filling_of_new, with_checked_metadata};
use super::complete::{add_row_tracking_columns, with_mapping};
use super::iceberg::{check_iceberg, check_same_partitioning};
use super::new_table::NewTable;
use super::value::Definition;
use crate::clustering::clustering_paths;
use crate::{Error, Result, Snapshot};

impl Definition {
    /// Adds the columns of `data` that the table lacks, and widens types where the table allows it.
    pub(crate) fn with_columns_of(self, snapshot: &Snapshot, data: &StructType, env: &Env) -> Result<Self> {
        self.with_checked_columns_of(snapshot, data, env).map_err(Error::of_caller)
    }

    fn with_checked_columns_of(mut self, snapshot: &Snapshot, data: &StructType, env: &Env) -> Result<Self> {
        let found = data_schema(snapshot.schema(), data);
        let merged = merge(snapshot.schema(), &found, MergeOptions { widen: snapshot.properties().type_widening });
        if merged == *snapshot.schema() {
            return Ok(self);
        }
        let schema = with_mapping(&merged, snapshot.properties(), &mut self.metadata.configuration, env);
        check_columns(&schema, snapshot.properties())?;
        refuse_filling_of_new(snapshot.schema(), &schema)?;
        self.raise_protocol(used_features(&schema, snapshot.properties(), false))?;
        self.metadata.schema_string = schema.to_json();
        self.changes_metadata = true;
        Ok(self)
    }

    /// Returns the table with the schema, partitioning and clustering of another. The table keeps
    /// its id and its properties, and also gets the given properties. Columns that did not change
    /// keep their names in data files. Name, description and constraints of `new` are not used.
    pub(crate) fn replaced(snapshot: &Snapshot, new: &NewTable, env: &Env) -> Result<Self> {
        Self::replaced_checked(snapshot, new, env).map_err(Error::of_caller)
    }

    fn replaced_checked(snapshot: &Snapshot, new: &NewTable, env: &Env) -> Result<Self> {
        let mode = snapshot.mapping_mode();
        check_columns(&new.schema, snapshot.properties())?;
        let partition_columns = partition_columns_of(&new.schema, &new.partition_by)?;
        let mut metadata = Metadata { partition_columns, ..snapshot.metadata().clone() };
        let kept = with_checked_metadata(&with_metadata_of(&new.schema, snapshot.schema()), &metadata.partition_columns)?;
        let given = GivenProperties::parse(new.properties.iter().map(|(name, value)| (name.as_str(), value.as_str())))?;
        metadata.configuration.extend(given.configuration);
        let properties = TableProperties::parse(&metadata.configuration)?;
        if properties.column_mapping_mode != mode {
            return Err(Error::invalid_input("a write cannot change delta.columnMapping.mode"));
        }
        let schema = with_mapping(&kept, &properties, &mut metadata.configuration, env);
        metadata.schema_string = schema.to_json();
        check_columns(&schema, &properties)?;
        check_constraints(&schema, &properties)?;
        check_iceberg(&schema, &properties)?;
        check_same_partitioning(&properties, &snapshot.metadata().partition_columns, &metadata.partition_columns)?;
        add_row_tracking_columns(&properties, &mut metadata.configuration, env);
        let domains = new.clustering_domains(&schema, mode)?;
        let used = used_features(&schema, &properties, !domains.is_empty()).into_iter().map(str::to_owned).chain(given.features);
        let raised = upgrade(snapshot.protocol(), used)?;
        Ok(Self {
            clustering: domains.iter().flat_map(clustering_paths).collect(),
            changes_protocol: raised.is_some(),
            protocol: raised.unwrap_or_else(|| snapshot.protocol().clone()),
            changes_metadata: metadata != *snapshot.metadata(),
            metadata,
            domains,
            is_replaced: true,
        })
    }

    /// Adds features to the protocol.
    pub(super) fn raise_protocol(&mut self, features: impl IntoIterator<Item = impl AsRef<str>>) -> Result<()> {
        if let Some(raised) = upgrade(&self.protocol, features)? {
            self.protocol = raised;
            self.changes_protocol = true;
        }
        Ok(())
    }
}

/// Returns the schema of data for a table: a struct that encodes a variant becomes a variant if the
/// table's column is one.
pub(crate) fn data_schema(table: &StructType, data: &StructType) -> StructType {
    let mut schema = data.clone();
    for field in &mut schema.fields {
        let is_variant = table.field(&field.name).is_some_and(|of_table| of_table.data_type == PrimitiveType::Variant.into());
        if is_variant && encodes_variant(&field.data_type) {
            field.data_type = PrimitiveType::Variant.into();
        }
    }
    schema
}

fn encodes_variant(data_type: &DataType) -> bool {
    let DataType::Struct(fields) = data_type else { return false };
    let is_binary = |name: &str| fields.field(name).is_some_and(|field| field.data_type == PrimitiveType::Binary.into());
    fields.fields.len() == 2 && is_binary("metadata") && is_binary("value")
}

/// Returns the schema in which columns that did not change keep their names and ids in data files,
/// and their comments.
fn with_metadata_of(schema: &StructType, old: &StructType) -> StructType {
    let keep = |field: &StructField| {
        let mut field = field.clone();
        let same =
            old.field(&field.name).filter(|old| old.data_type == field.data_type || same_shape(&old.data_type, &field.data_type));
        if let Some(old) = same {
            for key in [PHYSICAL_NAME, FIELD_ID, NESTED_IDS, "comment"] {
                if let Some(value) = old.metadata.get(key) {
                    field.metadata.entry(key).or_insert_with(|| value.clone());
                }
            }
            field.data_type = old.data_type.clone();
        }
        field
    };
    StructType { fields: schema.fields.iter().map(keep).collect() }
}

/// Returns whether two types differ only in metadata and nullability.
fn same_shape(one: &DataType, other: &DataType) -> bool {
    let shape = |data_type: &DataType| nullable_type_to_arrow(data_type).ok();
    shape(one).is_some() && shape(one) == shape(other)
}
