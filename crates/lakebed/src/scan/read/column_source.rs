//! The source of an output column: a column of the file, the log, or the position of the row.

/// The source of an output column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ColumnSource {
    /// The position of a column of the file. Columns of the condition are counted first, then the
    /// others.
    File(usize),
    /// The position of a partition column.
    Partition(usize),
    FilePath,
    FileSize,
    FileIndex,
    RowIndex,
    /// The position of the column that stores the ids of rows that moved, if there is one.
    RowId(Option<usize>),
    /// The position of the column that stores the versions of rows that moved, if there is one.
    RowCommitVersion(Option<usize>),
    /// The position of the column that stores the change type of each row, if a file of the task
    /// has one.
    ChangeType(Option<usize>),
    CommitVersion,
    CommitTimestamp,
}

impl ColumnSource {
    /// Returns the position of the column of the file that this source reads, if it reads one.
    pub(super) fn position(self) -> Option<usize> {
        match self {
            Self::File(position) => Some(position),
            Self::RowId(moved) | Self::RowCommitVersion(moved) | Self::ChangeType(moved) => moved,
            _ => None,
        }
    }

    /// Returns whether the value depends on the positions of rows.
    pub(super) fn is_of_positions(self) -> bool {
        matches!(self, Self::RowIndex | Self::RowId(_))
    }
}
