//! A write whose files other processes write: what they need to know, and what they tell.
//!
//! A [`WriteTask`] goes outward, [`WrittenFiles`] come back, both as bytes that are each other's inverse with the value. Neither holds a
//! secret: whoever writes finds credentials by itself. They are input like any other, so reading them believes nothing.

#[cfg(test)]
mod tests;
mod wire;

use lakebed_core::action::Add;
use lakebed_core::schema::StructType;

use super::WriteOptions;
use crate::Result;
use crate::definition::Definition;
use crate::rows::target::Target;
use crate::transaction::Application;
use crate::write::OnLossy;
use crate::write::rules::Filling;

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
    /// How many rows they have.
    pub fn rows(&self) -> u64 {
        self.rows
    }
}
