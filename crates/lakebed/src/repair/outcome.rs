//! The outcome of a repair.

use serde::Serialize;

use crate::check::CheckOutcome;

/// What a repair does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RepairKind {
    /// A commit of the broken tail of the log is moved aside, with the files of its version.
    CutCommit,
    /// A broken or wrong file of the log that the commits replace is moved aside.
    MoveAside,
    /// A checkpoint of the newest version is written, with the hint and the checksum.
    WriteCheckpoint,
    /// The statistics of a data file are computed from its rows.
    ComputeStatistics,
    /// The high-water mark of row ids is raised to the greatest row id.
    RaiseRowIdMark,
    /// A data file is removed from the table, because it or its deletion vector cannot be read. Its
    /// rows are lost.
    DropFile,
    /// A deletion vector that cannot be read is removed from its data file. The rows that it deleted
    /// come back.
    DropDeletionVector,
    /// A file of deletion vectors that no version names is deleted.
    DeleteOrphan,
}

/// One thing that was done, or would be done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RepairAction {
    /// What is done.
    pub kind: RepairKind,
    /// The file: a name in the log, or the path of a data file as the log spells it.
    pub file: Option<String>,
    /// The version of a file of the log.
    pub version: Option<u64>,
    /// The reason.
    pub reason: String,
}

/// The outcome of a repair.
#[derive(Debug, Clone, PartialEq)]
pub struct RepairOutcome {
    /// Whether nothing was written.
    pub is_dry_run: bool,
    /// What was done, or would be done.
    pub actions: Vec<RepairAction>,
    /// The check of the table: before a dry run, and after a repair.
    pub check: CheckOutcome,
    /// The versions that the repair committed.
    pub commits: Vec<u64>,
}
