//! A data file as a scan reads it, and the rows of it that belong to the scan.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use lakebed_core::action::{Add, DeletionVectorDescriptor};
use lakebed_core::dv::DeletionVector;
use lakebed_io::dv::read_deletion_vector;
use lakebed_io::store::Store;

use super::row_column::FileChange;
use super::row_tracking::FileRowTracking;
use crate::{Error, Result};

/// A data file with its facts from the log, and the rows of it that belong to the scan.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ScanFile {
    /// The path, as the log spells it.
    pub path: String,
    /// The size in bytes.
    pub size: u64,
    /// If set, only the row groups with their middle in this byte range are read, so that several
    /// tasks can share the file. Otherwise all row groups are read.
    pub range: Option<Range<u64>>,
    /// The partition values as strings, by physical column name.
    pub partition_values: HashMap<String, Option<String>>,
    /// The deleted rows.
    pub deletion_vector: Option<FileRows>,
    /// If set, only these rows are read, such as the rows that a commit deleted or restored.
    /// Otherwise all rows are read.
    pub only: Option<FileRows>,
    /// The number of rows including deleted ones, if the log gives it.
    pub num_records: Option<u64>,
    /// The row id of the first row, and the commit version of rows that do not store their own.
    pub row_tracking: FileRowTracking,
    /// The modification time, in milliseconds since the epoch.
    pub modification_time: i64,
    /// The change of the table that the rows of this file describe, in a change data feed.
    pub change: Option<FileChange>,
}

/// Rows of a data file, given by their positions.
#[derive(Debug, Clone, PartialEq)]
pub enum FileRows {
    /// The log names the rows in a deletion vector.
    Stored(DeletionVectorDescriptor),
    /// This process found the rows and holds a bitmap of them.
    Known(Arc<DeletionVector>),
}

impl ScanFile {
    /// Returns the file that an `add` action names. `num_records` comes from its statistics.
    pub fn new(add: Add, num_records: Option<u64>) -> Result<Self> {
        Ok(Self {
            size: u64::try_from(add.size)
                .map_err(|_| Error::corrupt(&add.path, format!("the log says that its size is {}", add.size)))?,
            path: add.path,
            partition_values: add.partition_values,
            deletion_vector: add.deletion_vector.map(FileRows::Stored),
            num_records,
            row_tracking: FileRowTracking {
                base_row_id: add.base_row_id,
                default_row_commit_version: add.default_row_commit_version,
            },
            modification_time: add.modification_time,
            ..Self::default()
        })
    }

    /// Returns how many rows are read, if the log determines it.
    pub fn live_rows(&self) -> Result<Option<u64>> {
        let Some(physical) = self.num_records else { return Ok(None) };
        let deleted = self.deletion_vector.as_ref().map_or(0, FileRows::count);
        match u64::try_from(deleted).ok().and_then(|deleted| physical.checked_sub(deleted)) {
            Some(live) => Ok(Some(live).filter(|_| self.range.is_none() && self.only.is_none())),
            None => Err(Error::corrupt(
                &self.path,
                format!("its deletion vector deletes {deleted} rows, but the file has {physical}"),
            )),
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        lakebed_core::path::FilePath::parse(&self.path)?;
        for rows in self.deletion_vector.iter().chain(&self.only) {
            rows.check()?;
        }
        self.live_rows()?;
        if self.row_tracking.base_row_id.is_some_and(|id| id < 0) {
            return Err(Error::corrupt(&self.path, "its first row id is negative"));
        }
        if self.range.as_ref().is_some_and(|range| range.start >= range.end) {
            return Err(invalid_task(format!("{}: its range contains no bytes", self.path)));
        }
        Ok(())
    }
}

impl FileRows {
    /// Returns the number of rows. For a stored deletion vector it is the number that the log
    /// claims.
    pub fn count(&self) -> i64 {
        match self {
            Self::Stored(descriptor) => descriptor.cardinality,
            Self::Known(rows) => i64::try_from(rows.len()).unwrap_or(i64::MAX),
        }
    }

    /// Returns the positions. A deletion vector that the log names is read from the store.
    pub(crate) async fn read(&self, store: &Store) -> Result<Arc<DeletionVector>> {
        match self {
            Self::Stored(descriptor) => read_deletion_vector(store, descriptor).await.map(Arc::new),
            Self::Known(rows) => Ok(Arc::clone(rows)),
        }
    }

    /// Returns the rows in a form that another process can read.
    pub(super) fn into_descriptor(self) -> Result<DeletionVectorDescriptor> {
        match self {
            Self::Stored(descriptor) => Ok(descriptor),
            Self::Known(rows) => rows.to_inline(),
        }
    }

    fn check(&self) -> Result<()> {
        match self {
            Self::Stored(descriptor) => lakebed_core::dv::location(descriptor).map(|_| ()),
            Self::Known(_) => Ok(()),
        }
    }
}

/// Returns the error for a task that contradicts itself.
pub(super) fn invalid_task(message: impl std::fmt::Display) -> Error {
    Error::invalid_input(format!("this is not a scan task that can be read: {message}"))
}
