//! Runs a vacuum. Begin with [`run`].

use std::collections::HashSet;

use futures::{StreamExt, TryStreamExt, stream};
use lakebed_core::feature::check_write;
use lakebed_io::log::{self, hadoop_checksum_path};
use lakebed_io::store::{DeleteOutcome, Store};
use object_store::path::Path;

use super::candidates::{Candidate, CandidateBatch, CandidateStream, ReportedFiles, is_linked};
use super::commits::{self, DueCommits};
use super::hidden_names::HiddenNames;
use super::options::{VacuumMode, VacuumOptions};
use super::outcome::{VacuumMetrics, VacuumOutcome};
use super::retained::RetainedFiles;
use super::retention::Retention;
use super::{folders, history, inventory};
use crate::transaction::Operation;
use crate::{Error, RecordBatchStream, Result, Snapshot, Table};

/// The most candidates in memory at a time. Further candidates are processed in later rounds.
const ROUND: usize = 1_000_000;

/// The number of files after which the newest version is read again.
const BETWEEN_CHECKS: usize = 50_000;

/// The number of files that are deleted with one request, if the store supports it.
const TOGETHER: usize = 1_000;

/// The number of such requests at a time.
const AT_ONCE: usize = 8;

/// Finds the files that may be deleted, and deletes them.
pub(super) async fn run(table: &Table, options: VacuumOptions, objects: Option<RecordBatchStream>) -> Result<VacuumOutcome> {
    table.refuse_in_transaction("VACUUM")?;
    let snapshot = table.snapshot().await?.by_log().await?;
    check_write(snapshot.protocol(), snapshot.url())?;
    let retention = Retention::of(&snapshot, &options)?;
    let cutoff_ms = retention.cutoff_ms;
    let (store, hidden) = (snapshot.store(), HiddenNames::of(&snapshot));
    let has_inventory = objects.is_some();
    let mut due = None;
    let mut source = match (objects, options.mode) {
        (Some(_), VacuumMode::Lite) => {
            return Err(Error::invalid_input("a lite vacuum reads commits, not an inventory: request a full vacuum"));
        }
        (Some(objects), VacuumMode::Full) => inventory::read(store, hidden, objects)?,
        (None, VacuumMode::Full) => folders::walk(store, hidden, cutoff_ms),
        (None, VacuumMode::Lite) => {
            due = DueCommits::of(&snapshot, cutoff_ms).await?;
            due.as_ref().map_or_else(|| stream::empty().boxed(), |due| due.files(hidden, cutoff_ms))
        }
    };
    let kept = RetainedFiles::read(&snapshot, retention, &options.keep_versions).await?;
    let mut work = VacuumRun::new(table, options, retention, kept, snapshot);
    let is_recorded = work.snapshot.recorded_versions()? == work.options.keep_versions;
    if !work.options.dry_run && !is_recorded {
        let settings = work.options.commit_settings();
        table.record_kept_versions(&work.options.keep_versions, settings).await?;
        work.check_newest_version().await?;
    }
    work.clear(&mut source).await?;
    if !work.options.dry_run {
        work.remove_folders().await?;
        let done = match work.options.mode {
            VacuumMode::Lite => due.as_ref().and_then(DueCommits::done),
            // An inventory may be incomplete, so no version is completely vacuumed.
            VacuumMode::Full if has_inventory => None,
            VacuumMode::Full => work.newest_old_version().await,
        };
        work.leave_behind(done).await;
    }
    work.finish()
}

struct VacuumRun<'a> {
    table: &'a Table,
    options: VacuumOptions,
    retention: Retention,
    kept: RetainedFiles,
    /// The newest version that is known.
    snapshot: Snapshot,
    metrics: VacuumMetrics,
    shown: ReportedFiles,
    /// The files and folders to which links point.
    linked: HashSet<String>,
    empty: Vec<Path>,
}

/// The results of deleting some files.
#[derive(Default)]
struct DeletionTally {
    deleted: u64,
    failed: u64,
    error: Option<Error>,
}

impl<'a> VacuumRun<'a> {
    fn new(table: &'a Table, options: VacuumOptions, retention: Retention, kept: RetainedFiles, snapshot: Snapshot) -> Self {
        let (metrics, shown) = (VacuumMetrics::default(), ReportedFiles::new());
        Self { table, options, retention, kept, snapshot, metrics, shown, linked: HashSet::new(), empty: Vec::new() }
    }

