//! Finds the versions that have certain files, from the log.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;

use futures::TryStreamExt;
use lakebed_core::action::DeletionVectorDescriptor;
use lakebed_core::dv::{self, DvLocation};
use lakebed_core::log::files::{FileBatch, FileKey, column};
use lakebed_core::path::LogPath;
use lakebed_io::store::Store;

use super::log_search::FoundInLog;
use super::logged_files::{self, LoggedFiles, Naming};
use crate::scan::plan::{Plan, PlanOptions};
use crate::{Result, Table};

/// The versions that have some files of a search, and the facts in the log about these files.
#[derive(Default)]
pub(super) struct Presence {
    /// The positions of the files in each version that has any. Change data files belong to the
    /// version of their commit.
    pub(super) versions: BTreeMap<u64, BTreeSet<usize>>,
    /// The time of the last removal of each file, in milliseconds since the epoch.
    pub(super) removed_ms: BTreeMap<usize, i64>,
    /// The names of their deletion vector files below the table.
    pub(super) vectors: BTreeSet<String>,
}

/// The actions of one commit about the files.
#[derive(Default)]
struct Touched {
    added: Vec<usize>,
    removed: Vec<usize>,
    changes: Vec<usize>,
}

impl Presence {
    /// Reads the log again for the files of a search.
    pub(super) async fn read(table: &Table, found: &FoundInLog) -> Result<Self> {
        let mut presence = Self::default();
        if found.files.is_empty() {
            return Ok(presence);
        }
        let paths = found.listed.iter().filter(|file| file.path.is_commit() && !found.placeholders.contains(&file.path.version));
        let commits: Vec<LogPath> = paths.map(|file| file.path.clone()).collect();
        let mut bases = found.bases.iter().copied().peekable();
        let (mut present, mut touched) = (BTreeSet::new(), Touched::default());
        let mut parts = pin!(logged_files::read(table.store(), &commits));
        while let Some(part) = parts.try_next().await? {
            while let Some(base) = bases.next_if(|base| *base <= part.version) {
                present = presence.base(table, found, base).await?;
                presence.record(base, &present);
            }
            presence.touch(table, found, &part, &mut touched)?;
            if !part.is_last {
                continue;
            }
            let Touched { added, removed, changes } = std::mem::take(&mut touched);
            // The files of such a version are known as a whole.
            if !found.bases.contains(&part.version) {
                present.retain(|file| !removed.contains(file));
                present.extend(added);
            }
            presence.record(part.version, &present);
            presence.record(part.version, &changes.into_iter().collect());
        }
        for base in bases {
            present = presence.base(table, found, base).await?;
            presence.record(base, &present);
        }
        Ok(presence)
    }

    fn record(&mut self, version: u64, files: &BTreeSet<usize>) {
        if !files.is_empty() {
            self.versions.entry(version).or_default().extend(files);
        }
    }

    /// Returns the files of a version.
    async fn base(&mut self, table: &Table, found: &FoundInLog, version: u64) -> Result<BTreeSet<usize>> {
        let snapshot = table.snapshot_at(version).await?;
        let mut present = BTreeSet::new();
        let mut files = Plan::new(&snapshot, None, PlanOptions::default())?.files();
        while let Some(batch) = files.try_next().await? {
            for (row, file) in held(found, &batch)? {
                present.insert(file);
                take_vector(table.store(), batch.deletion_vector(row)?, &mut self.vectors)?;
            }
        }
        Ok(present)
    }

    fn touch(&mut self, table: &Table, found: &FoundInLog, part: &LoggedFiles, touched: &mut Touched) -> Result<()> {
        for (naming, batch) in &part.files {
            let times = batch.longs(column::MODIFICATION_TIME)?;
            for (row, file) in held(found, batch)? {
                take_vector(table.store(), batch.deletion_vector(row)?, &mut self.vectors)?;
                match naming {
                    Naming::Added => touched.added.push(file),
                    Naming::Changes => touched.changes.push(file),
                    Naming::Removed => {
                        touched.removed.push(file);
                        let last = self.removed_ms.entry(file).or_insert(i64::MIN);
                        *last = (*last).max(times.value(row));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Returns the rows of a batch with files of the search, and their positions.
fn held(found: &FoundInLog, batch: &FileBatch) -> Result<Vec<(usize, usize)>> {
    let place =
        |(row, path): (usize, Option<&str>)| Some((row, *found.places.get(&FileKey::new(path.unwrap_or_default(), None))?));
    Ok(batch.paths()?.iter().enumerate().filter_map(place).collect())
}

/// Adds the name of the file of a deletion vector, if the file lies below the table.
pub(super) fn take_vector(store: &Store, vector: Option<DeletionVectorDescriptor>, names: &mut BTreeSet<String>) -> Result<()> {
    if let Some(DvLocation::File { path, .. }) = vector.as_ref().map(dv::location).transpose()? {
        names.extend(store.name_below_root(&path));
    }
    Ok(())
}
