//! Changes to the definition of a table while its rows stay: ALTER TABLE.
//!
//! `definition::change` computes the new definition. This module checks the rows and commits. Begin
//! with [`Table::alter`]; [`stage`] does everything but the commit.

mod rows;
mod stage;
mod backfill;

use std::collections::BTreeMap;
use std::time::Duration;

use lakebed_core::error::ConflictKind;
use serde::Deserialize;

use self::backfill::backfill;
pub(crate) use self::stage::{StagedAlter, stage};
use crate::transaction::retry::{Retry, Retryable};
use crate::transaction::{CommitSettings, Committed, InfoEntries, Transaction};
use crate::upkeep::UpkeepOptions;
use crate::{Error, Result, Snapshot, Table};

pub use crate::definition::change::{AlterChange, ColumnType, Identity, NewColumn, Position};

/// The options of a change of the definition.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AlterOptions {
    /// A text of the caller that is stored in the history.
    pub user_metadata: Option<String>,
    /// Entries of the caller in `commitInfo`, beside those that lakebed records.
    pub commit_info: InfoEntries,
    /// Whether a checkpoint and a cleanup of the log may follow the commit.
    pub upkeep: UpkeepOptions,
    /// The time limit for retries after conflicts.
    #[serde(deserialize_with = "crate::option_value::seconds::deserialize")]
    pub timeout: Option<Duration>,
}

/// The result of a change.
#[derive(Debug, Clone)]
pub struct AlterOutcome {
    /// The version that the change created, or the latest one if there was nothing to change.
    pub version: u64,
    /// False if the table had this definition already.
    pub committed: bool,
    /// The snapshot of that version. It is `None` if the snapshot could not be read after the
    /// commit, which does not undo the change.
    pub snapshot: Option<Snapshot>,
}

/// Changes the definition of a table. All changes become one commit.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> lakebed::Result<()> {
/// use std::sync::Arc;
/// use arrow_array::{Int64Array, RecordBatch};
/// use lakebed::{RecordBatchStream, Table};
///
/// let rows = RecordBatch::try_from_iter([("id", Arc::new(Int64Array::from(vec![1, 2, 3])) as _)])?;
/// let table = Table::at("memory://docs/alter").build()?;
/// table.write(RecordBatchStream::from_batches(rows.schema(), vec![rows])).run().await?;
/// let outcome = table.alter().add_column("name", "string").add_constraint("positive", "id > 0").run().await?;
/// assert_eq!(outcome.version, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Alter {
    table: Table,
    changes: Vec<AlterChange>,
    options: AlterOptions,
}

impl Table {
    /// Describes changes of the definition; [`Alter::run`] commits them.
    pub fn alter(&self) -> Alter {
        Alter { table: self.clone(), changes: Vec::new(), options: AlterOptions::default() }
    }

    /// Sets the clustering columns of the table; no columns end the clustering. Existing rows stay
    /// where they are until the table is optimized.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> lakebed::Result<()> {
    /// use std::sync::Arc;
    /// use arrow_array::{Int64Array, RecordBatch};
    /// use lakebed::{RecordBatchStream, Table};
    ///
    /// let rows = RecordBatch::try_from_iter([("id", Arc::new(Int64Array::from(vec![1, 2, 3])) as _)])?;
    /// let table = Table::at("memory://docs/cluster_by").build()?;
    /// table.write(RecordBatchStream::from_batches(rows.schema(), vec![rows])).run().await?;
    /// table.cluster_by(["id"]).await?;
    /// assert_eq!(table.snapshot().await?.detail().await?.clustering_columns, ["id"]);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn cluster_by(&self, columns: impl IntoIterator<Item = impl Into<String>>) -> Result<AlterOutcome> {
        let columns = columns.into_iter().map(Into::into).collect();
        self.alter().change(AlterChange::ClusterBy { columns }).run().await
    }
}

impl Alter {
    /// Adds a change. It sees the definition that the changes before it made.
    #[must_use]
    pub fn change(mut self, change: AlterChange) -> Self {
        self.changes.push(change);
        self
    }

