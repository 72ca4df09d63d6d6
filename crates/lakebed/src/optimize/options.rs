//! The options of an OPTIMIZE.

use std::time::Duration;

use lakebed_io::parquet::write::Codec;
use serde::Deserialize;

use crate::transaction::InfoEntries;
use crate::upkeep::UpkeepOptions;

/// The options of an OPTIMIZE.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OptimizeOptions {
    /// Only files that may contain rows for which this Spark SQL expression is true are rewritten.
    #[serde(rename = "where")]
    pub filter: Option<String>,
    /// The order of rows in the new files.
    pub layout: Layout,
    /// The approximate size of new files. The default is the table's property; without one it is
    /// 128 MiB, and more for tables of 256 GiB and above.
    #[serde(rename = "target_file_size")]
    pub target_file_size_bytes: Option<u64>,
    /// The compression of pages in new files. The default is the table's property; without one it is
    /// Snappy.
    #[serde(deserialize_with = "crate::option_value::compression::deserialize")]
    pub compression: Option<Codec>,
    /// The most rows of a row group in new files.
    pub row_group_rows: Option<usize>,
    /// The columns that get Bloom filters in new files. A field of a struct is written as `a.b`.
    pub bloom_columns: Vec<String>,
    /// The least number of small files that are compacted.
    pub min_files: usize,
    /// Files with a larger share of deleted rows are always rewritten.
    pub max_deleted_share: f64,
    /// Whether files that are already clustered are rewritten too.
    pub full: bool,
    /// Whether missing statistics of files are added.
    pub fill_statistics: bool,
    /// The parts of the work that become a version each.
    #[serde(rename = "commit")]
    pub commits: Commits,
    /// A text of the caller that is stored in the history.
    pub user_metadata: Option<String>,
    /// Entries of the caller in `commitInfo`, beside those that lakebed records.
    pub commit_info: InfoEntries,
    /// Whether a checkpoint and a cleanup of the log may follow the commit.
    pub upkeep: UpkeepOptions,
    /// The time limit for retries of the commit after conflicts.
    #[serde(deserialize_with = "crate::option_value::seconds::deserialize")]
    pub timeout: Option<Duration>,
}

/// The order of rows in new files.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// By the clustering columns of the table; without clustering columns, in the existing order.
    #[default]
    OfTable,
    /// Along a Z-order curve over the values of these columns.
    ZOrder(Vec<String>),
    /// In the order that lets queries on these columns skip the most files: along a Z-order curve
    /// or a Hilbert curve, or by a k-d tree.
    Cluster(Vec<String>),
}

/// The parts of the work that become a version each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
pub enum Commits {
    /// All the work is one version.
    #[default]
    #[serde(rename = "run")]
    PerRun,
    /// Each group of files is a version. A committed group stays, even if later groups fail.
    #[serde(rename = "group")]
    PerGroup,
}

impl Default for OptimizeOptions {
    fn default() -> Self {
        Self {
            filter: None,
            layout: Layout::default(),
            target_file_size_bytes: None,
            compression: None,
            row_group_rows: None,
            bloom_columns: Vec::new(),
            min_files: 2,
            max_deleted_share: 0.05,
            full: false,
            fill_statistics: true,
            commits: Commits::default(),
            user_metadata: None,
            commit_info: InfoEntries::default(),
            upkeep: UpkeepOptions::default(),
            timeout: None,
        }
    }
}
