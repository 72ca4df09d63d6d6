//! The rows of a new checkpoint as Arrow batches in the schema that readers expect.
//!
//! Start with [`CheckpointRows`]: it chooses the columns by the table's properties, and converts
//! files, tombstones and all other actions to them. [`state_actions`] and [`Tombstones`] choose the
//! state that belongs to a checkpoint. Writing the file is not part of this module.

mod columns;
mod file_rows;
mod cast;
mod other_rows;
mod action_rows;
mod stats;
mod table_head;
#[cfg(test)]
mod tests;
mod tombstones;

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema, SchemaRef};

use crate::Result;
use crate::action::{Action, DomainMetadata, Metadata, Protocol, SetTransaction};
use crate::log::files::FileBatch;

pub use action_rows::ActionRows;
use file_rows::FileRows;
pub use table_head::TableHead;
pub use tombstones::{Tombstones, old_tombstones};

/// Builds the rows of a table's checkpoint.
pub struct CheckpointRows {
    files: FileRows,
}

impl CheckpointRows {
    /// Creates the builder for a table. `clustering` has the physical paths of its clustering
    /// columns.
    pub fn new(table: TableHead<'_>, clustering: &[Vec<String>]) -> Result<Self> {
        Ok(Self { files: FileRows::new(table, clustering)? })
    }

    /// Returns the columns of a file that holds all actions.
    pub fn classic_schema(&self) -> SchemaRef {
        Arc::new(Schema::new(self.classic_fields()))
    }

    /// Returns the columns of a sidecar.
    pub fn sidecar_schema(&self) -> SchemaRef {
        Arc::new(Schema::new(vec![self.files.add_field().clone(), self.files.remove_field().clone()]))
    }

    /// Returns the columns of a file that holds no file actions but names the sidecars.
    pub fn top_schema(&self) -> SchemaRef {
        Arc::new(Schema::new(self.classic_fields().into_iter().chain(columns::v2_only()).collect::<Vec<_>>()))
    }

    fn classic_fields(&self) -> Vec<Field> {
        let files = [self.files.add_field().clone(), self.files.remove_field().clone()];
        let others = [columns::metadata(), columns::protocol(), columns::domain()];
        std::iter::once(columns::transaction()).chain(files).chain(others).collect()
    }

    /// Returns the rows of the table's files.
    pub fn adds(&self, files: &FileBatch) -> Result<ActionRows> {
        Ok(ActionRows { column: self.files.add_field().name().clone(), array: self.files.adds(files)? })
    }

    /// Returns the rows of tombstones, as [`Tombstones`] and [`old_tombstones`] return them.
    pub fn removes(&self, tombstones: &RecordBatch) -> Result<ActionRows> {
        Ok(ActionRows { column: self.files.remove_field().name().clone(), array: self.files.removes(tombstones)? })
    }

    /// Returns the rows of all other actions, by kind.
    pub fn others(&self, actions: &[Action]) -> Result<Vec<ActionRows>> {
        other_rows::other_rows(actions)
    }
}

/// Returns the state of a table in a checkpoint except its files. The state has no removed domains
/// and no expired transactions.
///
/// Transactions expire only in a table with a retention period for them. As in Delta Spark,
/// transactions of unknown age expire at once.
pub fn state_actions(
    head: (&Protocol, &Metadata),
    transactions: impl IntoIterator<Item = SetTransaction>,
    domains: impl IntoIterator<Item = DomainMetadata>,
    transactions_expired_ms: Option<i64>,
) -> Vec<Action> {
    let (protocol, metadata) = head;
    let counts = |txn: &SetTransaction| {
        transactions_expired_ms.is_none_or(|expired_ms| txn.last_updated.is_some_and(|updated_ms| updated_ms > expired_ms))
    };
    let transactions = transactions.into_iter().filter(counts).map(Action::SetTransaction);
    let domains = domains.into_iter().filter(|domain| !domain.removed).map(Action::DomainMetadata);
    [Action::Protocol(protocol.clone()), Action::Metadata(metadata.clone())]
        .into_iter()
        .chain(transactions)
        .chain(domains)
        .collect()
}
