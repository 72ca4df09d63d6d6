//! New tables: their protocol and metadata, out of a schema and wishes, and the commit that makes them.
//!
//! A table gets the lowest protocol that has what it uses, so that as many as can be read it. Read [`NewTable::plan`], which the first
//! write to a place uses too, and [`Create`].

use std::collections::HashMap;

use futures::TryStreamExt;
use lakebed_core::action::{DomainMetadata, Format, Metadata, Protocol};
use lakebed_core::feature::given::GivenProperties;
use lakebed_core::feature::upgrade::{protocol_of, used_features};
use lakebed_core::property::TableProperties;
use lakebed_core::schema::evolve::Mapping;
use lakebed_core::schema::mapping::MappingMode;
use lakebed_core::schema::{DataType, PrimitiveType, StructType};
use lakebed_io::env::Env;
use serde_json::json;

use crate::clustering::{CLUSTERING_DOMAIN, clustering_domain, key_columns_of};
use crate::columns::{check_columns, check_constraints, with_checked_notes};
use crate::scan::plan::{Plan, PlanOptions};
use crate::transaction::retry::{Retry, Retryable};
use crate::transaction::{CommitSettings, Committed, Operation, Transaction};
use crate::{Error, ErrorKind, Result, Snapshot, Table};

/// What a new table is to be.
#[derive(Debug, Clone, Default)]
pub struct NewTable {
    /// Its columns.
    pub schema: StructType,
    /// The columns by whose values its files are kept apart.
    pub partition_by: Vec<String>,
    /// The columns by whose values its files are kept together; fields of structs as `a.b`.
    pub cluster_by: Vec<String>,
    /// Its properties, and wishes about its protocol.
    pub properties: HashMap<String, String>,
    /// Conditions that all rows meet, by name, in SQL.
    pub constraints: HashMap<String, String>,
    /// A name, for people.
    pub name: Option<String>,
    /// A description, for people.
    pub description: Option<String>,
}

/// What the first commit of a table says.
#[derive(Debug, Clone)]
pub struct PlannedTable {
    /// What readers and writers must know.
    pub protocol: Protocol,
    /// Schema, partitioning, properties.
    pub metadata: Metadata,
    /// Clustering columns, where there are such.
    pub domains: Vec<DomainMetadata>,
}

impl NewTable {
    /// Checks all that was asked for and makes protocol and metadata out of it. `table` is for messages.
    pub fn plan(&self, table: &str, env: &Env) -> Result<PlannedTable> {
        self.plan_checked(env).map_err(|error| error.of_caller().within(table))
    }

    fn plan_checked(&self, env: &Env) -> Result<PlannedTable> {
        let given = GivenProperties::parse(self.properties.iter().map(|(name, value)| (name.as_str(), value.as_str())))?;
        let mut configuration = given.configuration;
        for (name, condition) in &self.constraints {
            if name.trim().is_empty() {
                return Err(Error::invalid_input(format!("constraints: the condition {condition} has an empty name")));
            }
            let others = self.constraints.keys().filter(|other| other.to_lowercase() == name.to_lowercase());
            if others.count() > 1 {
                return Err(Error::invalid_input(format!("constraints: {name} is given twice: names differ in more than case")));
            }
            configuration.insert(format!("delta.constraints.{}", name.to_lowercase()), Some(condition.clone()));
        }
        let properties = TableProperties::parse(&configuration)?;
        check_columns(&self.schema, &properties)?;
        check_iceberg(&self.schema, &properties)?;
        let partition_columns = columns_named(&self.schema, &self.partition_by, "partition")?;
        let schema = with_checked_notes(&self.schema, &partition_columns)?;
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
        Ok(PlannedTable { protocol, metadata, domains })
    }

    /// What keeps the clustering columns, if there are such.
    pub(crate) fn clustering_domains(&self, schema: &StructType, mode: MappingMode) -> Result<Vec<DomainMetadata>> {
        if self.cluster_by.is_empty() {
            return Ok(Vec::new());
        }
        if !self.partition_by.is_empty() {
            return Err(Error::invalid_input("a table cannot be both partitioned and clustered: choose one"));
        }
        let columns = key_columns_of(schema, mode, &[], &self.cluster_by).map_err(|error| error.within("cluster_by"))?;
        let physical: Vec<Vec<String>> = columns.into_iter().map(|column| column.physical).collect();
        Ok(vec![clustering_domain(&physical)])
    }
}

