//! The options of an OPTIMIZE.

use std::time::Duration;

use serde::Deserialize;

/// How to write files anew.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OptimizeOptions {
    /// Only files that may hold rows for which this Spark SQL expression is true.
    #[serde(rename = "where")]
    pub filter: Option<String>,
    /// In which order rows lie in the new files.
    pub layout: Layout,
    /// About how large files become; by default what the table's properties say, else 128 MiB, and more for tables of 256 GiB and above.
    #[serde(rename = "target_file_size")]
    pub target_file_size_bytes: Option<u64>,
    /// Fewer small files than these are not put together.
    pub min_files: usize,
    /// Files of whose rows a larger share is deleted are written anew in any case.
    pub max_deleted_share: f64,
    /// Whether files are written anew too that are clustered already.
    pub full: bool,
    /// Whether files that lack statistics get them.
    pub fill_statistics: bool,
    /// What becomes a version.
    #[serde(rename = "commit")]
    pub commits: Commits,
    /// Words of the caller's own, kept in the history.
    pub user_metadata: Option<String>,
    /// How long to go on trying to commit while other writers are faster.
    #[serde(deserialize_with = "crate::option_value::seconds::deserialize")]
    pub timeout: Option<Duration>,
}

/// In which order rows lie in new files.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// By the columns that cluster the table; as they come if there are none.
    #[default]
    OfTable,
    /// Along a Z-order curve over the values of these columns.
    ZOrder(Vec<String>),
    /// As it is found to let queries on these columns skip the most files: along a Z-order curve or a Hilbert curve, or by a k-d tree.
    Cluster(Vec<String>),
}

/// What becomes a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
pub enum Commits {
    /// All that is done.
    #[default]
    #[serde(rename = "run")]
    PerRun,
    /// Each group of files: what is done is there, whatever becomes of the rest.
    #[serde(rename = "group")]
    PerGroup,
}

impl Default for OptimizeOptions {
    fn default() -> Self {
        Self {
            filter: None,
            layout: Layout::default(),
            target_file_size_bytes: None,
            min_files: 2,
            max_deleted_share: 0.05,
            full: false,
            fill_statistics: true,
            commits: Commits::default(),
            user_metadata: None,
            timeout: None,
        }
    }
}
