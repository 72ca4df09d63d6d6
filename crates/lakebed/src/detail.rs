//! Describes a table: everything about it except its rows.

use std::collections::BTreeMap;

use futures::TryStreamExt;
use lakebed_core::action::Protocol;

use crate::scan::plan::{Plan, PlanOptions};
use crate::tags::Tag;
use crate::{Result, Snapshot};

/// The description of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Detail {
    /// The table's GUID.
    pub id: String,
    /// The table's name, if it has one.
    pub name: Option<String>,
    /// The table's description, if it has one.
    pub description: Option<String>,
    /// The table's URL, without secrets.
    pub location: String,
    /// The version that this describes.
    pub version: u64,
    /// The time when the table was created, in milliseconds since the epoch.
    pub created_at_ms: Option<i64>,
    /// The time when this version was committed, in milliseconds since the epoch.
    pub last_modified_ms: Option<i64>,
    /// The partition columns, in the order of the directories.
    pub partition_columns: Vec<String>,
    /// The clustering columns, in order. A field of a struct is written as `a.b`.
    pub clustering_columns: Vec<String>,
    /// The number of data files.
    pub num_files: u64,
    /// The total size of the data files.
    pub size_bytes: u64,
    /// The properties that are set.
    pub properties: BTreeMap<String, String>,
    /// The features that readers and writers of the table must support.
    pub protocol: Protocol,
    /// The tags that this version of the table has. lakebed keeps the versions that they name
    /// readable.
    pub tags: Vec<Tag>,
    /// The older versions that lakebed keeps readable: those that tags name, and those that the last
    /// vacuum kept.
    pub kept_versions: Vec<u64>,
}

impl Snapshot {
    /// Returns everything about the table except its rows. Files are counted from the log. Of a
    /// checkpoint, only the columns that distinguish files are read.
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
            tags: this.tags()?,
            kept_versions: this.kept_versions()?.into_iter().collect(),
        })
    }

    async fn count_files(&self) -> Result<(u64, u64)> {
        let plan = Plan::new(self, None, PlanOptions::default())?;
        plan.files().try_for_each(|_| async { Ok(()) }).await?;
        let metrics = plan.metrics();
        Ok((metrics.kept.get(), metrics.kept_bytes.get()))
    }
}
