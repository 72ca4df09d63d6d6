//! Commits rewritten files. If another writer changed a file of a group meanwhile, that group is
//! given up and the other groups are committed.

use std::collections::HashSet;
use std::sync::Arc;

use futures::TryStreamExt;
use lakebed_core::action::Add;
use lakebed_core::error::ConflictKind;
use lakebed_core::layout::Method;
use lakebed_core::log::files::{FileBatch, FileKey};

use super::context::RewriteContext;
use super::options::OptimizeOptions;
use super::outcome::OptimizeMetrics;
use crate::metrics::HistoryOf;
use crate::rows::deleted::totals;
use crate::rows::target::Target;
use crate::scan::plan::{Plan, PlanOptions};
use crate::transaction::retry::{Retry, Retryable};
use crate::transaction::{CommitSettings, Committed, Operation, Transaction};
use crate::write::data_file::WrittenFile;
use crate::write::files::delete_written;
use crate::write::files::take_back;
use crate::{Error, ErrorKind, Result, Snapshot, Table};

/// The result of rewriting a group of files.
#[derive(Debug, Default)]
pub(super) struct RewrittenGroup {
    /// The source files as the log has them.
    pub(super) sources: Vec<FileBatch>,
    /// The new files; empty if the source files stay.
    pub(super) written: Vec<WrittenFile>,
    /// The `add` actions of files that stay and get statistics.
    pub(super) described: Vec<Add>,
    /// The clustering method, if rows were clustered.
    pub(super) method: Option<Method>,
}

/// Commits the groups of one run.
pub(super) struct Committer<'a> {
    pub(super) table: &'a Table,
    pub(super) options: &'a OptimizeOptions,
    pub(super) context: &'a RewriteContext,
    pub(super) operation: Operation,
    /// The version on which the next commit is tried.
    pub(super) snapshot: Snapshot,
    sources: SourceFiles,
    /// The last version that this run has committed.
    pub(super) last_version: Option<u64>,
    pub(super) commits: u64,
    pub(super) metrics: OptimizeMetrics,
    /// The sizes of all new files.
    sizes: Vec<u64>,
}

/// The files that a run replaces.
struct SourceFiles {
    /// Batches that contain these files, and possibly others.
    batches: Arc<Vec<FileBatch>>,
    /// The files that are still in the table. `None` as long as no other writer has changed the
    /// table.
    remaining: Option<HashSet<FileKey>>,
    /// Whether other writers have changed the table since `remaining` was computed.
    is_behind: bool,
}

impl<'a> Committer<'a> {
    /// Creates a committer for groups with files in `sources`.
    pub(super) fn new(
        table: &'a Table,
        options: &'a OptimizeOptions,
        context: &'a RewriteContext,
        operation: Operation,
        sources: Arc<Vec<FileBatch>>,
    ) -> Self {
        Self {
            table,
            options,
            context,
            operation,
            snapshot: context.snapshot.clone(),
            sources: SourceFiles { batches: sources, remaining: None, is_behind: false },
            last_version: None,
            commits: 0,
            metrics: OptimizeMetrics::default(),
            sizes: Vec::new(),
        }
    }

    /// Commits these groups as one version, without the groups of which another writer changed a
    /// file.
    pub(super) async fn commit(&mut self, mut groups: Vec<RewrittenGroup>) -> Result<()> {
        let mut retry = Retry::new(self.table.env(), &self.settings(), retryable());
        while !groups.is_empty() {
            if self.sources.is_behind
                && let Err(error) = self.find_remaining_files().await
            {
                return self.give_up(groups, error).await;
            }
            groups = self.without_lost(groups).await?;
            if groups.is_empty() {
                break;
            }
            let counts = FileCounts::of(&groups)?;
            let committed = match self.transaction(&groups).await {
                Ok(transaction) => transaction.commit(counts.to_operation(self.operation.clone())).await,
                Err(error) => Err(error),
            };
            match committed {
                Ok(committed) => {
                    self.count(&groups, counts);
                    self.move_on(committed).await;
                    break;
                }
                Err(error) => {
                    if let Err(error) = retry.again(error).await {
                        return self.give_up(groups, error).await;
                    }
                    self.sources.is_behind = true;
                }
            }
        }
        self.metrics.conflicts += retry.conflicts();
        Ok(())
    }

