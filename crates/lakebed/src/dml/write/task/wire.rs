//! The bytes of tasks. The format is JSON, because most of the content is log actions, and because a
//! reader of another version can name the parts that it does not know.

use lakebed_core::schema;
use serde::{Deserialize, Serialize};

use super::WriteTask;
use crate::Result;
use crate::definition::Definition;
use crate::dml::write::WriteOptions;

/// The version of the form. It increases when another version would write wrongly, or would report
/// the new form as damage.
const FORM: u32 = 5;

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

impl WriteTask {
    /// Returns the task as bytes, in the format of this version of lakebed.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        crate::wire::check_root(&self.table_url)?;
        write_task(self)
    }

    /// Reads a task from bytes that [`Self::to_bytes`] wrote, possibly in another version of
    /// lakebed.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let task = read_task(bytes)?;
        crate::wire::check_root(&task.table_url)?;
        Ok(task)
    }
}

fn write_task(task: &WriteTask) -> Result<Vec<u8>> {
    let task = task.clone();
    crate::wire::to_bytes(&Task {
        write_task: FORM,
        table_url: task.table_url,
        version: task.version,
        schema: task.schema.to_json(),
        table: task.table,
        options: task.options,
        now_ms: task.now_ms,
    })
}

fn read_task(bytes: &[u8]) -> Result<WriteTask> {
    let task: Task = crate::wire::from_bytes(bytes, "write_task", FORM)?;
    Ok(WriteTask {
        table_url: task.table_url,
        version: task.version,
        schema: schema::parse(&task.schema)?,
        table: task.table,
        options: task.options,
        now_ms: task.now_ms,
    })
}
