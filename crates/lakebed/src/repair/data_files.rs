//! Commits changes of data files: drops those that cannot be read, drops deletion vectors that
//! cannot be read, and records statistics again.
//!
//! All are normal transactions. Another writer that removes one of the files is a conflict, and
//! the work begins again on the newest version.

use std::collections::HashSet;
use std::pin::pin;

use arrow_array::BooleanArray;
use futures::{StreamExt, TryStreamExt, stream};
use lakebed_core::action::Add;
use lakebed_core::log::files::{FileBatch, column};
use lakebed_core::path::FilePath;

use super::lost_vectors::are_lost;
use super::options::{LostDeletionVectors, RepairOptions};
use super::outcome::{RepairAction, RepairKind};
use crate::rows::shape::Shape;
use crate::rows::statistics::describe;
use crate::rows::target::Target;
use crate::scan::ScanFile;
use crate::scan::plan::{Plan, PlanOptions};
use crate::transaction::retry::{Retry, Retryable};
use crate::transaction::{CommitSettings, Operation, Transaction};
use crate::write::settings::FileSettings;
use crate::{Result, Snapshot, Table};

/// The number of files that are requested, or read, at a time.
const AT_ONCE: usize = 32;

/// A change of data files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileChange {
    Drop,
    DropVector,
    Describe,
}

impl FileChange {
    /// Returns the paths of the files that a plan changes in this way.
    fn paths(self, actions: &[RepairAction]) -> HashSet<&str> {
        let kind = match self {
            Self::Drop => RepairKind::DropFile,
            Self::DropVector => RepairKind::DropDeletionVector,
            Self::Describe => RepairKind::ComputeStatistics,
        };
        actions.iter().filter(|action| action.kind == kind).filter_map(|action| action.file.as_deref()).collect()
    }

    /// Commits the change. Returns the version, or `None` if there was nothing to change.
    pub(super) async fn commit(self, table: &Table, actions: &[RepairAction], options: &RepairOptions) -> Result<Option<u64>> {
        let paths = self.paths(actions);
        if paths.is_empty() {
            return Ok(None);
        }
        let settings = CommitSettings::of(options.user_metadata.as_ref(), &options.commit_info, options.upkeep, options.timeout);
        let mut retry = Retry::new(table.env(), &settings, Retryable::all());
        loop {
            let snapshot = table.snapshot().await?.by_log().await?;
            let attempt = match self {
                Self::Drop => drop_files(&snapshot, &paths, options, settings.clone()).await,
                Self::DropVector => drop_vectors(&snapshot, &paths, settings.clone()).await,
                Self::Describe => describe_files(&snapshot, &paths, settings.clone()).await,
            };
            match attempt {
                Ok(None) => return Ok(None),
                Ok(Some((transaction, operation))) => match transaction.commit(operation).await {
                    Ok(committed) => {
                        if let Some(snapshot) = &committed.snapshot {
                            table.keep(snapshot).await;
                        }
                        return Ok(Some(committed.version));
                    }
                    Err(error) => retry.again(error).await?,
                },
                Err(error) => retry.again(error).await?,
            }
        }
    }
}

/// Returns the files of a version with these paths.
async fn find_files(snapshot: &Snapshot, paths: &HashSet<&str>) -> Result<Vec<FileBatch>> {
    let options = PlanOptions { whole_actions: true, ..PlanOptions::default() };
    let mut batches = pin!(Plan::new(snapshot, None, options)?.files());
    let mut found = Vec::new();
    while let Some(batch) = batches.try_next().await? {
        let wanted: BooleanArray = batch.paths()?.iter().map(|path| path.map(|path| paths.contains(path))).collect();
        let batch = batch.filter(&wanted)?;
        if !batch.is_empty() {
            found.push(batch);
        }
    }
    Ok(found)
}

type Prepared = Option<(Transaction, Operation)>;

