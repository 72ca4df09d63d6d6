//! The commits of a drop. They are counted.

use lakebed_core::commit::info::Operation;

use super::options::DropFeatureOptions;
use super::outcome::DropFeatureMetrics;
use crate::alter::AlterChange;
use crate::transaction::{CommitSettings, Committed, Transaction};
use crate::{Result, Snapshot, Table};

/// The commits and other work of a drop so far.
pub(super) struct Steps<'a> {
    pub(super) table: &'a Table,
    pub(super) options: &'a DropFeatureOptions,
    pub(super) metrics: DropFeatureMetrics,
}

impl Steps<'_> {
    /// Returns the newest version, by its log.
    pub(super) async fn newest(&self) -> Result<Snapshot> {
        self.table.snapshot().await?.by_log().await
    }

    pub(super) fn settings(&self) -> CommitSettings {
        self.options.commit_settings()
    }

    /// Changes the definition of the table, if it is not so already.
    pub(super) async fn alter(&mut self, change: AlterChange) -> Result<()> {
        let outcome = self.table.alter().options(self.options.alter_options()).change(change).run().await?;
        self.metrics.commits += u64::from(outcome.committed);
        Ok(())
    }

    /// Unsets properties of the table.
    pub(super) async fn unset(&mut self, names: &[&str]) -> Result<()> {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        self.alter(AlterChange::UnsetProperties { names, if_exists: true }).await
    }

    pub(super) async fn commit(&mut self, transaction: Transaction, operation: Operation) -> Result<Snapshot> {
        let Committed { version, snapshot, .. } = transaction.commit_alone(operation).await?;
        self.metrics.commits += 1;
        let snapshot = match snapshot {
            Some(snapshot) => snapshot,
            None => self.table.snapshot_at(version).await?,
        };
        self.table.keep(&snapshot).await;
        Ok(snapshot)
    }
}