    /// Reads all candidates of a source, and deletes the files that may be deleted, round by round.
    async fn clear(&mut self, source: &mut CandidateStream) -> Result<()> {
        // The targets of links may be found as late as at the end of the walk.
        let most = if self.store().is_local() { usize::MAX } else { ROUND };
        let mut round = Vec::new();
        while let Some(part) = source.try_next().await? {
            self.take(part, &mut round);
            if round.len() >= most {
                self.delete_round(std::mem::take(&mut round)).await?;
            }
        }
        self.delete_round(round).await
    }

    /// Selects the candidates of a batch.
    fn take(&mut self, part: CandidateBatch, round: &mut Vec<Candidate>) {
        self.metrics.listed_files += part.files.len() as u64;
        self.metrics.listed_folders += part.folders;
        self.linked.extend(part.linked);
        self.empty.extend(part.empty);
        for file in part.files {
            let is_young = file.modified_ms.is_some_and(|modified| modified >= self.retention.cutoff_ms);
            if self.kept.holds(&file.path) {
                continue;
            }
            if is_young {
                self.metrics.young_files += 1;
            } else {
                round.push(file);
            }
        }
    }

    /// Deletes these files, unless they turn out to be needed, and records the deletion in the
    /// history.
    async fn delete_round(&mut self, mut round: Vec<Candidate>) -> Result<()> {
        if round.is_empty() {
            return Ok(());
        }
        if !self.options.dry_run {
            self.check_newest_version().await?;
        }
        round.retain(|file| self.may_go(file));
        round.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        let (files, bytes) = (round.len() as u64, round.iter().map(|file| file.size_bytes).sum::<u64>());
        self.metrics.found_files += files;
        self.metrics.found_bytes += bytes;
        if self.options.dry_run || round.is_empty() {
            round.iter().for_each(|file| self.shown.push(file));
            return Ok(());
        }
        if self.options.log_commits {
            let found = VacuumMetrics { found_files: files, found_bytes: bytes, ..VacuumMetrics::default() };
            let start = history::start(&self.snapshot, &self.options, self.retention, &found);
            self.commit(&start).await?;
        }
        let mut tally = DeletionTally::default();
        let ended = self.delete_files(round, &mut tally).await.and_then(|()| self.done(&mut tally));
        if self.options.log_commits {
            let listed_folders = self.metrics.listed_folders.max(1);
            let deleted = VacuumMetrics { deleted_files: tally.deleted, listed_folders, ..VacuumMetrics::default() };
            let end = history::end(ended.is_ok(), &deleted);
            if let Err(error) = self.commit(&end).await {
                let table = self.snapshot.url();
                tracing::warn!(table, "{table}: vacuumed, but the commit that records it failed: {error}");
            }
        }
        ended
    }

    async fn delete_files(&mut self, round: Vec<Candidate>, tally: &mut DeletionTally) -> Result<()> {
        let mut round = round.into_iter().peekable();
        while round.peek().is_some() {
            self.check_newest_version().await?;
            let files: Vec<Candidate> = round.by_ref().take(BETWEEN_CHECKS).filter(|file| self.may_go(file)).collect();
            let before = (tally.deleted, tally.failed);
            let store = self.store().clone();
            let mut outcomes = stream::iter(in_chunks(files)).map(|chunk| delete(store.clone(), chunk)).buffered(AT_ONCE);
            while let Some(deleted) = outcomes.next().await {
                self.count(deleted?, tally);
            }
            // If deletions failed and none succeeded, the rest is left alone. A missing permission
            // would otherwise cause up to a million failing deletions.
            if tally.failed > before.1 && tally.deleted == before.0 {
                return Ok(());
            }
        }
        Ok(())
    }

    fn count(&mut self, deleted: DeletedChunk, tally: &mut DeletionTally) {
        for (file, fate) in deleted.files {
            match fate {
                DeleteOutcome::Deleted => {
                    tally.deleted += 1;
                    self.metrics.deleted_files += 1;
                    self.metrics.deleted_bytes += file.size_bytes;
                    self.shown.push(&file);
                }
                DeleteOutcome::Missing => self.metrics.missing_files += 1,
                DeleteOutcome::Failed => tally.failed += 1,
            }
        }
        tally.error = tally.error.take().or(deleted.error);
    }

