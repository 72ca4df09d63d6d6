//! The bytes of tasks and files: JSON, since most of it is actions of the log, and a reader of another version can say what it does not know.

use lakebed_core::action::Add;
use lakebed_core::schema;
use serde::{Deserialize, Serialize};

use super::{WriteTask, WrittenFiles};
use crate::Result;
use crate::definition::Definition;
use crate::dml::write::WriteOptions;

/// The forms of tasks and of files. They count up when others would write or commit wrongly, or take another form for damage.
const TASK: u32 = 3;
const FILES: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Task {
    write_task: u32,
    table_url: String,
    version: Option<u64>,
    schema: String,
    table: Definition,
    options: WriteOptions,
    now_ms: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Files {
    written_files: u32,
    rows: u64,
    marks: Vec<(usize, i64)>,
    adds: Vec<Add>,
}

pub(super) fn write_task(task: &WriteTask) -> Result<Vec<u8>> {
    let task = task.clone();
    crate::wire::to_bytes(&Task {
        write_task: TASK,
        table_url: task.table_url,
        version: task.version,
        schema: task.schema.to_json(),
        table: task.table,
        options: task.options,
        now_ms: task.now_ms,
    })
}

pub(super) fn read_task(bytes: &[u8]) -> Result<WriteTask> {
    let task: Task = crate::wire::from_bytes(bytes, "write_task", TASK)?;
    Ok(WriteTask {
        table_url: task.table_url,
        version: task.version,
        schema: schema::parse(&task.schema)?,
        table: task.table,
        options: task.options,
        now_ms: task.now_ms,
    })
}

pub(super) fn write_files(files: &WrittenFiles) -> Result<Vec<u8>> {
    let WrittenFiles { adds, rows, marks } = files.clone();
    crate::wire::to_bytes(&Files { written_files: FILES, rows, marks, adds })
}

pub(super) fn read_files(bytes: &[u8]) -> Result<WrittenFiles> {
    let Files { adds, rows, marks, .. } = crate::wire::from_bytes(bytes, "written_files", FILES)?;
    Ok(WrittenFiles { adds, rows, marks })
}
