//! Prepares changes on a snapshot: the new definition, and the rows that were read for it. Several
//! verbs can commit the result together.

use lakebed_core::commit::info::Operation;

use super::rows::check_rows;
use crate::definition::Definition;
use crate::definition::change::{AlterChange, changed};
use crate::transaction::ReadSet;
use crate::{Result, Snapshot};

/// Changes that are ready to be committed.
#[derive(Debug, Clone)]
pub(crate) struct StagedAlter {
    pub(crate) definition: Definition,
    /// The rows on which the changes depend.
    pub(crate) read: ReadSet,
    pub(crate) operation: Operation,
    /// Whether every file needs row ids before the definition is committed.
    pub(crate) needs_row_ids: bool,
}

/// Applies changes to the definition of a snapshot, and checks its rows.
pub(crate) async fn stage(snapshot: &Snapshot, changes: &[AlterChange]) -> Result<StagedAlter> {
    let base = Definition::of(snapshot).await?;
    let changed = changed(&base, changes, snapshot.env()).map_err(|error| error.within(snapshot.url()))?;
    let read = check_rows(snapshot, &changed.checks).await.map_err(|error| error.within(snapshot.url()))?;
    let (definition, operation, needs_row_ids) = (changed.definition, changed.operation, changed.needs_row_ids);
    Ok(StagedAlter { definition, read, operation, needs_row_ids })
}
