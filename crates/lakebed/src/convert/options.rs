//! The options of a conversion.

use std::collections::HashMap;
use std::time::Duration;

use serde::Deserialize;

use crate::transaction::InfoEntries;
use crate::upkeep::UpkeepOptions;

/// The options of a conversion.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ConvertOptions {
    /// What happens if there is a table already.
    pub mode: ConvertMode,
    /// The properties of the table.
    pub properties: HashMap<String, String>,
    /// The name of the table, for people.
    pub name: Option<String>,
    /// The description of the table, for people.
    pub description: Option<String>,
    /// The current metadata file of an Iceberg table: a path below the folder, or an absolute one.
    pub iceberg_metadata: Option<String>,
    /// Whether the statistics of the footers are put into the log.
    pub collect_statistics: bool,
    /// Whether the table is only described, and nothing is written.
    pub dry_run: bool,
    /// A text of the caller that is stored in the history.
    pub user_metadata: Option<String>,
    /// Entries of the caller in `commitInfo`, beside those that lakebed records.
    pub commit_info: InfoEntries,
    /// Whether a checkpoint and a cleanup of the log may follow the commit.
    pub upkeep: UpkeepOptions,
    /// The time limit of the commit.
    #[serde(deserialize_with = "crate::option_value::seconds::deserialize")]
    pub timeout: Option<Duration>,
}

/// The behaviour of a conversion if there is a table already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConvertMode {
    /// Returns an error.
    #[default]
    Error,
    /// Leaves the table as it is.
    Ignore,
}

impl Default for ConvertOptions {
    fn default() -> Self {
        Self {
            mode: ConvertMode::default(),
            properties: HashMap::new(),
            name: None,
            description: None,
            iceberg_metadata: None,
            collect_statistics: true,
            dry_run: false,
            user_metadata: None,
            commit_info: InfoEntries::default(),
            upkeep: UpkeepOptions::default(),
            timeout: None,
        }
    }
}
