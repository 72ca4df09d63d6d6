//! The difference of the files of two versions, by path and deletion vector.
//!
//! The keys of both versions are compared first. Everything else is decoded for the files that
//! differ alone, and only these are in memory.
//!
//! If both versions stand on the same checkpoint, only files that a commit above it touched can
//! differ. So memory holds the keys of these files. Otherwise it holds the keys of the older
//! version's files, 16 bytes for each.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use futures::TryStreamExt;
use lakebed_core::log::files::{FileBatch, FileKey, column};

use crate::scan::plan::{Plan, PlanOptions};
use crate::{Result, Snapshot};

/// The difference of the files of two versions.
#[derive(Default)]
pub(crate) struct FileDifference {
    /// The files that only the older version has, with everything that its log says about them.
    pub(crate) restored: Vec<FileBatch>,
    /// The files that only the newer version has, with everything that a tombstone keeps.
    pub(crate) removed: Vec<FileBatch>,
    /// The number and the total size of the files of the older version.
    pub(crate) num_files: u64,
    pub(crate) size_bytes: u64,
}

impl FileDifference {
    /// Compares the files of a version with those of an older one.
    pub(crate) async fn of(current: &Snapshot, target: &Snapshot) -> Result<Self> {
        Self::with(current, target, PlanOptions { tombstones: true, ..PlanOptions::default() }).await
    }

    /// Compares the files of two versions. The files that only the newer version has come with their
    /// statistics, too.
    pub(crate) async fn with_statistics(current: &Snapshot, target: &Snapshot) -> Result<Self> {
        Self::with(current, target, PlanOptions { whole_actions: true, ..PlanOptions::default() }).await
    }

    async fn with(current: &Snapshot, target: &Snapshot, of_removed: PlanOptions) -> Result<Self> {
        let mut found = Self::default();
        let touched = touched_files(current, target).await?;
        let may_differ = |key: &FileKey| touched.as_ref().is_none_or(|touched| touched.contains(key));
        let plan = Plan::new(target, None, PlanOptions::default())?;
        let mut only_in_target = HashSet::new();
        let mut files = plan.files();
        while let Some(batch) = files.try_next().await? {
            only_in_target.extend(batch.keys()?.into_iter().filter(may_differ));
        }
        let metrics = plan.metrics();
        (found.num_files, found.size_bytes) = (metrics.kept.get(), metrics.kept_bytes.get());
        let mut only_in_current = HashSet::new();
        let plan = match touched {
            Some(touched) => Plan::of_files(current, touched, PlanOptions::default()),
            None => Plan::new(current, None, PlanOptions::default())?,
        };
        let mut files = plan.files();
        while let Some(batch) = files.try_next().await? {
            only_in_current.extend(batch.keys()?.into_iter().filter(|key| !only_in_target.remove(key)));
        }
        found.removed = files_of(current, only_in_current, of_removed).await?;
        let whole = PlanOptions { whole_actions: true, ..PlanOptions::default() };
        found.restored = files_of(target, only_in_target, whole).await?;
        Ok(found)
    }

    /// Gives files that come back without row ids the row ids of the same files with other deletion
    /// vectors. PROTOCOL "Row IDs": a file that is added again keeps its row ids. The older version
    /// may be from before the table had row ids.
    pub(crate) fn take_over_row_ids(&mut self) -> Result<()> {
        let has_none = |files: &FileBatch| Ok(files.longs(column::BASE_ROW_ID)?.null_count() > 0);
        if !self.restored.iter().map(has_none).collect::<Result<Vec<bool>>>()?.contains(&true) {
            return Ok(());
        }
        let mut known = HashMap::new();
        for files in &self.removed {
            let (ids, versions) = (files.longs(column::BASE_ROW_ID)?, files.longs(column::DEFAULT_ROW_COMMIT_VERSION)?);
            for (row, path) in files.paths()?.iter().enumerate().filter(|(row, _)| ids.is_valid(*row)) {
                let version = versions.is_valid(row).then(|| versions.value(row));
                known.insert(FileKey::new(path.unwrap_or_default(), None), (ids.value(row), version));
            }
        }
        if known.is_empty() {
            return Ok(());
        }
        for files in &mut self.restored {
            *files = with_row_ids(files, &known)?;
        }
        Ok(())
    }
}

/// Row ids of files by path: the first row id, and the commit version of the rows.
type RowIdsByPath = HashMap<FileKey, (i64, Option<i64>)>;

fn with_row_ids(files: &FileBatch, known: &RowIdsByPath) -> Result<FileBatch> {
    let (ids, versions) = (files.longs(column::BASE_ROW_ID)?, files.longs(column::DEFAULT_ROW_COMMIT_VERSION)?);
    let paths = files.paths()?;
    let own = |values: &Int64Array, row: usize| values.is_valid(row).then(|| values.value(row));
    let (new_ids, new_versions): (Vec<Option<i64>>, Vec<Option<i64>>) = (0..files.len())
        .map(|row| match (own(&ids, row), known.get(&FileKey::new(paths.value(row), None))) {
            (None, Some((id, version))) => (Some(*id), *version),
            (id, _) => (id, own(&versions, row)),
        })
        .unzip();
    let mut columns: Vec<(String, ArrayRef, bool)> = Vec::new();
    let batch = files.batch();
    for (field, array) in batch.schema().fields().iter().zip(batch.columns()) {
        if field.name() != column::BASE_ROW_ID && field.name() != column::DEFAULT_ROW_COMMIT_VERSION {
            columns.push((field.name().clone(), Arc::clone(array), true));
        }
    }
    columns.push((column::BASE_ROW_ID.to_owned(), Arc::new(Int64Array::from(new_ids)), true));
    columns.push((column::DEFAULT_ROW_COMMIT_VERSION.to_owned(), Arc::new(Int64Array::from(new_versions)), true));
    FileBatch::new(RecordBatch::try_from_iter_with_nullable(columns)?)
}

/// Returns the keys of the files that can differ, if the versions stand on the same checkpoint: those
/// that a commit above it touched. Below, the versions have the same history.
async fn touched_files(current: &Snapshot, target: &Snapshot) -> Result<Option<HashSet<FileKey>>> {
    let (newer, older) = (current.readable_log().await?, target.readable_log().await?);
    let (newer, older) = (newer.snapshot(), older.snapshot());
    let base = |snapshot: &Snapshot| snapshot.segment().checkpoint.as_ref().map(|checkpoint| checkpoint.version);
    if base(newer).is_none() || base(newer) != base(older) {
        return Ok(None);
    }
    Ok(Some(newer.layers().await?.touched().chain(older.layers().await?.touched()).collect()))
}

/// Returns these files of a version.
async fn files_of(snapshot: &Snapshot, keys: HashSet<FileKey>, options: PlanOptions) -> Result<Vec<FileBatch>> {
    match keys.is_empty() {
        true => Ok(Vec::new()),
        false => Plan::of_files(snapshot, keys, options).files().try_collect().await,
    }
}