/// Names and ids for columns that have none, where data files know columns by them.
pub(crate) fn with_mapping(
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
    configuration.insert("delta.columnMapping.maxColumnId".to_owned(), Some(mapping.max_column_id.to_string()));
    schema
}

/// PROTOCOL "Iceberg Compatibility": what its readers cannot have.
pub(crate) fn check_iceberg(schema: &StructType, properties: &TableProperties) -> Result<()> {
    let version = match (properties.iceberg_compat_v1, properties.iceberg_compat_v2) {
        (false, false) => return Ok(()),
        (true, true) => {
            return Err(Error::invalid_input("a table is compatible with one version of Iceberg's format: V1 or V2"));
        }
        (true, false) => "delta.enableIcebergCompatV1",
        (false, true) => "delta.enableIcebergCompatV2",
    };
    let refuse = |why: &str| Err(Error::invalid_input(format!("{version}: {why}")));
    if properties.column_mapping_mode == MappingMode::None {
        return refuse("set delta.columnMapping.mode to name or id as well");
    }
    if properties.deletion_vectors {
        return refuse("deletion vectors cannot be enabled at the same time");
    }
    let allows = |data_type: &DataType| iceberg_allows(data_type, properties.iceberg_compat_v1);
    match schema.fields.iter().find(|field| !allows(&field.data_type)) {
        Some(field) => refuse(&format!("column {} has a type that it does not allow", field.name)),
        None => Ok(()),
    }
}

fn iceberg_allows(data_type: &DataType, is_first_version: bool) -> bool {
    match data_type {
        DataType::Primitive(primitive) => !matches!(
            primitive,
            PrimitiveType::Void | PrimitiveType::Variant | PrimitiveType::YearMonthInterval | PrimitiveType::DayTimeInterval
        ),
        DataType::Struct(fields) => fields.fields.iter().all(|field| iceberg_allows(&field.data_type, is_first_version)),
        DataType::Array(array) => !is_first_version && iceberg_allows(&array.element, is_first_version),
        DataType::Map(map) => {
            !is_first_version && iceberg_allows(&map.key, is_first_version) && iceberg_allows(&map.value, is_first_version)
        }
    }
}

/// PROTOCOL "Row Tracking": the columns that keep ids of rows that move have names that nobody else has.
pub(crate) fn add_row_tracking_columns(
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

/// The columns of these names, spelled as the schema spells them.
pub(crate) fn columns_named(schema: &StructType, names: &[String], what: &str) -> Result<Vec<String>> {
    let mut columns: Vec<String> = Vec::with_capacity(names.len());
    for name in names {
        let field =
            schema.field(name).ok_or_else(|| Error::invalid_input(format!("{what} column {name} is not in the schema")))?;
        let is_primitive = matches!(&field.data_type, DataType::Primitive(primitive) if *primitive != PrimitiveType::Variant);
        if !is_primitive {
            return Err(Error::invalid_input(format!("column {name} cannot be a {what} column: its type has no text")));
        }
        if columns.contains(&field.name) {
            return Err(Error::invalid_input(format!("{what} column {name} is given twice")));
        }
        columns.push(field.name.clone());
    }
    if !columns.is_empty() && columns.len() == schema.fields.len() {
        return Err(Error::invalid_input(format!(
            "all columns are {what} columns: at least one must be left for the data files"
        )));
    }
    Ok(columns)
}

/// What to do where a table is already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CreateMode {
    /// Refuse.
    #[default]
    Error,
    /// Leave it as it is.
    Ignore,
    /// Put the new table in its place, in one commit; older versions can still be read.
    Replace,
}

/// Makes a table without rows.
#[derive(Debug, Clone)]
pub struct Create {
    table: Table,
    new: NewTable,
    mode: CreateMode,
    settings: CommitSettings,
}

impl Table {
    /// Makes the table.
    pub fn create(&self, new: NewTable) -> Create {
        Create { table: self.clone(), new, mode: CreateMode::default(), settings: CommitSettings::default() }
    }

