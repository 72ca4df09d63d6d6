//! The options of a write.

use std::collections::HashMap;
use std::time::Duration;

use lakebed_io::parquet::write::Codec;
use serde::{Deserialize, Serialize};

use crate::transaction::{Application, CommitSettings};
use crate::write::OnLossy;
use crate::write::settings::FileSettings;

/// How to write rows.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WriteOptions {
    /// What becomes of the rows that are there.
    pub mode: WriteMode,
    /// Of an overwrite: only the rows for which this is true make way, and all new rows must meet it.
    #[serde(rename = "where")]
    pub replace_where: Option<String>,
    /// Of an overwrite: which partitions make way.
    pub partitions: PartitionMode,
    /// What becomes of the table's schema if the data has another.
    pub schema_mode: SchemaMode,
    /// Of a new table, or with another schema: the columns by whose values files are kept apart. An existing table must have the same.
    pub partition_by: Option<Vec<String>>,
    /// Of a new table, or with another schema: the columns by whose values files are kept together.
    pub cluster_by: Option<Vec<String>>,
    /// Of a new table: its properties. An existing table must have the same.
    pub properties: HashMap<String, String>,
    /// An application and its own number of this write: a write that the table knows already is not done again.
    pub txn: Option<Application>,
    /// Words of the caller's own, kept in the history.
    pub user_metadata: Option<String>,
    /// The approximate size of new files, at least [`LEAST_FILE_SIZE_BYTES`](crate::write::LEAST_FILE_SIZE_BYTES). The default is the table's property; without one it is 128 MiB,
    /// and more for tables of 256 GiB and above.
    #[serde(rename = "target_file_size")]
    pub target_file_size_bytes: Option<u64>,
    /// How pages are compressed; by default what the table's properties say, else Snappy.
    #[serde(with = "crate::option_value::compression")]
    pub compression: Option<Codec>,
    /// The rows of a row group, at most.
    pub row_group_rows: Option<usize>,
    /// Columns that get Bloom filters; fields of structs as `a.b`.
    pub bloom_columns: Vec<String>,
    /// What to do with digits that a column cannot hold.
    pub on_lossy: OnLossy,
    /// How long to go on trying while other writers are faster.
    #[serde(with = "crate::option_value::seconds")]
    pub timeout: Option<Duration>,
}

/// What becomes of the rows that are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteMode {
    /// They stay.
    #[default]
    Append,
    /// They make way, all or some.
    Overwrite,
    /// There may be no table.
    Error,
    /// If there is a table, nothing is written.
    Ignore,
}

/// Which partitions an overwrite replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartitionMode {
    /// All of them, or those that the condition tells.
    #[default]
    Static,
    /// Only those into which rows are written.
    Dynamic,
}

/// What becomes of the table's schema if the data has another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SchemaMode {
    /// The data must fit.
    #[default]
    Enforce,
    /// Columns that the table lacks are added, and types become wider where the table allows it.
    Merge,
    /// Of an overwrite: the table gets the schema of the data.
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
        let defaults = CommitSettings::default();
        CommitSettings {
            user_metadata: self.user_metadata.clone(),
            timeout: self.timeout.unwrap_or(defaults.timeout),
            ..defaults
        }
    }
}
