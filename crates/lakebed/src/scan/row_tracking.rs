//! What the log and the table's properties say about the ids and commit versions of rows.
//!
//! PROTOCOL "Row Tracking": a row that was never rewritten has its id and version from the `add`
//! action of its file. The file stores both for a row that moved from another file.

/// The row tracking fields of the `add` action of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileRowTracking {
    /// The row id of the file's first row.
    pub base_row_id: Option<i64>,
    /// The commit version of rows that do not store their own.
    pub default_row_commit_version: Option<i64>,
}

/// The columns of data files that store the ids and commit versions of rows that moved. Table
/// properties give their names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MaterializedColumns {
    /// The column with row ids.
    pub row_id: Option<String>,
    /// The column with row commit versions.
    pub row_commit_version: Option<String>,
}
