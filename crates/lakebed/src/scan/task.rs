//! A piece of a scan that can cross processes: which files to read, and how their rows become rows of the table.
//!
//! [`ScanTask::to_bytes`] and [`ScanTask::from_bytes`] are each other's inverse. The bytes hold no secrets: whoever reads the task finds
//! credentials by itself. They are input like any other, so `from_bytes` believes nothing. Reading is in `read`.

#[cfg(test)]
mod tests;
mod wire;

use std::collections::HashMap;

use arrow_schema::{DataType as ArrowType, Field, Schema, SchemaRef};

use lakebed_core::action::{Add, DeletionVectorDescriptor};
use lakebed_core::schema::StructType;
use lakebed_core::schema::arrow::schema_to_arrow;
use lakebed_core::schema::mapping::MappingMode;

use super::read::columns::Columns;
use crate::{Error, Result};

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
    /// Logical column paths (`a`, `a.b`) in the order of the output; None is all columns.
    pub columns: Option<Vec<String>>,
    /// Only rows for which this Spark SQL expression over logical columns is true.
    pub filter: Option<String>,
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

/// A data file with what the log says about it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ScanFile {
    /// As the log spells it.
    pub path: String,
    /// In bytes.
    pub size: u64,
    /// Text by physical column name.
    pub partition_values: HashMap<String, Option<String>>,
    /// Which rows are deleted.
    pub deletion_vector: Option<DeletionVectorDescriptor>,
    /// Rows with those that are deleted, if the log says it.
    pub num_records: Option<u64>,
    /// The row id of the first row.
    pub base_row_id: Option<i64>,
    /// The commit version of rows without their own.
    pub default_row_commit_version: Option<i64>,
    /// Milliseconds since the epoch.
    pub modification_time: i64,
}

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
    /// The row's position in its file, counted from 0, deleted rows included.
    RowIndex,
    /// The stable row id. PROTOCOL "Row Tracking".
    RowId,
    /// The version that last wrote the row. PROTOCOL "Row Tracking".
    RowCommitVersion,
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

    /// The schema of what reading it gives.
    pub fn output_schema(&self) -> Result<SchemaRef> {
        let columns = Columns::select(&self.schema, self.columns.as_deref())?;
        let schema = schema_to_arrow(columns.schema())?;
        if self.row_columns.is_empty() {
            return Ok(schema);
        }
        let of_rows = self
            .row_columns
            .iter()
            .map(|column| Field::new(&column.name, column.kind.arrow_type(), column.kind.is_nullable()).into());
        Ok(Schema::new(schema.fields().iter().cloned().chain(of_rows).collect::<Vec<_>>()).into())
    }

    /// What the bytes of a stranger could get wrong.
    fn check(&self) -> Result<()> {
        wire::check_root(&self.table_url)?;
        for column in &self.partition_columns {
            if self.schema.field(column).is_none() {
                return Err(invalid(format!("partition column {column} is not in the schema")));
            }
        }
        let schema = self.output_schema()?;
        for (index, field) in schema.fields().iter().enumerate() {
            if schema.fields().iter().take(index).any(|other| other.name() == field.name()) {
                return Err(invalid(format!("column {} would come out twice", field.name())));
            }
        }
        self.files.iter().try_for_each(ScanFile::check)
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
        })
    }

    /// How many rows it has without those that are deleted, if the log says it.
    pub fn live_rows(&self) -> Result<Option<u64>> {
        let Some(physical) = self.num_records else { return Ok(None) };
        let deleted = self.deletion_vector.as_ref().map_or(0, |vector| vector.cardinality);
        match u64::try_from(deleted).ok().and_then(|deleted| physical.checked_sub(deleted)) {
            Some(live) => Ok(Some(live)),
            None => Err(Error::corrupt(&self.path, format!("its deletion vector deletes {deleted} of {physical} rows"))),
        }
    }

    fn check(&self) -> Result<()> {
        lakebed_core::path::FilePath::parse(&self.path)?;
        if let Some(vector) = &self.deletion_vector {
            lakebed_core::dv::place(vector)?;
        }
        self.live_rows()?;
        if self.base_row_id.is_some_and(|id| id < 0) {
            return Err(Error::corrupt(&self.path, "its first row id is negative"));
        }
        Ok(())
    }
}

impl RowColumnKind {
    /// The type of the column.
    pub fn arrow_type(self) -> ArrowType {
        match self {
            Self::FilePath => ArrowType::Utf8,
            Self::RowIndex | Self::RowId | Self::RowCommitVersion => ArrowType::Int64,
        }
    }

    /// Files from before row tracking have neither ids nor versions.
    fn is_nullable(self) -> bool {
        matches!(self, Self::RowId | Self::RowCommitVersion)
    }
}

fn invalid(message: impl std::fmt::Display) -> Error {
    Error::invalid_input(format!("not a scan task that can be read: {message}"))
}