    /// Returns an error if any file could not be deleted.
    fn done(&self, tally: &mut DeletionTally) -> Result<()> {
        let Some(error) = tally.error.take() else { return Ok(()) };
        let message = format!(
            "{}: {} files were deleted, but {} could not be deleted. The deleted files were no longer needed. When the cause is \
             fixed, vacuum again to delete the others. The first cause: {}",
            self.snapshot.url(),
            self.metrics.deleted_files,
            tally.failed,
            error.message(),
        );
        Err(Error::new(error.kind().clone(), message).with_source(error))
    }

    fn may_go(&self, file: &Candidate) -> bool {
        !self.kept.holds(&file.path) && !self.is_linked(&file.path)
    }

    fn is_linked(&self, path: &str) -> bool {
        is_linked(&self.linked, path)
    }

    /// Reads the newest version. Other writers may have committed since: files that they restored
    /// stay, and their changes of the table's properties apply.
    async fn check_newest_version(&mut self) -> Result<()> {
        let newest = self.table.snapshot().await?.by_log().await?;
        check_write(newest.protocol(), newest.url())?;
        self.retention.check(&newest, &self.options)?;
        self.kept.catch_up(&newest).await?;
        self.snapshot = newest;
        Ok(())
    }

    async fn commit(&mut self, operation: &Operation) -> Result<()> {
        let committed = history::commit(self.table, &self.options, operation).await?;
        if let Some(snapshot) = committed.snapshot {
            self.snapshot = snapshot;
        }
        Ok(())
    }

    /// Deletes empty folders, the deepest first, so that a folder that contains only them is
    /// deleted too.
    async fn remove_folders(&mut self) -> Result<()> {
        let mut folders = std::mem::take(&mut self.empty);
        let linked = |folder: &Path| self.store().below_root(folder).is_some_and(|path| self.is_linked(path));
        folders.retain(|folder| !linked(folder));
        folders.sort_unstable_by_key(|folder| std::cmp::Reverse(folder.as_ref().matches('/').count()));
        self.metrics.deleted_folders = self.store().remove_empty_folders(&folders).await?;
        Ok(())
    }

    /// Returns the newest version that is older than the retention period, if it can be determined.
    async fn newest_old_version(&self) -> Option<u64> {
        let listed = log::list_log(self.store(), None).await.ok()?;
        self.snapshot.newest_until(&listed, self.retention.cutoff_ms.saturating_sub(1)).await.ok()?
    }

    /// Stores the information for the next lite vacuum. Without it, that vacuum examines more
    /// commits than necessary.
    async fn leave_behind(&self, done: Option<u64>) {
        let Some(version) = done else { return };
        if let Err(error) = commits::write_last(&self.snapshot, version).await {
            let table = self.snapshot.url();
            tracing::warn!(
                table,
                "{table}: vacuumed, but the information for the next lite vacuum could not be written: {error}"
            );
        }
    }

    fn finish(self) -> Result<VacuumOutcome> {
        let VacuumMetrics { deleted_files, deleted_bytes, .. } = self.metrics;
        if !self.options.dry_run {
            tracing::info!(table = self.snapshot.url(), deleted_files, deleted_bytes, "vacuumed");
        }
        let (version, files) = (self.snapshot.version(), self.shown.finish()?);
        Ok(VacuumOutcome { version, metrics: self.metrics, files, snapshot: Some(self.snapshot) })
    }

    fn store(&self) -> &Store {
        self.snapshot.store()
    }
}

/// Files that were deleted together, with the result for each.
struct DeletedChunk {
    files: Vec<(Candidate, DeleteOutcome)>,
    error: Option<Error>,
}

fn in_chunks(files: Vec<Candidate>) -> Vec<Vec<Candidate>> {
    let mut chunks = Vec::new();
    let mut files = files.into_iter().peekable();
    while files.peek().is_some() {
        chunks.push(files.by_ref().take(TOGETHER).collect());
    }
    chunks
}

/// Deletes some files, with the checksum files that Hadoop may have left beside them.
async fn delete(store: Store, files: Vec<Candidate>) -> Result<DeletedChunk> {
    let mut paths = files.iter().map(|file| store.path_of(&file.path)).collect::<Result<Vec<Path>>>()?;
    for file in &files {
        paths.extend(hadoop_checksum_path(&store, &file.path)?);
    }
    let deletion = store.delete_each(&paths).await?;
    Ok(DeletedChunk { files: files.into_iter().zip(deletion.outcomes).collect(), error: deletion.error })
}
