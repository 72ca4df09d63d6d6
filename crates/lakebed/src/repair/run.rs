//! Runs a repair: checks the table, decides, and mends it.

use std::collections::HashSet;

use lakebed_core::feature::check_write;
use lakebed_io::log;

use super::data_files::FileChange;
use super::log_files;
use super::options::RepairOptions;
use super::outcome::{RepairKind, RepairOutcome};
use super::plan::plan;
use super::row_id_mark;
use crate::check::{CheckOptions, CheckOutcome};
use crate::vacuum::delete_orphaned_vectors;
use crate::{Result, Table};

/// The most findings of a kind that one repair mends. Another repair mends the others.
const MOST: usize = 1_000_000;

pub(super) async fn run(table: &Table, options: &RepairOptions) -> Result<RepairOutcome> {
    let check = check(table, options).await?;
    let listed = log::list_log(table.store(), None).await?;
    let actions = plan(&check, &listed, options, table.store().url())?;
    if options.dry_run || actions.is_empty() {
        return Ok(RepairOutcome { is_dry_run: options.dry_run, actions, check, commits: Vec::new() });
    }
    if let Some(version) = check.checked_version {
        // A table that lakebed cannot write is refused before anything is moved.
        check_write(table.snapshot_at(version).await?.protocol(), table.store().url())?;
    }
    if actions.iter().any(|action| action.kind == RepairKind::CutCommit) {
        log_files::check_unchanged(table, check.version).await?;
    }
    log_files::move_aside(table, &actions).await?;
    if actions.iter().any(|action| action.kind == RepairKind::WriteCheckpoint) {
        log_files::write_checkpoint(table).await?;
    }
    let mut commits = Vec::new();
    for change in [FileChange::Describe, FileChange::Drop, FileChange::DropVector] {
        commits.extend(change.commit(table, &actions, options).await?);
    }
    if actions.iter().any(|action| action.kind == RepairKind::RaiseRowIdMark) {
        commits.extend(row_id_mark::raise(table, options).await?);
    }
    let orphans = actions.iter().filter(|action| action.kind == RepairKind::DeleteOrphan);
    let orphans: HashSet<&str> = orphans.filter_map(|action| action.file.as_deref()).collect();
    if !orphans.is_empty() {
        let snapshot = table.snapshot().await?.by_log().await?;
        let deleted = delete_orphaned_vectors(&snapshot, &orphans).await?;
        tracing::info!(table = table.store().url(), deleted, "deleted orphaned deletion vectors");
    }
    let check = self::check(table, options).await?;
    Ok(RepairOutcome { is_dry_run: false, actions, check, commits })
}

async fn check(table: &Table, options: &RepairOptions) -> Result<CheckOutcome> {
    table.check().options(CheckOptions { level: options.level, limit: MOST }).run().await
}
