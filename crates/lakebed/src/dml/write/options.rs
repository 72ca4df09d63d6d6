//! The options of a write.

use std::collections::HashMap;
use std::time::Duration;

use lakebed_io::parquet::write::Codec;
use serde::{Deserialize, Serialize};

use crate::transaction::{Application, CommitSettings, InfoEntries};
use crate::upkeep::UpkeepOptions;
use crate::write::OnLossy;
use crate::write::settings::FileSettings;

/// The options of a write.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WriteOptions {
    /// The treatment of existing rows.
    pub mode: WriteMode,
    /// For an overwrite: only existing rows for which this predicate is true are replaced, and it
    /// must be true for all new rows.
    #[serde(rename = "where")]
    pub replace_where: Option<String>,
    /// For an overwrite: the partitions that are replaced.
    pub partitions: PartitionMode,
    /// The treatment of a data schema that differs from the table's schema.
    pub schema_mode: SchemaMode,
    /// For a new table, or an overwrite of the schema: the partition columns. An existing table
    /// must have the same.
    pub partition_by: Option<Vec<String>>,
    /// For a new table, or an overwrite of the schema: the clustering columns.
    pub cluster_by: Option<Vec<String>>,
    /// For a new table: its properties. An existing table must have the same.
    pub properties: HashMap<String, String>,
    /// For a new table: its name, for people. An existing table must have the same.
    pub name: Option<String>,
    /// For a new table: its description, for people. An existing table must have the same.
    pub description: Option<String>,
    /// An application id and its number of this write. If the table has the write already, it is
    /// not committed again.
    pub txn: Option<Application>,
    /// A text of the caller that is stored in the history.
    pub user_metadata: Option<String>,
    /// Entries of the caller in `commitInfo`, beside those that lakebed records.
    pub commit_info: InfoEntries,
    /// Whether a checkpoint and a cleanup of the log may follow the commit.
    pub upkeep: UpkeepOptions,
    /// The approximate size of new files, at least
    /// [`LEAST_FILE_SIZE_BYTES`](crate::write::LEAST_FILE_SIZE_BYTES). The default is the table's
    /// property; without one it is 128 MiB, and more for tables of 256 GiB and above.
    #[serde(rename = "target_file_size")]
    pub target_file_size_bytes: Option<u64>,
    /// The compression of pages. The default is the table's property; without one it is Snappy.
    #[serde(with = "crate::option_value::compression")]
    pub compression: Option<Codec>,
    /// The most rows of a row group.
    pub row_group_rows: Option<usize>,
    /// The columns that get Bloom filters. A field of a struct is written as `a.b`.
    pub bloom_columns: Vec<String>,
    /// The treatment of digits that a column cannot hold.
    pub on_lossy: OnLossy,
    /// The time limit for retries after conflicts.
    #[serde(with = "crate::option_value::seconds")]
    pub timeout: Option<Duration>,
}

/// The mode of a write, which determines the treatment of existing rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteMode {
    /// Existing rows stay.
    #[default]
    Append,
    /// Existing rows are replaced, all or some.
    Overwrite,
    /// If the table exists, the write fails.
    Error,
    /// If the table exists, nothing is written.
    Ignore,
}

/// The partitions that an overwrite replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartitionMode {
    /// All partitions, or the rows that the predicate selects.
    #[default]
    Static,
    /// Only the partitions into which rows are written.
    Dynamic,
}

/// The treatment of a data schema that differs from the table's schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchemaMode {
    /// The data must fit the table's schema.
    #[default]
    Enforce,
    /// Missing columns are added to the table, and types are widened where the table allows it.
    Merge,
    /// For an overwrite: the table gets the schema of the data.
    Overwrite,
}

impl WriteOptions {
    pub(super) fn file_settings(&self) -> FileSettings {
        FileSettings {
            target_file_size_bytes: self.target_file_size_bytes,
            compression: self.compression,
            row_group_rows: self.row_group_rows,
            bloom_columns: self.bloom_columns.clone(),
        }
    }

    pub(super) fn commit_settings(&self) -> CommitSettings {
        CommitSettings::of(self.user_metadata.as_ref(), &self.commit_info, self.upkeep, self.timeout)
    }
}
