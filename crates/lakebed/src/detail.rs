//! What a table is: everything about it but its rows.

use std::collections::BTreeMap;

use futures::TryStreamExt;
use lakebed_core::action::Protocol;

use crate::scan::plan::{Plan, PlanOptions};
use crate::{Result, Snapshot};

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
    /// Everything about the table but its rows. Files are counted in the log, of whose checkpoint no more is read than tells them apart.
    pub async fn detail(&self) -> Result<Detail> {
        let this = self.by_log().await?;
        let (num_files, size_bytes) = this.count_files().await?;
        let metadata = this.metadata();
        let properties = metadata.configuration.iter().filter_map(|(key, value)| Some((key.clone(), value.clone()?)));
        Ok(Detail {
            id: metadata.id.clone(),
            name: metadata.name.clone(),
            description: metadata.description.clone(),
            location: this.url().to_owned(),
            version: this.version(),
            created_at_ms: metadata.created_time,
            last_modified_ms: this.history(Some(1)).await?.first().map(|entry| entry.timestamp_ms),
            partition_columns: metadata.partition_columns.clone(),
            clustering_columns: this.clustering_columns().await?,
            num_files,
            size_bytes,
            properties: properties.collect(),
            protocol: this.protocol().clone(),
        })
    }

    async fn count_files(&self) -> Result<(u64, u64)> {
        let plan = Plan::new(self, None, PlanOptions::default())?;
        plan.files().try_for_each(|_| async { Ok(()) }).await?;
        let metrics = plan.metrics();
        Ok((metrics.kept.get(), metrics.kept_bytes.get()))
    }
}
