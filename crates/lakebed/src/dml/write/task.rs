//! A write whose files other processes write: what they need to know, and what they tell.
//!
//! A [`WriteTask`] goes outward, [`WrittenFiles`] come back, both as bytes that are each other's inverse with the value. Neither holds a
//! secret: whoever writes finds credentials by itself. They are input like any other, so reading them believes nothing.

#[cfg(test)]
mod tests;
mod wire;

use lakebed_core::action::Add;
use lakebed_core::path::FilePath;
use lakebed_core::schema::StructType;

use super::{OnLossy, WriteOptions};
use crate::definition::Definition;
use crate::rows::target::Target;
use crate::transaction::Application;
use crate::write::rules::Filling;
use crate::{Error, Result};

/// What to write, for any number of processes that do it together.
#[derive(Debug, Clone, PartialEq)]
pub struct WriteTask {
    /// The table's URL, without secrets.
    pub(super) table_url: String,
    /// The version that was looked at; none if there was no table.
    pub(super) version: Option<u64>,
    /// Of the data.
    pub(super) schema: StructType,
    pub(super) table: Definition,
    pub(super) options: WriteOptions,
    /// What the current time means in defaults and conditions, so that all processes agree.
    pub(super) now_ms: i64,
}

/// Files that one process wrote, and which no commit names yet.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WrittenFiles {
    pub(super) adds: Vec<Add>,
    pub(super) rows: u64,
    /// Identity columns by their places, with their marks afterwards.
    pub(super) marks: Vec<(usize, i64)>,
}

impl WriteTask {
    /// The task as bytes, in the form of this version of lakebed.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        crate::wire::check_root(&self.table_url)?;
        wire::write_task(self)
    }

    /// The task of bytes that [`Self::to_bytes`] made, perhaps in another version of lakebed.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let task = wire::read_task(bytes)?;
        crate::wire::check_root(&task.table_url)?;
        Ok(task)
    }

    /// Where the table is.
    pub fn table_url(&self) -> &str {
        &self.table_url
    }

    /// The names of the columns by whose values files are kept apart.
    pub fn partition_columns(&self) -> &[String] {
        &self.table.metadata.partition_columns
    }

    /// A property that the table will have.
    pub fn property(&self, name: &str) -> Option<&str> {
        self.table.metadata.property(name)
    }

    /// Whether digits that a column cannot hold are refused or cut.
    pub fn on_lossy(&self) -> OnLossy {
        self.options.on_lossy
    }

    /// Whether rows get numbers: then each process must know which part of how many it is.
    pub fn numbers_rows(&self) -> Result<bool> {
        let target = Target::new(self.table.clone(), &self.table_url, &self.options.file_settings(), self.now_ms)?;
        let is_given = |place: usize| {
            let field = target.rules.schema.fields.get(place);
            field.is_some_and(|field| self.schema.fields.iter().any(|given| given.name.eq_ignore_ascii_case(&field.name)))
        };
        Ok(target.rules.filled.iter().any(|(place, filling)| matches!(filling, Filling::Identity(_)) && !is_given(*place)))
    }

    /// An application and its own number of this write, where that is known only once the files are written.
    #[must_use]
    pub fn with_txn(mut self, txn: Application) -> Self {
        self.options.txn = Some(txn);
        self
    }
}

impl WrittenFiles {
    /// As bytes, in the form of this version of lakebed.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        wire::write_files(self)
    }

    /// Of bytes that [`Self::to_bytes`] made.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let files = wire::read_files(bytes)?;
        files.adds.iter().try_for_each(check)?;
        Ok(files)
    }

    /// How many rows they have.
    pub fn rows(&self) -> u64 {
        self.rows
    }
}

/// New files lie below the table's root, and have all their rows.
fn check(add: &Add) -> Result<()> {
    let refuse = |why: &str| Err(Error::invalid_input(format!("{}: not a file that a part of a write wrote: {why}", add.path)));
    match FilePath::parse(&add.path)? {
        FilePath::Absolute(_) => refuse("it is outside of the table"),
        FilePath::Relative(path) if path.split('/').next() == Some("_delta_log") => refuse("it is a file of the log"),
        FilePath::Relative(_) if !add.data_change => refuse("it says that its rows are not new"),
        FilePath::Relative(_) if add.base_row_id.is_some() || add.default_row_commit_version.is_some() => {
            refuse("its rows have ids, which only a commit gives")
        }
        FilePath::Relative(_) if add.size < 0 => refuse("its size is negative"),
        FilePath::Relative(_) if add.deletion_vector.is_some() => refuse("rows of it are deleted"),
        FilePath::Relative(_) => Ok(()),
    }
}
