//! Drops a table feature: ALTER TABLE … DROP FEATURE.
//!
//! The metadata and the files must not use the feature any more. The drop
//! itself changes the storage of rows, in commits of their own (`prepare`). It does not change the
//! meaning of a table: a constraint, for example, is in the way (`obstacles`), and the caller decides
//! about it.
//!
//! Older versions still use the feature. If readers have to support it, the drop protects them from
//! these versions (`barrier`), or deletes the versions (`history`). `run` does all these steps.
//! Begin with [`Table::drop_feature`].

mod barrier;
mod history;
mod known;
mod obstacles;
mod options;
mod outcome;
mod prepare;
mod run;
mod steps;
mod unmapped;
mod vectors;

use crate::{Result, Table};

pub use options::DropFeatureOptions;
pub use outcome::{DropFeatureMetrics, DropFeatureOutcome};

/// A drop of a table feature. Nothing is read before [`run`](DropFeature::run).
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> lakebed::Result<()> {
/// use std::sync::Arc;
/// use arrow_array::{Int64Array, RecordBatch};
/// use lakebed::{RecordBatchStream, Table};
///
/// let rows = RecordBatch::try_from_iter([("id", Arc::new(Int64Array::from(vec![1, 2, 3])) as _)])?;
/// let table = Table::at("memory://docs/drop_feature").build()?;
/// table.write(RecordBatchStream::from_batches(rows.schema(), vec![rows])).run().await?;
/// table.alter().set_properties([("delta.enableDeletionVectors", "true")]).run().await?;
/// table.delete().filter("id = 2").run().await?;
/// let outcome = table.drop_feature("deletionVectors").run().await?;
/// assert_eq!(outcome.protected_before, Some(outcome.version));
/// assert_eq!(table.snapshot().await?.protocol().min_reader_version, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct DropFeature {
    table: Table,
    feature: String,
    options: DropFeatureOptions,
}

impl Table {
    /// Drops a table feature, given by its name in the protocol, so that readers and writers need
    /// not support it any more.
    pub fn drop_feature(&self, feature: impl Into<String>) -> DropFeature {
        DropFeature { table: self.clone(), feature: feature.into(), options: DropFeatureOptions::default() }
    }
}

impl DropFeature {
    /// Sets the options.
    #[must_use]
    pub fn options(mut self, options: DropFeatureOptions) -> Self {
        self.options = options;
        self
    }

    /// Deletes the versions that use the feature instead of protecting them. They must be older than
    /// `delta.dropFeatureTruncateHistory.retentionDuration`.
    #[must_use]
    pub fn truncate_history(mut self) -> Self {
        self.options.truncate_history = true;
        self
    }

    /// Drops the feature.
    ///
    /// # Errors
    /// If the table does not have the feature, or if something that uses it is in the way. Nothing
    /// is committed then.
    ///
    /// With [`truncate_history`](Self::truncate_history), if versions that use the feature are still
    /// within the retention period. The newest version does not use it any more then, and the error
    /// says when the same call will succeed.
    pub async fn run(self) -> Result<DropFeatureOutcome> {
        run::run(&self.table, &self.feature, &self.options).await
    }
}
