//! Mends the files of the log: moves broken ones aside, and computes those that the commits
//! determine again.

use lakebed_io::log;

use super::outcome::{RepairAction, RepairKind};
use crate::{Error, Result, Table};

/// Moves files of the log aside. The newest commit goes first, so that the log has no gap if the
/// repair is interrupted.
pub(super) async fn move_aside(table: &Table, actions: &[RepairAction]) -> Result<()> {
    let is_moved = |action: &&RepairAction| matches!(action.kind, RepairKind::CutCommit | RepairKind::MoveAside);
    for action in actions.iter().filter(is_moved) {
        let Some(name) = &action.file else { continue };
        if let Some(moved) = log::move_aside(table.store(), table.env(), name).await? {
            let url = table.store().url();
            tracing::info!(table = url, name, moved, "moved aside");
        }
    }
    Ok(())
}

/// Refuses to cut the log if it changed since it was checked.
pub(super) async fn check_unchanged(table: &Table, newest: u64) -> Result<()> {
    let listed = log::list_log(table.store(), None).await?;
    match listed.iter().map(|file| file.path.version).max() {
        Some(found) if found > newest => Err(Error::invalid_input(format!(
            "{}: another writer wrote version {found} while the log was checked; check the table again",
            table.store().url()
        ))),
        _ => Ok(()),
    }
}

/// Writes a checkpoint of the newest version, and with it the hint and the checksum.
pub(super) async fn write_checkpoint(table: &Table) -> Result<()> {
    let snapshot = table.snapshot().await?;
    let outcome = snapshot.checkpoint().await?;
    if let Some(checksum) = &outcome.checksum {
        log::put_checksum(table.store(), outcome.version, checksum).await?;
    }
    Ok(())
}