    /// The latest version, or none if there is no table.
    pub async fn try_snapshot(&self) -> Result<Option<Snapshot>> {
        match self.snapshot().await {
            Ok(snapshot) => Ok(Some(snapshot)),
            Err(error) if *error.kind() == ErrorKind::TableNotFound && self.may_be_made() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Create {
    /// What to do where a table is already.
    #[must_use]
    pub fn mode(mut self, mode: CreateMode) -> Self {
        self.mode = mode;
        self
    }

    /// How to commit.
    #[must_use]
    pub fn settings(mut self, settings: CommitSettings) -> Self {
        self.settings = settings;
        self
    }

    /// Makes the table, and tells its version: that of the table that was there if it is left as it is.
    pub async fn run(self) -> Result<Snapshot> {
        let url = self.table.store().url().to_owned();
        let planned = self.new.plan(&url, self.table.env())?;
        // If another writer made the table, the mode decides again.
        let retryable = match self.mode {
            CreateMode::Error | CreateMode::Ignore => Retryable::default().or_creation(),
            CreateMode::Replace => Retryable::default(),
        };
        let mut retry = Retry::new(self.table.env(), &self.settings, retryable);
        loop {
            let outcome = match (self.table.try_snapshot().await?, self.mode) {
                (Some(_), CreateMode::Error) => return Err(exists(&url)),
                (Some(snapshot), CreateMode::Ignore) => return Ok(snapshot),
                (Some(snapshot), CreateMode::Replace) => self.replace(&snapshot, &planned).await,
                (None, _) => self.begin(&planned).await,
            };
            match outcome {
                Ok(Committed { snapshot: Some(snapshot), .. }) => return Ok(snapshot),
                Ok(Committed { version, .. }) => return self.table.snapshot_at(version).await,
                Err(error) => retry.again(error).await?,
            }
        }
    }

    async fn begin(&self, planned: &PlannedTable) -> Result<Committed> {
        let (store, env) = (self.table.store().clone(), self.table.env().clone());
        let PlannedTable { protocol, metadata, domains } = planned.clone();
        let mut transaction = Transaction::create(store, env, protocol, metadata, self.settings.clone())?;
        domains.into_iter().for_each(|domain| transaction.set_domain(domain));
        transaction.commit(self.operation("CREATE TABLE", planned)).await
    }

    /// The table stays the same one, so its id does.
    async fn replace(&self, snapshot: &Snapshot, planned: &PlannedTable) -> Result<Committed> {
        let mut transaction = Transaction::begin(snapshot, self.settings.clone()).await?;
        transaction.read_all();
        let plan = Plan::new(snapshot, None, PlanOptions { whole_actions: true, ..PlanOptions::default() })?;
        let mut files = plan.files();
        while let Some(batch) = files.try_next().await? {
            transaction.read_files(&batch)?;
            transaction.remove(batch, true);
        }
        let metadata = Metadata { id: snapshot.metadata().id.clone(), ..planned.metadata.clone() };
        transaction.set_metadata(metadata);
        transaction.raise_protocol(&planned.protocol)?;
        replace_domains(&mut transaction, snapshot, planned).await?;
        transaction.commit(self.operation("CREATE OR REPLACE TABLE", planned)).await
    }

    fn operation(&self, name: &str, planned: &PlannedTable) -> Operation {
        let properties: std::collections::BTreeMap<&String, &String> = self.new.properties.iter().collect();
        let clustering = self.new.cluster_by.clone();
        Operation::new(name)
            .with_names("partitionBy", &planned.metadata.partition_columns)
            .with_names("clusterBy", &clustering)
            .with("description", planned.metadata.description.clone())
            .with("isManaged", "false")
            .with("properties", json!(properties).to_string())
    }
}

/// A table that was clustered and no longer is says so.
pub(crate) async fn replace_domains(transaction: &mut Transaction, snapshot: &Snapshot, planned: &PlannedTable) -> Result<()> {
    if let (Some(before), true) = (snapshot.domain_metadata(CLUSTERING_DOMAIN).await?, planned.domains.is_empty()) {
        transaction.set_domain(DomainMetadata { removed: true, ..before });
    }
    planned.domains.iter().for_each(|domain| transaction.set_domain(domain.clone()));
    Ok(())
}

/// There is a table where none was expected.
pub(crate) fn exists(url: &str) -> Error {
    Error::new(ErrorKind::TableExists, format!("{url}: there is a table already"))
}