    async fn give_up(&self, groups: Vec<RewrittenGroup>, error: Error) -> Result<()> {
        let written: Vec<WrittenFile> = groups.into_iter().flat_map(|group| group.written).collect();
        take_back(self.table.store(), &written, &error).await;
        Err(error)
    }

    async fn transaction(&self, groups: &[RewrittenGroup]) -> Result<Transaction> {
        let mut transaction = Transaction::begin(&self.snapshot, self.settings()).await?;
        transaction.keep_row_ids();
        for group in groups {
            for source in &group.sources {
                transaction.read().files(source)?;
                if group.described.is_empty() {
                    transaction.remove(source.clone(), false);
                }
            }
            for file in &group.written {
                transaction.add_unflushed(Add { data_change: false, ..file.add.clone() }, file.unflushed.clone());
            }
            transaction.add_again(group.described.iter().cloned());
        }
        Ok(transaction)
    }

    fn settings(&self) -> CommitSettings {
        CommitSettings::of(
            self.options.user_metadata.as_ref(),
            &self.options.commit_info,
            self.options.upkeep,
            self.options.timeout,
        )
    }

    /// Returns the groups for which all files are in the table. The new files of other groups are
    /// deleted.
    async fn without_lost(&mut self, groups: Vec<RewrittenGroup>) -> Result<Vec<RewrittenGroup>> {
        let Some(remaining) = &self.sources.remaining else { return Ok(groups) };
        let mut kept = Vec::with_capacity(groups.len());
        for group in groups {
            let keys = group.sources.iter().map(FileBatch::keys).collect::<Result<Vec<_>>>()?;
            if keys.iter().flatten().all(|key| remaining.contains(key)) {
                kept.push(group);
            } else {
                self.metrics.lost_groups += 1;
                delete_written(self.table.store(), &group.written).await;
            }
        }
        Ok(kept)
    }

    /// Finds which files are still in the table after other writers have changed it.
    async fn find_remaining_files(&mut self) -> Result<()> {
        self.snapshot = self.table.newer_than(&self.snapshot).await?;
        self.check_rules().await?;
        let sources = self.sources.batches.iter().map(FileBatch::keys).collect::<Result<Vec<_>>>()?;
        let sources: HashSet<FileKey> = sources.into_iter().flatten().collect();
        let mut remaining = HashSet::new();
        let mut files = Plan::new(&self.snapshot, None, PlanOptions::default())?.files();
        while let Some(batch) = files.try_next().await? {
            remaining.extend(batch.keys()?.into_iter().filter(|key| sources.contains(key)));
        }
        self.sources.remaining = Some(remaining);
        self.sources.is_behind = false;
        Ok(())
    }

    /// Checks that the table's rules are unchanged. Files that were written under other rules must
    /// not be added.
    async fn check_rules(&self) -> Result<()> {
        if self.snapshot.metadata() == self.context.snapshot.metadata() {
            return Ok(());
        }
        let now = Target::of_table(&self.snapshot, None, &self.context.file_settings, self.table.env().now_ms()).await?;
        let tracks_rows = |snapshot: &Snapshot| snapshot.properties().row_tracking;
        if now.takes_files_of(&self.context.target) && tracks_rows(&self.snapshot) == tracks_rows(&self.context.snapshot) {
            return Ok(());
        }
        let message = format!(
            "{}: another writer changed the table's schema or rules while files were rewritten; optimize the table again",
            self.table.store().url()
        );
        let kind = ErrorKind::CommitConflict {
            kind: ConflictKind::MetadataChanged,
            winner_version: self.snapshot.version(),
            retryable: true,
        };
        Err(Error::new(kind, message))
    }

