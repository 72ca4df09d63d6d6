//! What a table is: everything about it but its rows.

use std::collections::BTreeMap;

use futures::TryStreamExt;
use lakebed_core::action::{Action, DomainMetadata, Protocol};
use lakebed_core::log::checkpoint::columns;
use lakebed_core::schema::mapping::physical_path;
use lakebed_core::schema::{DataType, StructType};
use serde_json::Value;

use crate::scan::plan::{Plan, PlanOptions};
use crate::{Result, Snapshot};

/// The domain in which Delta keeps clustering columns.
pub(crate) const CLUSTERING_DOMAIN: &str = "delta.clustering";

/// What a table is.
#[derive(Debug, Clone, PartialEq)]
pub struct Detail {
    /// The table's GUID.
    pub id: String,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Its description, if it has one.
    pub description: Option<String>,
    /// Its URL, without secrets.
    pub location: String,
    /// The version that this is about.
    pub version: u64,
    /// When it was made, in milliseconds since the epoch.
    pub created_at_ms: Option<i64>,
    /// When this version was committed, in milliseconds since the epoch.
    pub last_modified_ms: Option<i64>,
    /// In the order of the directories.
    pub partition_columns: Vec<String>,
    /// In order; fields of structs as `a.b`.
    pub clustering_columns: Vec<String>,
    /// How many files.
    pub num_files: u64,
    /// Their size.
    pub size_bytes: u64,
    /// The properties that are set.
    pub properties: BTreeMap<String, String>,
    /// What readers and writers must know.
    pub protocol: Protocol,
}

impl Snapshot {
    /// Everything about the table but its rows. Files are counted from the version's checksum, else by reading the list of them.
    pub async fn detail(&self) -> Result<Detail> {
        let (num_files, size_bytes) = self.count_files().await?;
        let metadata = self.metadata();
        let properties = metadata.configuration.iter().filter_map(|(key, value)| Some((key.clone(), value.clone()?)));
        Ok(Detail {
            id: metadata.id.clone(),
            name: metadata.name.clone(),
            description: metadata.description.clone(),
            location: self.url().to_owned(),
            version: self.version(),
            created_at_ms: metadata.created_time,
            last_modified_ms: self.history(Some(1)).await?.first().map(|entry| entry.timestamp_ms),
            partition_columns: metadata.partition_columns.clone(),
            clustering_columns: self.clustering_columns().await?,
            num_files,
            size_bytes,
            properties: properties.collect(),
            protocol: self.protocol().clone(),
        })
    }

    async fn count_files(&self) -> Result<(u64, u64)> {
        if let Some(checksum) = self.checksum()
            && let (Ok(files), Ok(bytes)) = (u64::try_from(checksum.num_files), u64::try_from(checksum.table_size_bytes))
        {
            return Ok((files, bytes));
        }
        let plan = Plan::new(self, None, PlanOptions::default())?;
        plan.files().try_for_each(|_| async { Ok(()) }).await?;
        let metrics = plan.metrics();
        Ok((metrics.kept.get(), metrics.kept_bytes.get()))
    }

    /// The configuration of a domain, unless it was removed.
    pub async fn domain_metadata(&self, domain: &str) -> Result<Option<DomainMetadata>> {
        if let Some(domains) = self.checksum().and_then(|checksum| checksum.domain_metadata.as_ref()) {
            return Ok(domains.iter().find(|found| found.domain == domain && !found.removed).cloned());
        }
        let in_checkpoint = |action| match action {
            Action::DomainMetadata(found) if found.domain == domain => Some(found),
            _ => None,
        };
        let found = self.find(|layer| layer.domains.get(domain), columns::DOMAINS, in_checkpoint).await?;
        Ok(found.filter(|found| !found.removed))
    }

    /// The clustering columns, as SQL spells them.
    pub(crate) async fn clustering_columns(&self) -> Result<Vec<String>> {
        let columns = self.physical_clustering_columns().await?;
        Ok(columns.iter().filter_map(|column| self.logical_column(column)).collect())
    }

    /// The clustering columns by the names that lead to them in data files.
    pub(crate) async fn physical_clustering_columns(&self) -> Result<Vec<Vec<String>>> {
        let features = self.protocol().writer_features.as_deref().unwrap_or_default();
        if !features.iter().any(|feature| feature == "clustering") {
            return Ok(Vec::new());
        }
        let Some(domain) = self.domain_metadata(CLUSTERING_DOMAIN).await? else { return Ok(Vec::new()) };
        Ok(clustering_paths(&domain))
    }

    /// A clustering column's logical name.
    fn logical_column(&self, physical: &[String]) -> Option<String> {
        let names = leaf_names(self.schema(), Vec::new());
        let found = names.into_iter().find(|names| {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            physical_path(self.schema(), &names, self.mapping_mode()).is_some_and(|path| path == *physical)
        });
        found.map(|names| column_name(&names))
    }
}

/// The names that lead to a column as they stand in SQL: `a.b`.
pub(crate) fn column_name(path: &[String]) -> String {
    path.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(".")
}

/// A name as it stands in SQL: between backticks, unless it is a plain one.
fn quoted(name: &str) -> String {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !name.chars().all(|c| c.is_ascii_digit());
    if is_plain { name.to_owned() } else { format!("`{}`", name.replace('`', "``")) }
}

/// The physical paths of the columns that cluster a table, if that is what the domain is about. Delta Spark writes the parts of each as a
/// list, others write one text.
pub(crate) fn clustering_paths(domain: &DomainMetadata) -> Vec<Vec<String>> {
    if domain.domain != CLUSTERING_DOMAIN {
        return Vec::new();
    }
    let path = |column: &Value| match column {
        Value::Array(parts) => Some(parts.iter().filter_map(|part| part.as_str().map(str::to_owned)).collect()),
        Value::String(name) => Some(vec![name.clone()]),
        _ => None,
    };
    let configuration: Value = serde_json::from_str(&domain.configuration).unwrap_or_default();
    let columns = configuration.get("clusteringColumns").and_then(Value::as_array);
    columns.into_iter().flatten().filter_map(path).collect()
}

/// The ways to all leaves that stand in structs only.
fn leaf_names(schema: &StructType, above: Vec<String>) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    for field in &schema.fields {
        let names: Vec<String> = above.iter().cloned().chain([field.name.clone()]).collect();
        match &field.data_type {
            DataType::Struct(fields) => found.extend(leaf_names(fields, names)),
            _ => found.push(names),
        }
    }
    found
}
