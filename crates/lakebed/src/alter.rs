//! Changes to the definition of a table while its rows stay.

use crate::clustering::key_columns;
use crate::definition::Definition;
use crate::transaction::{CommitSettings, Committed, Operation, Transaction};
use crate::{Error, Result, Snapshot, Table};

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

impl Table {
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
        let names: Vec<String> = columns.into_iter().map(Into::into).collect();
        let snapshot = self.snapshot().await?.by_log().await?;
        if !snapshot.partition_columns().is_empty() {
            let message =
                format!("{}: the table is partitioned, and a table cannot be both partitioned and clustered", self.store().url());
            return Err(Error::invalid_input(message));
        }
        let columns = if names.is_empty() { Vec::new() } else { key_columns(&snapshot, &names)? };
        let physical: Vec<Vec<String>> = columns.iter().map(|column| column.physical.clone()).collect();
        let definition = Definition::of(&snapshot).await?;
        if physical == definition.clustering {
            return Ok(AlterOutcome { version: snapshot.version(), committed: false, snapshot: Some(snapshot) });
        }
        let definition = definition.clustered_by(physical)?;
        let mut transaction = Transaction::begin(&snapshot, CommitSettings::default()).await?;
        definition.register(None, &mut transaction, &snapshot).await?;
        let new: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let operation = Operation::new("CLUSTER BY")
            .with("oldClusteringColumns", snapshot.clustering_columns().await?.join(","))
            .with("newClusteringColumns", new.join(","));
        let Committed { version, snapshot, .. } = transaction.commit(operation).await?;
        if let Some(snapshot) = &snapshot {
            self.keep(snapshot).await;
        }
        Ok(AlterOutcome { version, committed: true, snapshot })
    }
}
