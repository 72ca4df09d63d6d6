//! The definition of a table while changes are applied to it. Begin with [`ChangeDraft`].

use std::collections::BTreeSet;

use lakebed_core::action::{Metadata, Protocol};
use lakebed_core::commit::info::Operation;
use lakebed_core::feature::supported_features;
use lakebed_core::property::TableProperties;
use lakebed_core::schema::StructType;
use lakebed_core::schema::mapping::{DROPPED_OR_RENAMED, MappingMode};
use serde_json::{Value, json};

use crate::{Error, Result};

/// A definition that changes step by step.
#[derive(Debug, Clone)]
pub(super) struct ChangeDraft {
    pub(super) schema: StructType,
    /// The metadata. Its schema is that before the changes.
    pub(super) metadata: Metadata,
    pub(super) protocol: Protocol,
    /// The clustering columns, by their paths in data files.
    pub(super) clustering: Vec<Vec<String>>,
    pub(super) changes_clustering: bool,
    /// The features that the caller requests.
    pub(super) features: BTreeSet<String>,
    pub(super) checks: Vec<RowCheck>,
    pub(super) history: Vec<HistoryEntry>,
}

/// A condition on the rows and files that the table has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RowCheck {
    /// The table must have no rows. The text is the error if it has rows.
    NoRows(String),
    /// The table must have no data files. The text is the error if it has one.
    NoFiles(String),
    /// Every data file must have a count of its rows in the log, and no deleted rows.
    CountedFiles {
        /// What needs this, for messages.
        what: String,
    },
    /// Every row must meet a condition.
    Every {
        /// The condition in messages, such as `CHECK constraint positive (id > 0)`.
        what: String,
        /// The condition in SQL, over the columns of the table before the changes.
        condition: String,
    },
}

/// A change in the history.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum HistoryEntry {
    /// An operation with its parameters.
    Operation(Operation),
    /// The operation CHANGE COLUMN, with the column and its position.
    ChangeColumn { column: Value, position: Option<String> },
    /// The operation ADD COLUMNS, with one column.
    AddColumn(Value),
}

impl ChangeDraft {
    /// Returns the properties as they are after the changes so far.
    pub(super) fn properties(&self) -> Result<TableProperties> {
        TableProperties::parse(&self.metadata.configuration)
    }

    /// Returns the mode of column mapping after the changes so far.
    pub(super) fn mode(&self) -> Result<MappingMode> {
        Ok(self.properties()?.column_mapping_mode)
    }

    /// Refuses to drop or rename columns without column mapping, and records that it is done.
    pub(super) fn drop_or_rename(&mut self, column: &str, verb: &str) -> Result<()> {
        if self.mode()? == MappingMode::None {
            return Err(Error::invalid_input(format!(
                "column {column}: a column can be {verb} only in a table with column mapping; set the property \
                 delta.columnMapping.mode to name first"
            )));
        }
        if supported_features(&self.protocol).contains(&"columnMappingUsageTracking") {
            self.metadata.configuration.insert(DROPPED_OR_RENAMED.to_owned(), Some("true".to_owned()));
        }
        Ok(())
    }

    /// Records an operation in the history.
    pub(super) fn record(&mut self, operation: Operation) {
        self.history.push(HistoryEntry::Operation(operation));
    }
}

/// Returns the operation for the history. Several changes that are no operation of Delta Spark are
/// listed in one operation.
pub(super) fn operation_of(history: Vec<HistoryEntry>) -> Operation {
    let mut operations: Vec<Operation> = Vec::new();
    let mut entries = history.into_iter().peekable();
    while let Some(entry) = entries.next() {
        operations.push(match entry {
            HistoryEntry::Operation(operation) => operation,
            HistoryEntry::AddColumn(column) => {
                let mut columns = vec![column];
                while let Some(HistoryEntry::AddColumn(column)) =
                    entries.next_if(|next| matches!(next, HistoryEntry::AddColumn(_)))
                {
                    columns.push(column);
                }
                Operation::new("ADD COLUMNS").with("columns", Value::from(columns).to_string())
            }
            HistoryEntry::ChangeColumn { column, position } => {
                let mut columns = vec![(column, position)];
                while let Some(HistoryEntry::ChangeColumn { column, position }) =
                    entries.next_if(|next| matches!(next, HistoryEntry::ChangeColumn { .. }))
                {
                    columns.push((column, position));
                }
                changed_columns(columns)
            }
        });
    }
    match operations.len() {
        1 => operations.remove(0),
        _ => {
            let changes: Vec<Value> = operations
                .into_iter()
                .map(|operation| json!({ "operation": operation.name, "operationParameters": operation.parameters }))
                .collect();
            Operation::new("ALTER TABLE").with("changes", Value::from(changes).to_string())
        }
    }
}

fn changed_columns(mut columns: Vec<(Value, Option<String>)>) -> Operation {
    if columns.len() == 1
        && let Some((column, position)) = columns.pop()
    {
        let operation = Operation::new("CHANGE COLUMN").with("column", column.to_string());
        return match position {
            Some(position) => operation.with("position", position),
            None => operation,
        };
    }
    let column = |(mut column, position): (Value, Option<String>)| {
        if let (Value::Object(column), Some(position)) = (&mut column, position) {
            column.insert("position".to_owned(), position.into());
        }
        column
    };
    let columns: Vec<Value> = columns.into_iter().map(column).collect();
    Operation::new("CHANGE COLUMNS").with("columns", Value::from(columns).to_string())
}