    /// Sets the options.
    #[must_use]
    pub fn options(mut self, options: AlterOptions) -> Self {
        self.options = options;
        self
    }

    /// Adds a column that allows null, behind the other columns.
    #[must_use]
    pub fn add_column(self, name: impl Into<String>, data_type: impl Into<ColumnType>) -> Self {
        self.change(AlterChange::AddColumns { columns: vec![NewColumn::new(name, data_type)] })
    }

    /// Gives a column another name.
    #[must_use]
    pub fn rename_column(self, column: impl Into<String>, name: impl Into<String>) -> Self {
        self.change(AlterChange::RenameColumn { column: column.into(), name: name.into() })
    }

    /// Drops columns.
    #[must_use]
    pub fn drop_columns<T: Into<String>>(self, columns: impl IntoIterator<Item = T>) -> Self {
        self.change(AlterChange::DropColumns { columns: columns.into_iter().map(Into::into).collect() })
    }

    /// Gives a column a wider type.
    #[must_use]
    pub fn change_type(self, column: impl Into<String>, data_type: impl Into<ColumnType>) -> Self {
        self.change(AlterChange::ChangeType { column: column.into(), data_type: data_type.into() })
    }

    /// Adds a condition that every row must meet.
    #[must_use]
    pub fn add_constraint(self, name: impl Into<String>, condition: impl Into<String>) -> Self {
        self.change(AlterChange::AddConstraint { name: name.into(), condition: condition.into() })
    }

    /// Sets properties.
    #[must_use]
    pub fn set_properties<K: Into<String>, V: Into<String>>(self, properties: impl IntoIterator<Item = (K, V)>) -> Self {
        let properties: BTreeMap<String, String> =
            properties.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        self.change(AlterChange::SetProperties { properties })
    }

    /// Makes all changes in one commit on top of the newest version.
    ///
    /// # Errors
    /// If a change is not allowed, or if a row breaks a rule that it adds. Nothing is committed then,
    /// except the row ids that files need before row tracking can be enabled.
    pub async fn run(self) -> Result<AlterOutcome> {
        if self.changes.is_empty() {
            return Err(Error::invalid_input("name at least one change"));
        }
        // The definition and the rows of a newer version may allow the changes, too.
        let retryable = Retryable::of([
            ConflictKind::ProtocolChanged,
            ConflictKind::MetadataChanged,
            ConflictKind::ConcurrentAppend,
            ConflictKind::ConcurrentDeleteRead,
            ConflictKind::ConcurrentTransaction,
        ]);
        let mut retry = Retry::new(self.table.env(), &self.commit_settings(), retryable);
        loop {
            let snapshot = self.table.snapshot().await?.by_log().await?;
            match self.attempt(snapshot).await {
                Ok(outcome) => return Ok(outcome),
                Err(error) => retry.again(error).await?,
            }
        }
    }

    async fn attempt(&self, mut snapshot: Snapshot) -> Result<AlterOutcome> {
        let mut staged = stage(&snapshot, &self.changes).await?;
        if staged.needs_row_ids
            && let Some(newer) = backfill(&self.table, &snapshot, &self.commit_settings()).await?
        {
            snapshot = newer;
            staged = stage(&snapshot, &self.changes).await?;
        }
        let StagedAlter { definition, read, operation, .. } = staged;
        if !definition.changes_table() && definition.domains.is_empty() {
            return Ok(AlterOutcome { version: snapshot.version(), committed: false, snapshot: Some(snapshot) });
        }
        let mut transaction = Transaction::begin(&snapshot, self.commit_settings()).await?;
        transaction.read().extend(read);
        definition.register(None, &mut transaction, &snapshot).await?;
        let Committed { version, snapshot, .. } = transaction.commit(operation).await?;
        if let Some(snapshot) = &snapshot {
            self.table.keep(snapshot).await;
        }
        Ok(AlterOutcome { version, committed: true, snapshot })
    }

    fn commit_settings(&self) -> CommitSettings {
        CommitSettings::of(
            self.options.user_metadata.as_ref(),
            &self.options.commit_info,
            self.options.upkeep,
            self.options.timeout,
        )
    }
}
