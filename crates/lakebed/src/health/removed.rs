//! The data files that left the table and that the log still remembers: those that a vacuum may
//! delete, and those that older versions need.

use std::collections::HashMap;
use std::pin::pin;

use arrow_array::{Array, RecordBatch};
use futures::TryStreamExt;
use lakebed_core::action::Action;
use lakebed_core::action::json::{CommitLines, each_other};
use lakebed_core::log::checkpoint::columns;
use lakebed_core::log::checkpoint::write::{Tombstones, old_tombstones};
use lakebed_core::log::files::{FileBatch, FileKey, column};
use lakebed_io::{checkpoint, log};

use crate::check::vacuumed_until;
use crate::{Result, Snapshot};

/// The columns of a tombstone that are counted.
const TOMBSTONES: columns::Columns =
    &[&["remove", "path"], &["remove", "deletionTimestamp"], &["remove", "deletionVector"], &["remove", "size"]];

/// The files that left the table, by the hash of their path.
#[derive(Default)]
pub(super) struct RemovedFiles {
    files: HashMap<FileKey, RemovedFile>,
    /// The time until which a VACUUM has deleted removed files.
    vacuumed_ms: Option<i64>,
}

struct RemovedFile {
    bytes: u64,
    /// The last time when the file, or one of its deletion vectors, was removed.
    deleted_ms: i64,
}

/// Sums over files that left the table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct RemovedSums {
    /// The files that a vacuum may delete, and their size as far as the log gives it.
    pub(super) deletable_files: u64,
    pub(super) deletable_bytes: u64,
    /// The files that versions within the retention period need.
    pub(super) kept_files: u64,
    pub(super) kept_bytes: u64,
}

impl RemovedFiles {
    /// Reads the tombstones of a version.
    pub(super) async fn read(snapshot: &Snapshot) -> Result<Self> {
        let mut log = snapshot.readable_log().await?;
        loop {
            match Self::read_log(log.snapshot()).await {
                Err(error) => log.mend(error).await?,
                read => return read,
            }
        }
    }

    async fn read_log(snapshot: &Snapshot) -> Result<Self> {
        let mut found = Self::default();
        let (layers, store) = (snapshot.layers().await?, snapshot.store());
        let mut tombstones = Tombstones::of_commits(layers, i64::MIN);
        let mut parts = pin!(log::read_commits(store, &snapshot.segment().commits));
        while let Some(part) = parts.try_next().await? {
            each_other(part.part(), |action| {
                if let Action::CommitInfo(info) = &action {
                    found.vacuumed_ms = found.vacuumed_ms.max(vacuumed_until(info));
                }
                Ok(())
            })?;
            found.add(tombstones.read(part.part())?)?;
        }
        found.add(tombstones.finish()?)?;
        let Some(files) = &snapshot.segment().checkpoint else { return Ok(found) };
        let content = checkpoint::open(store, files).await?;
        if let Some((name, bytes)) = &content.json {
            let mut tombstones = Tombstones::of_checkpoint(layers, i64::MIN);
            found.add(tombstones.read(CommitLines::whole(bytes, name))?)?;
            found.add(tombstones.finish()?)?;
        }
        for part in &content.parts {
            let Some(mut batches) = checkpoint::read_removes(part, TOMBSTONES)? else { continue };
            while let Some(batch) = batches.try_next().await? {
                found.add(Some(old_tombstones(&batch, layers, i64::MIN)?))?;
            }
        }
        Ok(found)
    }

    fn add(&mut self, tombstones: Option<RecordBatch>) -> Result<()> {
        let Some(batch) = tombstones else { return Ok(()) };
        let files = FileBatch::new(batch)?;
        let (sizes, times) = (files.longs(column::SIZE)?, files.longs("deletionTimestamp")?);
        for (row, path) in files.paths()?.iter().enumerate() {
            let bytes = if sizes.is_valid(row) { u64::try_from(sizes.value(row)).unwrap_or(0) } else { 0 };
            let deleted_ms = if times.is_valid(row) { times.value(row) } else { 0 };
            let file =
                self.files.entry(FileKey::new(path.unwrap_or_default(), None)).or_insert(RemovedFile { bytes, deleted_ms });
            (file.bytes, file.deleted_ms) = (file.bytes.max(bytes), file.deleted_ms.max(deleted_ms));
        }
        Ok(())
    }

    /// Forgets the files that the table has, with another deletion vector.
    pub(super) fn forget(&mut self, live: &FileBatch) -> Result<()> {
        if !self.files.is_empty() {
            for path in live.paths()?.iter().flatten() {
                self.files.remove(&FileKey::new(path, None));
            }
        }
        Ok(())
    }

    /// Returns the sums. A file that was removed before `cutoff_ms` may be deleted. A file that a
    /// VACUUM has deleted counts no more.
    pub(super) fn sums(&self, cutoff_ms: i64) -> RemovedSums {
        let mut sums = RemovedSums::default();
        for file in self.files.values() {
            if self.vacuumed_ms.is_some_and(|vacuumed| file.deleted_ms < vacuumed) {
                continue;
            }
            let (files, bytes) = match file.deleted_ms < cutoff_ms {
                true => (&mut sums.deletable_files, &mut sums.deletable_bytes),
                false => (&mut sums.kept_files, &mut sums.kept_bytes),
            };
            *files += 1;
            *bytes += file.bytes;
        }
        sums
    }
}
