//! REORG: rewrites the files that a table must not keep if it shall do without a feature. No row
//! changes.
//!
//! [`reorg`] commits by itself, as an OPTIMIZE does. [`rewrite_as`] writes files for another
//! definition of the table, and its caller commits them with that definition.

use std::sync::Arc;

use lakebed_core::action::Add;
use lakebed_core::layout::binpack::PackRules;

use super::commit::{Committer, RewrittenGroup};
use super::context::RewriteContext;
use super::options::OptimizeOptions;
use super::outcome::OptimizeMetrics;
use super::plan::{Plan, Strategy};
use super::progress::Reporter;
use super::reorg_files::Reorg;
use super::run::Rewriter;
use crate::definition::Definition;
use crate::metrics::Counter;
use crate::rows::shape::{Shape, id_columns};
use crate::rows::target::{Target, sized};
use crate::transaction::{CommitSettings, Operation, Transaction};
use crate::write::data_file::WrittenFile;
use crate::write::files::take_back;
use crate::write::settings::FileSettings;
use crate::{Error, Result, Snapshot, Table};

/// Rewrites the files of a version that must not stay. Files that another writer changes meanwhile
/// are left out, so the caller has to look again.
pub(crate) async fn reorg(
    table: &Table,
    snapshot: &Snapshot,
    reorg: Reorg,
    settings: &CommitSettings,
) -> Result<OptimizeMetrics> {
    let file_settings = FileSettings::default();
    let target = Target::of_table(snapshot, None, &file_settings, table.env().now_ms()).await?;
    let rules = rules(&target);
    let plan = Plan::of_reorg(snapshot, reorg, rules).await?;
    if plan.is_empty() {
        return Ok(OptimizeMetrics::default());
    }
    let context = Arc::new(context(snapshot, target, file_settings, &plan)?);
    let options = OptimizeOptions {
        user_metadata: settings.user_metadata.clone(),
        commit_info: settings.commit_info.clone(),
        upkeep: settings.upkeep,
        timeout: Some(settings.timeout),
        ..OptimizeOptions::default()
    };
    let operation = Operation::new("REORG").with_names("predicate", &[]).with("applyPurge", true);
    let mut committer = Committer::new(table, &options, &context, operation, Arc::clone(&plan.batches));
    let rewriter = Rewriter { context: Arc::clone(&context), strategy: Strategy::Compact(rules) };
    Arc::new(rewriter).rewrite_groups(plan, &mut committer).await?;
    Ok(committer.metrics)
}

/// The files of a version in the form that another definition of the table needs.
pub(crate) struct RewrittenFiles {
    groups: Vec<RewrittenGroup>,
}

/// Writes the rows of all files of a version as another definition of the table needs them. The
/// columns and their types are the same.
pub(crate) async fn rewrite_as(snapshot: &Snapshot, definition: Definition) -> Result<RewrittenFiles> {
    let file_settings = sized(&FileSettings::default(), snapshot);
    let target = Target::new(definition, snapshot.url(), &file_settings, snapshot.env().now_ms())?;
    let rules = rules(&target);
    let plan = Plan::of_reorg(snapshot, Reorg::Everything, rules).await?;
    let context = Arc::new(context(snapshot, target, file_settings, &plan)?);
    let rewriter = Rewriter { context, strategy: Strategy::Compact(rules) };
    Ok(RewrittenFiles { groups: Arc::new(rewriter).rewrite_all(plan).await? })
}

impl RewrittenFiles {
    /// Replaces the old files by the new ones in a transaction.
    pub(crate) fn register(&self, transaction: &mut Transaction) -> Result<()> {
        transaction.keep_row_ids();
        for group in &self.groups {
            for source in &group.sources {
                transaction.read().files(source)?;
                transaction.remove(source.clone(), false);
            }
            for file in &group.written {
                transaction.add_unflushed(Add { data_change: false, ..file.add.clone() }, file.unflushed.clone());
            }
        }
        Ok(())
    }

    /// Returns the number of files before and after, and the size of the new files.
    pub(crate) fn counts(&self) -> (u64, u64, u64) {
        let old = self.groups.iter().flat_map(|group| &group.sources).map(|source| source.len() as u64).sum();
        let new = self.groups.iter().flat_map(|group| &group.written);
        let bytes = new.clone().map(|file| file.add.size.unsigned_abs()).sum();
        (old, new.count() as u64, bytes)
    }

    /// Deletes the new files after a commit that failed, unless the commit may exist.
    pub(crate) async fn take_back(self, table: &Table, error: &Error) {
        let written: Vec<WrittenFile> = self.groups.into_iter().flat_map(|group| group.written).collect();
        take_back(table.store(), &written, error).await;
    }
}

fn rules(target: &Target) -> PackRules {
    let options = OptimizeOptions::default();
    PackRules {
        target_file_size_bytes: target.target_file_size_bytes(),
        min_files: options.min_files,
        max_deleted_share: options.max_deleted_share,
    }
}

fn context(snapshot: &Snapshot, target: Target, file_settings: FileSettings, plan: &Plan) -> Result<RewriteContext> {
    let shape = Shape::new(snapshot, &target)?;
    let size_bytes = plan.groups.iter().map(|group| group.size_bytes).sum();
    Ok(RewriteContext {
        file_bytes: target.target_file_size_bytes(),
        shape,
        target,
        file_settings,
        scan: snapshot.scan().row_columns(id_columns(snapshot)),
        partitions: snapshot.physical_partition_columns(),
        reporter: Reporter::new(None, size_bytes, plan.groups.len() as u64),
        spilled_bytes: Counter::default(),
        snapshot: snapshot.clone(),
    })
}
