//! Rewrites all files of a table so that it needs no column mapping any more.

use lakebed_core::commit::info::Operation;
use lakebed_core::schema::mapping::MappingMode;

use super::steps::Steps;
use crate::definition::Definition;
use crate::optimize::{RewrittenFiles, rewrite_as};
use crate::transaction::Transaction;
use crate::{Result, Snapshot};

/// Commits files with the logical names of the columns, and a definition without column mapping.
/// Another writer's commit on top of this version is a conflict, because its files have the old
/// names.
pub(super) async fn remove_mapping(steps: &mut Steps<'_>, snapshot: &Snapshot) -> Result<()> {
    let definition = Definition::without_column_mapping(snapshot).await?;
    // Without a mode the files have the logical names already.
    if snapshot.mapping_mode() == MappingMode::None {
        return commit(steps, snapshot, &definition, None).await;
    }
    let files = rewrite_as(snapshot, definition.clone()).await?;
    match commit(steps, snapshot, &definition, Some(&files)).await {
        Ok(()) => {
            let (removed, added, _) = files.counts();
            steps.metrics.removed_files += removed;
            steps.metrics.added_files += added;
            Ok(())
        }
        Err(error) => {
            files.take_back(steps.table, &error).await;
            Err(error)
        }
    }
}

async fn commit(
    steps: &mut Steps<'_>,
    snapshot: &Snapshot,
    definition: &Definition,
    files: Option<&RewrittenFiles>,
) -> Result<()> {
    let mut transaction = Transaction::begin(snapshot, steps.settings()).await?;
    transaction.read().all();
    definition.register(None, &mut transaction, snapshot).await?;
    let mut operation = Operation::new("REMOVE COLUMN MAPPING");
    if let Some(files) = files {
        files.register(&mut transaction)?;
        let (_, _, bytes) = files.counts();
        operation = operation.with_metrics([("numOutputBytes", bytes)]);
    }
    steps.commit(transaction, operation).await.map(drop)
}