/// Prepares the removal of files that do not exist, or whose deletion vectors cannot be read. Each
/// is looked for once more.
async fn drop_files(
    snapshot: &Snapshot,
    paths: &HashSet<&str>,
    options: &RepairOptions,
    settings: CommitSettings,
) -> Result<Prepared> {
    let with_lost_vectors = options.lost_deletion_vectors == Some(LostDeletionVectors::DropFiles);
    let mut transaction = Transaction::begin(snapshot, settings).await?;
    let (mut files, mut bytes) = (0, 0);
    for batch in find_files(snapshot, paths).await? {
        let mut dropped = vec![false; batch.len()];
        if options.drop_missing_files {
            dropped = missing(snapshot, &batch).await?;
        }
        if with_lost_vectors {
            let lost = are_lost(snapshot, &batch).await?;
            dropped = dropped.into_iter().zip(lost).map(|(missing, lost)| missing || lost).collect();
        }
        let batch = batch.filter(&BooleanArray::from(dropped))?;
        files += batch.len() as u64;
        bytes += batch.longs(column::SIZE)?.iter().flatten().map(i64::unsigned_abs).sum::<u64>();
        transaction.read().files(&batch)?;
        transaction.remove(batch, true);
    }
    // Databricks names the operation so. deltalake does, too.
    let operation = Operation::new("FSCK").with("dryRun", false);
    let operation = operation.with_metrics([("numRemovedFiles", files), ("numRemovedBytes", bytes)]);
    Ok((files > 0).then_some((transaction, operation)))
}

/// Returns for each file whether it does not exist.
async fn missing(snapshot: &Snapshot, batch: &FileBatch) -> Result<Vec<bool>> {
    let paths: Vec<String> = batch.paths()?.iter().flatten().map(str::to_owned).collect();
    let look = |path: String| async move {
        let (store, object) = snapshot.store().resolve(&FilePath::parse(&path)?)?;
        match store.head(&object).await {
            Ok(_) => Ok(false),
            Err(error) if error.is_not_found() => Ok(true),
            Err(error) => Err(error),
        }
    };
    stream::iter(paths.into_iter().map(look)).buffered(AT_ONCE).try_collect().await
}

/// Prepares the removal of deletion vectors that cannot be read. Each is read once more.
///
/// The statistics are computed again, because those of the log may be those of the rows that were
/// left.
async fn drop_vectors(snapshot: &Snapshot, paths: &HashSet<&str>, settings: CommitSettings) -> Result<Prepared> {
    let mut transaction = Transaction::begin(snapshot, settings).await?;
    let target = Target::of_table(snapshot, None, &FileSettings::default(), snapshot.env().now_ms()).await?;
    let shape = Shape::new(snapshot, &target)?;
    let partitions = snapshot.physical_partition_columns();
    let (mut restored, mut rows) = (0, 0);
    for batch in find_files(snapshot, paths).await? {
        let lost = are_lost(snapshot, &batch).await?;
        let batch = batch.filter(&BooleanArray::from(lost))?;
        for (file, add) in ScanFile::of_batch(&batch, &partitions)?.into_iter().zip(batch.to_adds()?) {
            rows += add.deletion_vector.as_ref().map_or(0, |vector| vector.cardinality.unsigned_abs());
            let (file, add) = (ScanFile { deletion_vector: None, ..file }, Add { deletion_vector: None, ..add });
            let described = describe(snapshot, &target, &shape, file, add).await?;
            transaction.add_without_vector(&described)?;
            restored += 1;
        }
        transaction.read().files(&batch)?;
        transaction.remove(batch, true);
    }
    let operation = Operation::new("FSCK").with("dryRun", false);
    // Delta Spark's name for the number of deletion vectors that a commit removes.
    let metrics = [("numDeletionVectorsRemoved", restored), ("numRestoredRows", rows)];
    Ok((restored > 0).then_some((transaction, operation.with_metrics(metrics))))
}

/// Prepares new statistics of files, computed from their rows.
async fn describe_files(snapshot: &Snapshot, paths: &HashSet<&str>, settings: CommitSettings) -> Result<Prepared> {
    let mut transaction = Transaction::begin(snapshot, settings).await?;
    let target = Target::of_table(snapshot, None, &FileSettings::default(), snapshot.env().now_ms()).await?;
    let shape = Shape::new(snapshot, &target)?;
    let partitions = snapshot.physical_partition_columns();
    let mut described: Vec<Add> = Vec::new();
    for batch in find_files(snapshot, paths).await? {
        for (file, add) in ScanFile::of_batch(&batch, &partitions)?.into_iter().zip(batch.to_adds()?) {
            described.push(describe(snapshot, &target, &shape, file, add).await?);
        }
        transaction.read().files(&batch)?;
    }
    let is_needed = !described.is_empty();
    transaction.add_again(described);
    // Delta Spark names the operation so, and records no metrics.
    let operation = Operation::new("COMPUTE STATS").with("predicate", "[]");
    Ok(is_needed.then_some((transaction, operation)))
}
