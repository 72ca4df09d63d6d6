//! The definition of a new table, made from the schema and the options of a caller.
//!
//! A table gets the lowest protocol that supports its features and columns, so that as many engines
//! as possible can read it.

use std::collections::HashMap;

use lakebed_core::action::{DomainMetadata, Format, Metadata};
use lakebed_core::feature::given::GivenProperties;
use lakebed_core::feature::upgrade::{protocol_of, used_features};
use lakebed_core::property::TableProperties;
use lakebed_core::schema::StructType;
use lakebed_core::schema::mapping::MappingMode;
use lakebed_io::env::Env;

use super::columns::{check_columns, check_constraints, partition_columns_of, with_checked_metadata};
use super::complete::{add_row_tracking_columns, with_mapping};
use super::iceberg::check_iceberg;
use super::value::Definition;
use crate::clustering::{clustering_domain, key_columns_of};
use crate::{Error, Result};

/// The options of a caller for a new table.
#[derive(Debug, Clone, Default)]
pub struct NewTable {
    /// The columns of the table.
    pub schema: StructType,
    /// The partition columns.
    pub partition_by: Vec<String>,
    /// The clustering columns. A field of a struct is written as `a.b`.
    pub cluster_by: Vec<String>,
    /// The properties of the table. They can also enable features and set protocol versions.
    pub properties: HashMap<String, String>,
    /// CHECK constraints: the name, and the SQL condition that all rows meet.
    pub constraints: HashMap<String, String>,
    /// The name of the table, for people.
    pub name: Option<String>,
    /// The description of the table, for people.
    pub description: Option<String>,
}

impl NewTable {
    /// Checks all options of the caller, and makes a definition of them. `table` is for messages.
    pub fn define(&self, table: &str, env: &Env) -> Result<Definition> {
        self.define_checked(env).map_err(|error| error.of_caller().within(table))
    }

    fn define_checked(&self, env: &Env) -> Result<Definition> {
        let given = GivenProperties::parse(self.properties.iter().map(|(name, value)| (name.as_str(), value.as_str())))?;
        let mut configuration = given.configuration;
        self.add_constraints(&mut configuration)?;
        let properties = TableProperties::parse(&configuration)?;
        check_columns(&self.schema, &properties)?;
        check_iceberg(&self.schema, &properties)?;
        let partition_columns = partition_columns_of(&self.schema, &self.partition_by)?;
        let schema = with_checked_metadata(&self.schema, &partition_columns)?;
        check_constraints(&schema, &properties)?;
        let schema = with_mapping(&schema, &properties, &mut configuration, env);
        add_row_tracking_columns(&properties, &mut configuration, env);
        let domains = self.clustering_domains(&schema, properties.column_mapping_mode)?;
        let used = used_features(&schema, &properties, !domains.is_empty());
        let protocol = protocol_of(used.into_iter().map(str::to_owned).chain(given.features))?;
        let metadata = Metadata {
            id: env.new_uuid(),
            name: self.name.clone(),
            description: self.description.clone(),
            format: Format::default(),
            schema_string: schema.to_json(),
            partition_columns,
            configuration,
            created_time: Some(env.now_ms()),
        };
        Ok(Definition::new(protocol, metadata, domains))
    }

    fn add_constraints(&self, configuration: &mut HashMap<String, Option<String>>) -> Result<()> {
        for (name, condition) in &self.constraints {
            if name.trim().is_empty() {
                return Err(Error::invalid_input(format!("constraints: the condition {condition} has an empty name")));
            }
            let others = self.constraints.keys().filter(|other| other.to_lowercase() == name.to_lowercase());
            if others.count() > 1 {
                return Err(Error::invalid_input(format!(
                    "constraints: {name} is given twice (names that differ only in case are the same)"
                )));
            }
            configuration.insert(format!("delta.constraints.{}", name.to_lowercase()), Some(condition.clone()));
        }
        Ok(())
    }

    /// Returns the domain that keeps the clustering columns, if there are any.
    pub(super) fn clustering_domains(&self, schema: &StructType, mode: MappingMode) -> Result<Vec<DomainMetadata>> {
        if self.cluster_by.is_empty() {
            return Ok(Vec::new());
        }
        if !self.partition_by.is_empty() {
            return Err(Error::invalid_input("a table cannot be both partitioned and clustered: choose one of them"));
        }
        let columns = key_columns_of(schema, mode, &[], &self.cluster_by).map_err(|error| error.within("cluster_by"))?;
        let physical: Vec<Vec<String>> = columns.into_iter().map(|column| column.physical).collect();
        Ok(vec![clustering_domain(&physical)])
    }
}
