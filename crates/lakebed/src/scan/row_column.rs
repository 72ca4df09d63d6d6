//! Columns that describe rows: their position, their identity, and the change of the table that
//! they belong to.

use arrow_schema::{DataType as ArrowType, TimeUnit};

/// A column about rows, under a name that the caller chose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowColumn {
    /// The content of the column.
    pub kind: RowColumnKind,
    /// The name of the column in the output.
    pub name: String,
}

/// The content of a column about rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RowColumnKind {
    /// The path of the file, as the log spells it.
    FilePath,
    /// The size of the file in bytes.
    FileSize,
    /// The index of the file among the files of the task, counted from 0. It is shorter than the
    /// path.
    FileIndex,
    /// The position of the row in its file, counted from 0, including deleted rows.
    RowIndex,
    /// The stable row id. PROTOCOL "Row Tracking".
    RowId,
    /// The version that last wrote the row. PROTOCOL "Row Tracking".
    RowCommitVersion,
    /// Whether the row was inserted, deleted or updated. PROTOCOL "Add CDC File".
    ChangeType,
    /// The version that made the change.
    CommitVersion,
    /// The timestamp of that version.
    CommitTimestamp,
}

/// The change of the table that the rows of a file describe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileChange {
    /// The kind of change.
    pub change_type: ChangeType,
    /// The version that made the change.
    pub version: u64,
    /// The timestamp of that version, in milliseconds since the epoch.
    pub timestamp_ms: i64,
}

/// The kind of change of the rows of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChangeType {
    /// All rows were inserted.
    Insert,
    /// All rows were deleted.
    Delete,
    /// Each row stores its own change type in the column
    /// [`CHANGE_TYPE_COLUMN`](Self::CHANGE_TYPE_COLUMN).
    InFile,
}

impl RowColumn {
    /// Returns a column of this kind.
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

    /// Returns the name of the kind in tasks and options.
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

    /// Returns the kind with this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns the type of the column.
    pub fn arrow_type(self) -> ArrowType {
        match self {
            Self::FilePath | Self::ChangeType => ArrowType::Utf8,
            Self::FileSize | Self::FileIndex | Self::RowIndex | Self::RowId | Self::RowCommitVersion | Self::CommitVersion => {
                ArrowType::Int64
            }
            Self::CommitTimestamp => ArrowType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        }
    }

    /// Returns whether the column may be null. Files written before row tracking have neither row
    /// ids nor versions.
    pub(super) fn is_nullable(self) -> bool {
        matches!(self, Self::RowId | Self::RowCommitVersion)
    }

    /// Returns whether only files of a change data feed have this column.
    pub(crate) fn is_of_change(self) -> bool {
        matches!(self, Self::ChangeType | Self::CommitVersion | Self::CommitTimestamp)
    }

    /// Returns whether only tables with row tracking have this column.
    pub(crate) fn is_of_row_tracking(self) -> bool {
        matches!(self, Self::RowId | Self::RowCommitVersion)
    }
}

impl ChangeType {
    /// The column of a change data file that stores the change type of each row.
    pub const CHANGE_TYPE_COLUMN: &str = "_change_type";

    const ALL: [Self; 3] = [Self::Insert, Self::Delete, Self::InFile];

    /// Returns the name in tasks. For a type that all rows of a file share, it is also the value of
    /// the column.
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
