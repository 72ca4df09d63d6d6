//! The files of the newest version that hold matching rows, and the files that replace them.
//!
//! Two kinds of files are rewritten. Files with matching rows lose these rows, which changes the
//! table. Files in which all matching rows were deleted before lose the bytes of their deleted rows,
//! which does not change the table: their new files are marked so, and readers of changes ignore
//! them. No deletion vector is written, because it would leave the bytes in the file.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_arith::boolean::and;
use arrow_array::BooleanArray;
use futures::TryStreamExt;
use lakebed_core::action::Add;
use lakebed_core::dv::DeletionVector;
use lakebed_core::log::files::{FileBatch, FileKey};

use super::held_rows::{self, HeldRows};
use super::options::EraseOptions;
use super::outcome::EraseMetrics;
use crate::rows::deleted::{DeletedRows, PartOfFile, totals};
use crate::rows::effects::Effects;
use crate::rows::rewrite::{Moves, Rewrite};
use crate::rows::search::Search;
use crate::rows::selection::{Matching, Selection};
use crate::rows::target::Target;
use crate::scan::ScanFile;
use crate::scan::plan::{Plan, PlanOptions, partition_may_match};
use crate::transaction::Transaction;
use crate::write::data_file::WrittenFile;
use crate::write::files::delete_written;
use crate::{Error, Result, Snapshot};

/// The maximum number of files that one read takes.
const FILES_AT_ONCE: usize = 1024;

/// The files of the newest version that hold matching rows.
pub(super) struct FoundFiles {
    /// Files with matching rows of the table.
    changed: DeletedRows,
    /// Files in which all matching rows were deleted before.
    purged: Vec<PartOfFile>,
    /// The paths of all these files.
    pub(super) paths: HashSet<FileKey>,
    pub(super) metrics: EraseMetrics,
}

/// The new files.
pub(super) struct NewFiles {
    changed: Effects,
    purged: Effects,
}

impl FoundFiles {
    /// Searches the newest version.
    pub(super) async fn search(snapshot: &Snapshot, selection: &Selection, matching: &Matching) -> Result<Self> {
        let search = Search::of_places(snapshot, selection)?;
        let plan = search.metrics();
        let changed = search.all().await?;
        let mut metrics = EraseMetrics { erased_rows: changed.rows()?, ..EraseMetrics::default() };
        let mut paths = HashSet::new();
        for files in changed.whole.iter().chain(changed.parts.iter().map(|part| &part.file)) {
            paths.extend(path_keys(files)?);
        }
        let purged = purged(snapshot, matching, &mut paths).await?;
        metrics.purged_files = purged.len() as u64;
        (metrics.scanned_files, metrics.scanned_bytes) = (plan.kept.get(), plan.kept_bytes.get());
        Ok(Self { changed, purged, paths, metrics })
    }

    /// Returns whether no file holds matching rows.
    pub(super) fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Returns the number of these files and their total size.
    pub(super) fn counted(&self) -> Result<(u64, u64)> {
        let parts = self.changed.parts.iter().chain(&self.purged).map(|part| &part.file);
        totals(self.changed.whole.iter().chain(parts))
    }

    /// Writes the rows that stay to new files.
    pub(super) async fn rewrite(self, snapshot: &Snapshot, options: &EraseOptions, now_ms: i64) -> Result<NewFiles> {
        let target = Target::of_table(snapshot, None, &options.file_settings(), now_ms).await?;
        let begin = || Ok::<_, Error>(Rewrite::begin(snapshot, &target, false)?.copying());
        let changed = begin()?.finish(self.changed, Moves::default()).await?;
        if self.purged.is_empty() {
            return Ok(NewFiles { changed, purged: Effects::default() });
        }
        let purged = DeletedRows { parts: self.purged, ..DeletedRows::default() };
        match begin()?.finish(purged, Moves::default()).await {
            Ok(purged) => Ok(NewFiles { changed, purged }),
            Err(error) => {
                delete_written(snapshot.store(), &changed.files()).await;
                Err(error)
            }
        }
    }
}

