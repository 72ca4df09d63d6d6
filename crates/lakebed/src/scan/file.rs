//! A data file as a scan reads it, and which of its rows are meant.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use lakebed_core::action::{Add, DeletionVectorDescriptor};
use lakebed_core::dv::DeletionVector;
use lakebed_io::dv::read_deletion_vector;
use lakebed_io::store::Store;

use super::row_column::FileChange;
use crate::{Error, Result};

/// A data file with what the log says about it, and which of its rows are meant.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ScanFile {
    /// As the log spells it.
    pub path: String,
    /// In bytes.
    pub size: u64,
    /// Only the row groups that have their middle in these bytes of the file, so that several tasks can share it; else all.
    pub range: Option<Range<u64>>,
    /// Text by physical column name.
    pub partition_values: HashMap<String, Option<String>>,
    /// The deleted rows.
    pub deletion_vector: Option<FileRows>,
    /// Only these rows, such as those that a commit deleted or restored; else all.
    pub only: Option<FileRows>,
    /// Rows with those that are deleted, if the log says it.
    pub num_records: Option<u64>,
    /// The row id of the first row.
    pub base_row_id: Option<i64>,
    /// The commit version of rows without their own.
    pub default_row_commit_version: Option<i64>,
    /// Milliseconds since the epoch.
    pub modification_time: i64,
    /// The change of the table that its rows are, in a query of changes.
    pub change: Option<FileChange>,
}

/// Rows of a data file, by their positions.
#[derive(Debug, Clone, PartialEq)]
pub enum FileRows {
    /// The log names them.
    Stored(DeletionVectorDescriptor),
    /// This process found them.
    Known(Arc<DeletionVector>),
}

impl ScanFile {
    /// The file that an action adds; `num_records` from its statistics.
    pub fn new(add: Add, num_records: Option<u64>) -> Result<Self> {
        Ok(Self {
            size: u64::try_from(add.size)
                .map_err(|_| Error::corrupt(&add.path, format!("the log says that its size is {}", add.size)))?,
            path: add.path,
            partition_values: add.partition_values,
            deletion_vector: add.deletion_vector.map(FileRows::Stored),
            num_records,
            base_row_id: add.base_row_id,
            default_row_commit_version: add.default_row_commit_version,
            modification_time: add.modification_time,
            ..Self::default()
        })
    }

    /// How many rows are meant, if the log says it.
    pub fn live_rows(&self) -> Result<Option<u64>> {
        let Some(physical) = self.num_records else { return Ok(None) };
        let deleted = self.deletion_vector.as_ref().map_or(0, FileRows::count);
        match u64::try_from(deleted).ok().and_then(|deleted| physical.checked_sub(deleted)) {
            Some(live) => Ok(Some(live).filter(|_| self.range.is_none() && self.only.is_none())),
            None => Err(Error::corrupt(&self.path, format!("its deletion vector deletes {deleted} of {physical} rows"))),
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        lakebed_core::path::FilePath::parse(&self.path)?;
        for rows in self.deletion_vector.iter().chain(&self.only) {
            rows.check()?;
        }
        self.live_rows()?;
        if self.base_row_id.is_some_and(|id| id < 0) {
            return Err(Error::corrupt(&self.path, "its first row id is negative"));
        }
        if self.range.as_ref().is_some_and(|range| range.start >= range.end) {
            return Err(Error::invalid_input(format!("{}: its range holds no bytes", self.path)));
        }
        Ok(())
    }
}

impl FileRows {
    /// How many rows there are, as far as the log is right about it.
    pub fn count(&self) -> i64 {
        match self {
            Self::Stored(descriptor) => descriptor.cardinality,
            Self::Known(rows) => i64::try_from(rows.len()).unwrap_or(i64::MAX),
        }
    }

    /// The positions. They are read if the log names them.
    pub(crate) async fn read(&self, store: &Store) -> Result<Arc<DeletionVector>> {
        match self {
            Self::Stored(descriptor) => read_deletion_vector(store, descriptor).await.map(Arc::new),
            Self::Known(rows) => Ok(Arc::clone(rows)),
        }
    }

    /// The rows as another process can read them.
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
