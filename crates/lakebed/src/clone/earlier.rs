//! The files that the target has already from an earlier clone of the same source.

use std::collections::{HashMap, HashSet};

use arrow_array::BooleanArray;
use futures::TryStreamExt;
use lakebed_core::action::Add;
use lakebed_core::log::files::{FileBatch, FileKey, column};

use super::outcome::CloneMetrics;
use crate::scan::plan::{Plan, PlanOptions};
use crate::transaction::Transaction;
use crate::{Result, Snapshot};

/// The size of a file, and the time when it was written.
type Facts = (i64, i64);

/// The files of the target before the clone.
pub(super) struct EarlierFiles {
    target: Snapshot,
    files: HashMap<FileKey, Facts>,
    /// The files that stay.
    kept: HashSet<FileKey>,
    /// Whether names below the target's root mean the same files as in the source.
    is_earlier_copy: bool,
}

impl EarlierFiles {
    /// Reads the files of the target.
    pub(super) async fn read(target: &Snapshot, is_earlier_copy: bool) -> Result<Self> {
        let mut files = HashMap::new();
        let mut batches = all_files(target)?;
        while let Some(batch) = batches.try_next().await? {
            let (sizes, times) = (batch.longs(column::SIZE)?, batch.longs(column::MODIFICATION_TIME)?);
            let facts = sizes.values().iter().copied().zip(times.values().iter().copied());
            files.extend(batch.keys()?.into_iter().zip(facts));
        }
        Ok(Self { target: target.clone(), files, kept: HashSet::new(), is_earlier_copy })
    }

    /// Returns whether the target has this copy already. If so, the file stays.
    ///
    /// A name below the root means the same file only if the target is a copy of the source, because
    /// two tables may use the same name.
    pub(super) fn keep_copy(&mut self, add: &Add) -> bool {
        let key = FileKey::of_add(add);
        let is_same = self.is_earlier_copy && self.files.get(&key) == Some(&(add.size, add.modification_time));
        if is_same {
            self.kept.insert(key);
        }
        is_same
    }

    /// Returns those of these files with absolute paths that the target does not have. The others
    /// stay, because an absolute path means one file.
    pub(super) fn keep_named(&mut self, files: &FileBatch) -> Result<FileBatch> {
        let keys = files.keys()?;
        let is_new: BooleanArray = keys.iter().map(|key| Some(!self.files.contains_key(key))).collect();
        self.kept.extend(keys.into_iter().zip(is_new.values()).filter(|(_, is_new)| !is_new).map(|(key, _)| key));
        files.filter(&is_new)
    }

    /// Removes all files that do not stay.
    pub(super) async fn remove_others(self, transaction: &mut Transaction, metrics: &mut CloneMetrics) -> Result<()> {
        let mut batches = all_files(&self.target)?;
        while let Some(batch) = batches.try_next().await? {
            transaction.read().files(&batch)?;
            let gone = batch.keys()?.iter().map(|key| Some(!self.kept.contains(key))).collect();
            let gone = batch.filter(&gone)?;
            metrics.removed_files += gone.len() as u64;
            metrics.removed_bytes +=
                gone.longs(column::SIZE)?.iter().flatten().filter_map(|size| u64::try_from(size).ok()).sum::<u64>();
            if !gone.is_empty() {
                transaction.remove(gone, true);
            }
        }
        Ok(())
    }
}

/// Returns all files of a snapshot, with everything that the log says about them.
pub(super) fn all_files(snapshot: &Snapshot) -> Result<impl futures::Stream<Item = Result<FileBatch>> + Send + Unpin + use<>> {
    let options = PlanOptions { whole_actions: true, ..PlanOptions::default() };
    Ok(Box::pin(Plan::new(snapshot, None, options)?.files()))
}