impl NewFiles {
    /// Returns all files that were written.
    pub(super) fn written(&self) -> Vec<WrittenFile> {
        self.changed.files().into_iter().chain(self.purged.files()).collect()
    }

    /// Registers the removed and the new files with a transaction, and counts them.
    pub(super) async fn register(
        self,
        selection: &Selection,
        transaction: &mut Transaction,
        metrics: &mut EraseMetrics,
    ) -> Result<()> {
        metrics.copied_rows = self.changed.copied_rows + self.purged.copied_rows;
        let purged = self.purged;
        let (files, bytes) = totals(purged.deleted.parts.iter().map(|part| &part.file))?;
        (metrics.removed_files, metrics.removed_bytes) = (files, bytes);
        metrics.deletion_vectors_removed = files;
        for part in purged.deleted.parts {
            transaction.read().files(&part.file)?;
            transaction.remove(part.file, false);
        }
        for file in purged.added {
            metrics.added_files += 1;
            metrics.added_bytes += file.add.size.unsigned_abs();
            transaction.add_unflushed(Add { data_change: false, ..file.add }, file.unflushed);
        }
        let changed = Effects {
            deleted: self.changed.deleted.into_whole_files(),
            read: selection.read_set(),
            keeps_row_ids: true,
            ..self.changed
        };
        let totals = changed.register(None, transaction).await?;
        metrics.added_files += totals.added_files;
        metrics.added_bytes += totals.added_bytes;
        metrics.removed_files += totals.removed_files;
        metrics.removed_bytes += totals.removed_bytes;
        metrics.deletion_vectors_removed += totals.deletion_vectors_removed;
        Ok(())
    }
}

/// Returns the files in which a deletion vector deletes matching rows, and adds them to the paths of
/// files that were found before.
///
/// Bounds of such files may leave deleted rows out, so their rows are read.
async fn purged(snapshot: &Snapshot, matching: &Matching, paths: &mut HashSet<FileKey>) -> Result<Vec<PartOfFile>> {
    let scan = snapshot.scan().filter(Arc::clone(&matching.filter));
    let spec = held_rows::spec_of(&scan);
    let partitions = snapshot.physical_partition_columns();
    let mut files = Plan::new(snapshot, None, PlanOptions { whole_actions: true, ..PlanOptions::default() })?.files();
    let (mut waiting, mut found) = (Vec::new(), Vec::new());
    loop {
        let batch = files.try_next().await?;
        let is_end = batch.is_none();
        if let Some(batch) = batch {
            let wanted = and(&batch.has_deletion_vector()?, &partition_may_match(&matching.pruner, &batch)?)?;
            let is_new: BooleanArray = path_keys(&batch)?.iter().map(|key| Some(!paths.contains(key))).collect();
            let batch = batch.filter(&and(&wanted, &is_new)?)?;
            waiting.extend((0..batch.len()).map(|row| batch.slice(row, 1)));
        }
        while waiting.len() >= FILES_AT_ONCE || (is_end && !waiting.is_empty()) {
            let rest = waiting.split_off(waiting.len().min(FILES_AT_ONCE));
            let files = std::mem::replace(&mut waiting, rest);
            let mut scans = Vec::with_capacity(files.len());
            for file in &files {
                scans.extend(ScanFile::of_batch(file, &partitions)?);
            }
            for (file, held) in files.into_iter().zip(held_rows::find(&scan, &spec, scans).await?) {
                match held {
                    HeldRows::None => {}
                    // A file that cannot be read is an error when its rows are copied.
                    HeldRows::Some | HeldRows::Missing | HeldRows::Undecided => {
                        paths.extend(path_keys(&file)?);
                        let add = file.to_adds()?.pop().ok_or_else(|| Error::internal("a file has no action"))?;
                        found.push(PartOfFile { file, add, rows: DeletionVector::new() });
                    }
                }
            }
        }
        if is_end {
            return Ok(found);
        }
    }
}

/// Returns the keys of files without their deletion vectors.
pub(super) fn path_keys(files: &FileBatch) -> Result<Vec<FileKey>> {
    Ok(files.paths()?.iter().map(|path| FileKey::new(path.unwrap_or_default(), None)).collect())
}