    /// Advances to the committed version. An error in reading it does not undo the commit.
    async fn move_on(&mut self, committed: Committed) {
        self.commits += 1;
        self.metrics.conflicts += committed.conflicts;
        self.last_version = Some(committed.version);
        // Another writer's commit before this one may affect groups that are committed later.
        self.sources.is_behind |= committed.conflicts > 0 || committed.snapshot.is_none();
        if let Some(snapshot) = committed.snapshot {
            self.table.keep(&snapshot).await;
            self.snapshot = snapshot;
        }
    }

    fn count(&mut self, groups: &[RewrittenGroup], counts: FileCounts) {
        self.metrics.groups += groups.iter().filter(|group| group.described.is_empty()).count() as u64;
        self.metrics.described_files += groups.iter().map(|group| group.described.len() as u64).sum::<u64>();
        self.metrics.added_files += counts.metrics.added_files;
        self.metrics.added_bytes += counts.metrics.added_bytes;
        self.metrics.removed_files += counts.metrics.removed_files;
        self.metrics.removed_bytes += counts.metrics.removed_bytes;
        self.metrics.deletion_vectors_removed += counts.metrics.deletion_vectors_removed;
        for method in groups.iter().filter_map(|group| group.method) {
            *self.metrics.methods.entry(method).or_default() += 1;
        }
        let rows = groups.iter().flat_map(|group| &group.written).filter_map(|file| file.add.num_records());
        self.metrics.rows += rows.map(i64::unsigned_abs).sum::<u64>();
        self.sizes.extend(counts.sizes);
        self.sizes.sort_unstable();
        self.metrics.file_sizes = quartiles(&self.sizes);
    }
}

/// The counts of the files that one commit adds and removes.
#[derive(Default)]
struct FileCounts {
    /// The sizes of the new files, sorted.
    sizes: Vec<u64>,
    metrics: OptimizeMetrics,
}

impl FileCounts {
    fn of(groups: &[RewrittenGroup]) -> Result<Self> {
        let mut counts = Self::default();
        for group in groups.iter().filter(|group| group.described.is_empty()) {
            let (files, bytes) = totals(&group.sources)?;
            counts.metrics.removed_files += files;
            counts.metrics.removed_bytes += bytes;
            for source in &group.sources {
                counts.metrics.deletion_vectors_removed += source.has_deletion_vector()?.true_count() as u64;
            }
            counts.sizes.extend(group.written.iter().map(|file| file.add.size.unsigned_abs()));
        }
        counts.sizes.sort_unstable();
        counts.metrics.added_files = counts.sizes.len() as u64;
        counts.metrics.added_bytes = counts.sizes.iter().sum();
        counts.metrics.file_sizes = quartiles(&counts.sizes);
        Ok(counts)
    }

    /// Adds the metrics to the operation, with Delta Spark's names.
    fn to_operation(&self, operation: Operation) -> Operation {
        let names = ["minFileSize", "p25FileSize", "p50FileSize", "p75FileSize", "maxFileSize"];
        let sizes = self.metrics.file_sizes.unwrap_or_default();
        operation.with_metrics(self.metrics.history(HistoryOf::Optimize)).with_metrics(names.into_iter().zip(sizes))
    }
}

/// Returns the smallest of sorted sizes, the sizes at one fourth, one half and three fourths, and
/// the largest; None without sizes.
fn quartiles(sizes: &[u64]) -> Option<[u64; 5]> {
    let (first, last, count) = (*sizes.first()?, *sizes.last()?, sizes.len());
    Some([first, sizes[count / 4], sizes[count / 2], sizes[count * 3 / 4], last])
}

/// Returns the conflicts after which the groups without changes by another writer can still be
/// committed.
fn retryable() -> Retryable {
    Retryable::of([
        ConflictKind::ConcurrentDeleteRead,
        ConflictKind::ConcurrentDeleteDelete,
        ConflictKind::MetadataChanged,
        ConflictKind::ProtocolChanged,
    ])
}
