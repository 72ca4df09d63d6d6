//! The bytes of a scan task. The form is JSON because most of a task is text, and because a reader
//! of another version can name a field that it does not know.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use lakebed_core::action::DeletionVectorDescriptor;
use lakebed_core::schema;
use lakebed_expr::Predicate;

use super::ScanTask;
use crate::scan::file::{FileRows, ScanFile, invalid_task};
use crate::scan::row_column::{ChangeType, FileChange, RowColumn, RowColumnKind};
use crate::scan::row_tracking::{FileRowTracking, MaterializedColumns};
use crate::scan::spec::ScanSpec;
use crate::{Error, Result};

/// The version of the form. It increases when older readers would read rows wrongly.
const VERSION: u32 = 2;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Task {
    scan_task: u32,
    table_url: String,
    schema: String,
    partition_columns: Vec<String>,
    mapping_mode: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    columns: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    filter: Option<String>,
    now_ms: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limit: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    row_columns: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    materialized_row_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    materialized_row_commit_version: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    clone_sources: Vec<String>,
    files: Vec<File>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    path: String,
    size: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    range: Option<(u64, u64)>,
    #[serde(default, skip_serializing_if = "HashMap::is_empty")]
    partition_values: HashMap<String, Option<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deletion_vector: Option<DeletionVectorDescriptor>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    only_deleted_by: Option<DeletionVectorDescriptor>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    num_records: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base_row_id: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    default_row_commit_version: Option<i64>,
    modification_time: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    change: Option<Change>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    #[serde(rename = "type")]
    change_type: String,
    version: u64,
    timestamp_ms: i64,
}

impl ScanTask {
    /// Writes the task as bytes in the form of this version of lakebed.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.check()?;
        write(self)
    }

    /// Reads a task from bytes that [`Self::to_bytes`] wrote, possibly in another version of
    /// lakebed.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let task = read(bytes)?;
        task.check()?;
        Ok(task)
    }
}

fn write(task: &ScanTask) -> Result<Vec<u8>> {
    let ScanTask { spec: task, files } = task.clone();
    let wire = Task {
        scan_task: VERSION,
        table_url: task.table_url,
        schema: task.schema.to_json(),
        partition_columns: task.partition_columns,
        mapping_mode: task.mapping_mode.to_string(),
        columns: task.columns,
        filter: task.filter.map(|predicate| predicate.text().to_owned()),
        now_ms: task.now_ms,
        limit: task.limit,
        row_columns: task.row_columns.into_iter().map(|column| (column.kind.name().to_owned(), column.name)).collect(),
        materialized_row_id: task.materialized.row_id,
        materialized_row_commit_version: task.materialized.row_commit_version,
        clone_sources: task.clone_sources,
        files: files.into_iter().map(File::try_from).collect::<Result<_>>()?,
    };
    crate::wire::to_bytes(&wire)
}

fn read(bytes: &[u8]) -> Result<ScanTask> {
    let wire: Task = crate::wire::from_bytes(bytes, "scan_task", VERSION)?;
    let row_columns = wire.row_columns.into_iter().map(|(kind, name)| match RowColumnKind::of_name(&kind) {
        Some(kind) => Ok(RowColumn { kind, name }),
        None => Err(invalid_task(format!("there is no metadata column {kind}"))),
    });
    let spec = ScanSpec {
        table_url: wire.table_url,
        schema: schema::parse(&wire.schema)?,
        partition_columns: wire.partition_columns,
        mapping_mode: wire.mapping_mode.parse().map_err(|said| invalid_task(format!("the mapping mode {said}")))?,
        columns: wire.columns,
        filter: wire.filter.map(Predicate::from),
        now_ms: wire.now_ms,
        limit: wire.limit,
        row_columns: row_columns.collect::<Result<_>>()?,
        materialized: MaterializedColumns {
            row_id: wire.materialized_row_id,
            row_commit_version: wire.materialized_row_commit_version,
        },
        clone_sources: wire.clone_sources,
    };
    Ok(ScanTask { spec, files: wire.files.into_iter().map(ScanFile::try_from).collect::<Result<_>>()? })
}

impl TryFrom<ScanFile> for File {
    type Error = Error;

    fn try_from(file: ScanFile) -> Result<Self> {
        Ok(Self {
            path: file.path,
            size: file.size,
            range: file.range.map(|range| (range.start, range.end)),
            partition_values: file.partition_values,
            deletion_vector: file.deletion_vector.map(FileRows::into_descriptor).transpose()?,
            only_deleted_by: file.only.map(FileRows::into_descriptor).transpose()?,
            num_records: file.num_records,
            base_row_id: file.row_tracking.base_row_id,
            default_row_commit_version: file.row_tracking.default_row_commit_version,
            modification_time: file.modification_time,
            change: file.change.map(Change::from),
        })
    }
}

impl TryFrom<File> for ScanFile {
    type Error = Error;

    fn try_from(file: File) -> Result<Self> {
        Ok(Self {
            path: file.path,
            size: file.size,
            range: file.range.map(|(start, end)| start..end),
            partition_values: file.partition_values,
            deletion_vector: file.deletion_vector.map(FileRows::Stored),
            only: file.only_deleted_by.map(FileRows::Stored),
            num_records: file.num_records,
            row_tracking: FileRowTracking {
                base_row_id: file.base_row_id,
                default_row_commit_version: file.default_row_commit_version,
            },
            modification_time: file.modification_time,
            change: file.change.map(FileChange::try_from).transpose()?,
        })
    }
}

impl From<FileChange> for Change {
    fn from(change: FileChange) -> Self {
        Self { change_type: change.change_type.name().to_owned(), version: change.version, timestamp_ms: change.timestamp_ms }
    }
}

impl TryFrom<Change> for FileChange {
    type Error = Error;

    fn try_from(change: Change) -> Result<Self> {
        let change_type = ChangeType::of_name(&change.change_type)
            .ok_or_else(|| invalid_task(format!("there is no change type {}", change.change_type)))?;
        Ok(Self { change_type, version: change.version, timestamp_ms: change.timestamp_ms })
    }
}
