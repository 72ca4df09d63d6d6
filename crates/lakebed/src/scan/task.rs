//! A piece of a scan that can cross processes: which files to read, and how their rows become rows of the table.
//!
//! [`ScanTask::to_bytes`] and [`ScanTask::from_bytes`] are each other's inverse. The bytes hold no secrets: whoever reads the task finds
//! credentials by itself. They are input like any other, so `from_bytes` believes nothing. Reading is in `read`.

mod output;
mod row_column;
#[cfg(test)]
mod tests;
mod wire;

use std::collections::HashMap;
use std::ops::Range;

use lakebed_core::action::{Add, DeletionVectorDescriptor};
use lakebed_core::schema::StructType;
use lakebed_core::schema::mapping::MappingMode;

use crate::expr::Predicate;
use crate::{Error, Result};

pub(crate) use output::OutputColumn;
pub use row_column::{ChangeType, FileChange, RowColumn, RowColumnKind};

/// Files of one table, and what to read of them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ScanTask {
    /// The table's URL, without secrets.
    pub table_url: String,
    /// In the order in which their rows come out.
    pub files: Vec<ScanFile>,
    /// The table's logical schema, with the metadata of its fields.
    pub schema: StructType,
    /// Logical names.
    pub partition_columns: Vec<String>,
    /// How columns of data files are found.
    pub mapping_mode: MappingMode,
    /// Logical column paths (`a`, `a.b`) in the order of the output, and such as `_metadata.row_id` for columns about rows; None is all columns.
    pub columns: Option<Vec<String>>,
    /// Only rows for which this predicate over logical columns is true.
    pub filter: Option<Predicate>,
    /// What `current_timestamp` means in the filter, in milliseconds, so that all tasks of a scan agree.
    pub now_ms: i64,
    /// Rows at most, over all files.
    pub limit: Option<u64>,
    /// Columns about rows rather than of the table, behind the others.
    pub row_columns: Vec<RowColumn>,
    /// Where files keep row ids that moved with their rows: the name that the table property gives.
    pub materialized_row_id: Option<String>,
    /// The same of row commit versions.
    pub materialized_row_commit_version: Option<String>,
}

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
    /// Which rows are deleted.
    pub deletion_vector: Option<DeletionVectorDescriptor>,
    /// Only rows that this vector deletes, such as those that a commit deleted or restored; else all.
    pub only_deleted_by: Option<DeletionVectorDescriptor>,
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

impl ScanTask {
    /// The task as bytes, in the form of this version of lakebed.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.check()?;
        wire::write(self)
    }

    /// The task of bytes that [`Self::to_bytes`] made, perhaps in another version of lakebed.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let task = wire::read(bytes)?;
        task.check()?;
        Ok(task)
    }

    /// What the bytes of a stranger could get wrong.
    fn check(&self) -> Result<()> {
        crate::wire::check_root(&self.table_url)?;
        for column in &self.partition_columns {
            if self.schema.field(column).is_none() {
                return Err(invalid(format!("partition column {column} is not in the schema")));
            }
        }
        self.output_schema()?;
        self.files.iter().try_for_each(ScanFile::check)?;
        let asks = self.row_columns.iter().find(|column| column.kind.is_of_change());
        match (asks, self.files.iter().find(|file| file.change.is_none())) {
            (Some(column), Some(file)) => {
                Err(invalid(format!("column {} tells of changes, of which {} is none", column.name, file.path)))
            }
            _ => Ok(()),
        }
    }
}

impl ScanFile {
    /// The file that an action adds; `num_records` from its statistics.
    pub fn new(add: Add, num_records: Option<u64>) -> Result<Self> {
        Ok(Self {
            size: u64::try_from(add.size)
                .map_err(|_| Error::corrupt(&add.path, format!("the log says that its size is {}", add.size)))?,
            path: add.path,
            partition_values: add.partition_values,
            deletion_vector: add.deletion_vector,
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
        let deleted = self.deletion_vector.as_ref().map_or(0, |vector| vector.cardinality);
        match u64::try_from(deleted).ok().and_then(|deleted| physical.checked_sub(deleted)) {
            Some(live) => Ok(Some(live).filter(|_| self.range.is_none() && self.only_deleted_by.is_none())),
            None => Err(Error::corrupt(&self.path, format!("its deletion vector deletes {deleted} of {physical} rows"))),
        }
    }

    fn check(&self) -> Result<()> {
        lakebed_core::path::FilePath::parse(&self.path)?;
        for vector in self.deletion_vector.iter().chain(&self.only_deleted_by) {
            lakebed_core::dv::place(vector)?;
        }
        self.live_rows()?;
        if self.base_row_id.is_some_and(|id| id < 0) {
            return Err(Error::corrupt(&self.path, "its first row id is negative"));
        }
        if self.range.as_ref().is_some_and(|range| range.start >= range.end) {
            return Err(invalid(format!("{}: its range holds no bytes", self.path)));
        }
        Ok(())
    }
}

fn invalid(message: impl std::fmt::Display) -> Error {
    Error::invalid_input(format!("not a scan task that can be read: {message}"))
}
