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
const FORM: u32 = 4;

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

impl WrittenFiles {
    /// Returns the files as bytes, in the format of this version of lakebed.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        write_files(self)
    }

    /// Reads files from bytes that [`Self::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let files = read_files(bytes)?;
        files.adds.iter().try_for_each(check)?;
        Ok(files)
    }
}

/// Checks that a new file is below the table's root and has no deleted rows.
fn check(add: &Add) -> Result<()> {
    let refuse =
        |why: &str| Err(Error::invalid_input(format!("{}: this file was not written by a task of a write: {why}", add.path)));
    match FilePath::parse(&add.path)? {
        FilePath::Absolute(_) => refuse("it is outside the table"),
        FilePath::Relative(path) if path.split('/').next() == Some("_delta_log") => refuse("it is a file of the log"),
        FilePath::Relative(_) if !add.data_change => refuse("its rows are marked as unchanged (dataChange is false)"),
        FilePath::Relative(_) if add.base_row_id.is_some() || add.default_row_commit_version.is_some() => {
            refuse("its rows have row ids already, but only the commit assigns them")
        }
        FilePath::Relative(_) if add.size < 0 => refuse("its size is negative"),
        FilePath::Relative(_) if add.deletion_vector.is_some() => refuse("some of its rows are deleted"),
        FilePath::Relative(_) => Ok(()),
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
