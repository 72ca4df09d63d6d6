//! Columns that tell something about rows: where they are, who they are, which change of the table they belong to.

use arrow_schema::{DataType as ArrowType, TimeUnit};

/// A column about rows, under a name of the caller's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowColumn {
    /// What it holds.
    pub kind: RowColumnKind,
    /// Its name in the output.
    pub name: String,
}

/// What can be said about a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RowColumnKind {
    /// The file's path as the log spells it.
    FilePath,
    /// The file's size in bytes.
    FileSize,
    /// The file's place among those of the task, counted from 0: shorter than its path.
    FileIndex,
    /// The row's position in its file, counted from 0, deleted rows included.
    RowIndex,
    /// The stable row id. PROTOCOL "Row Tracking".
    RowId,
    /// The version that last wrote the row. PROTOCOL "Row Tracking".
    RowCommitVersion,
    /// Whether the row was inserted, deleted or updated. PROTOCOL "Add CDC File".
    ChangeType,
    /// The version that made the change.
    CommitVersion,
    /// When that version was made.
    CommitTimestamp,
}

/// The change of the table that the rows of a file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileChange {
    /// What happened to the rows.
    pub change_type: ChangeType,
    /// The version that made the change.
    pub version: u64,
    /// When that version was made, in milliseconds since the epoch.
    pub timestamp_ms: i64,
}

/// What happened to the rows of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChangeType {
    /// All were inserted.
    Insert,
    /// All were deleted.
    Delete,
    /// Each row says it itself, in the column [`CHANGE_TYPE_COLUMN`](Self::CHANGE_TYPE_COLUMN).
    InFile,
}

impl RowColumn {
    /// A column of this kind.
    pub fn new(kind: RowColumnKind, name: impl Into<String>) -> Self {
        Self { kind, name: name.into() }
    }
}

impl RowColumnKind {
    const ALL: [Self; 9] = [
        Self::FilePath,
        Self::FileSize,
        Self::FileIndex,
        Self::RowIndex,
        Self::RowId,
        Self::RowCommitVersion,
        Self::ChangeType,
        Self::CommitVersion,
        Self::CommitTimestamp,
    ];

    /// Its name in tasks and options.
    pub fn name(self) -> &'static str {
        match self {
            Self::FilePath => "file_path",
            Self::FileSize => "file_size",
            Self::FileIndex => "file_index",
            Self::RowIndex => "row_index",
            Self::RowId => "row_id",
            Self::RowCommitVersion => "row_commit_version",
            Self::ChangeType => "change_type",
            Self::CommitVersion => "commit_version",
            Self::CommitTimestamp => "commit_timestamp",
        }
    }

    /// The kind of this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The type of the column.
    pub fn arrow_type(self) -> ArrowType {
        match self {
            Self::FilePath | Self::ChangeType => ArrowType::Utf8,
            Self::FileSize | Self::FileIndex | Self::RowIndex | Self::RowId | Self::RowCommitVersion | Self::CommitVersion => {
                ArrowType::Int64
            }
            Self::CommitTimestamp => ArrowType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        }
    }

    /// Files from before row tracking have neither ids nor versions.
    pub(super) fn is_nullable(self) -> bool {
        matches!(self, Self::RowId | Self::RowCommitVersion)
    }

    /// Whether it is known only of files that are changes.
    pub(crate) fn is_of_change(self) -> bool {
        matches!(self, Self::ChangeType | Self::CommitVersion | Self::CommitTimestamp)
    }

    /// Whether it is known only in tables that track rows.
    pub(crate) fn is_of_row_tracking(self) -> bool {
        matches!(self, Self::RowId | Self::RowCommitVersion)
    }
}

impl ChangeType {
    /// The column of a file of changed rows that says what happened to each.
    pub const CHANGE_TYPE_COLUMN: &str = "_change_type";

    const ALL: [Self; 3] = [Self::Insert, Self::Delete, Self::InFile];

    /// Its name in tasks; of those that hold for all rows also the text of the column.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Delete => "delete",
            Self::InFile => "in_file",
        }
    }

    pub(super) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}
