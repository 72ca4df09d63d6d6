//! The task of a distributed write.
//!
//! A [`WriteTask`] goes to the writing processes, and [`Effects`](crate::dml::Effects) come back.
//! Both can be converted to bytes and back. Neither contains secrets: the writing process finds its
//! own credentials. The bytes are untrusted input, so reading validates them.

#[cfg(test)]
mod tests;
mod wire;

use lakebed_core::schema::StructType;

use super::WriteOptions;
use crate::Result;
use crate::definition::Definition;
use crate::rows::target::Target;
use crate::transaction::Application;
use crate::write::OnLossy;
use crate::write::rules::Filling;

/// A write task for any number of processes.
#[derive(Debug, Clone, PartialEq)]
pub struct WriteTask {
    /// The table's URL, without secrets.
    pub(super) table_url: String,
    /// The version on which the write was planned; None if there was no table.
    pub(super) version: Option<u64>,
    /// The schema of the data.
    pub(super) schema: StructType,
    pub(super) table: Definition,
    pub(super) options: WriteOptions,
    /// The value of the current time in defaults and conditions, so that all processes agree.
    pub(super) now_ms: i64,
}

impl WriteTask {
    /// Returns the location of the table.
    pub fn table_url(&self) -> &str {
        &self.table_url
    }

    /// Returns the names of the partition columns.
    pub fn partition_columns(&self) -> &[String] {
        &self.table.metadata.partition_columns
    }

    /// Returns a property that the table will have.
    pub fn property(&self, name: &str) -> Option<&str> {
        self.table.metadata.property(name)
    }

    /// Returns whether digits that a column cannot hold are refused or cut.
    pub fn on_lossy(&self) -> OnLossy {
        self.options.on_lossy
    }

    /// Returns whether the write numbers rows. Then each process must know its part number and the
    /// number of parts.
    pub fn numbers_rows(&self) -> Result<bool> {
        let target = Target::new(self.table.clone(), &self.table_url, &self.options.file_settings(), self.now_ms)?;
        let is_given = |place: usize| {
            let field = target.rules.schema.fields.get(place);
            field.is_some_and(|field| self.schema.fields.iter().any(|given| given.name.eq_ignore_ascii_case(&field.name)))
        };
        Ok(target.rules.filled.iter().any(|(place, filling)| matches!(filling, Filling::Identity(_)) && !is_given(*place)))
    }

    /// Sets an application id and its number of this write, if they are known only after the files
    /// are written.
    #[must_use]
    pub fn with_txn(mut self, txn: Application) -> Self {
        self.options.txn = Some(txn);
        self
    }
}
