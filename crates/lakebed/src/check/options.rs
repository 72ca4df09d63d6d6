//! The options of a check.

use serde::{Deserialize, Serialize};

/// The depth of a check. Each level includes the ones before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The commits that the newest version needs exist and can be parsed. The schema and the
    /// properties are valid, and the protocol is supported. The hint names a checkpoint.
    Log,
    /// The newest checkpoints and the checksum agree with the commits, and every file action of the
    /// newest version is valid.
    State,
    /// Every data file and every file of deletion vectors exists with the recorded size.
    #[default]
    Files,
    /// The footers of data files agree with the log, and deletion vectors can be read.
    Footers,
    /// Every row can be decoded and meets all conditions of the table.
    Rows,
    /// Every version that the log should be able to rebuild can be rebuilt, and the files of recent
    /// versions exist.
    History,
}

/// The options of a check.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CheckOptions {
    /// The depth.
    pub level: Level,
    /// The most findings of each kind that the outcome lists. All are counted.
    pub limit: usize,
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self { level: Level::default(), limit: 100 }
    }
}
