//! Deletes single rows: their files stay, and get deletion vectors that mark more rows as deleted.
//!
//! Two transactions that delete different rows of one file do not conflict: the later one adds its
//! rows to the deletion vector of the earlier one. PROTOCOL "Deletion Vectors".

use lakebed_core::action::Add;
use lakebed_core::action::json::AddRef;
use lakebed_core::commit::draft::{Removal, VectorChange};
use lakebed_core::commit::winner::Winner;
use lakebed_core::dv::DeletionVector;
use lakebed_core::error::ConflictKind;
use lakebed_core::log::builder::FileBatchBuilder;
use lakebed_core::log::files::FileBatch;
use lakebed_core::path::FilePath;
use lakebed_io::dv::{read_deletion_vector, write_deletion_vectors};
use lakebed_io::parquet::{PageIndex, ParquetFile};
use serde_json::{Value, json};

use super::Transaction;
use super::vector_file::VectorFile;
use crate::{Error, ErrorKind, Result};

impl Transaction {
    /// Deletes rows of files by their positions in the files. A file that loses its last row leaves
    /// the table, and other files stay.
    pub async fn delete_rows(&mut self, changes: Vec<(Add, DeletionVector)>) -> Result<Noted> {
        if !self.base.properties.deletion_vectors {
            let message = format!(
                "{}: delta.enableDeletionVectors is not true, so single rows cannot be deleted without a rewrite of their files",
                self.store.url()
            );
            return Err(Error::invalid_input(message));
        }
        let mut joined = Vec::with_capacity(changes.len());
        for (file, rows) in changes {
            self.read.reads.files(&batch_of(&file)?)?;
            let file = self.with_row_count(file).await?;
            let old = self.vector_of(&file).await?;
            let deleted = rows.without(&old);
            if !deleted.is_empty() {
                joined.push(Joined { union: old.union(&deleted), file, deleted });
            }
        }
        self.note(joined).await
    }

    /// Moves this transaction's deletions on top of those of a winner, which deleted other rows of
    /// the same files.
    pub(super) async fn join_vectors(&mut self, winner: &Winner, paths: &[String]) -> Result<()> {
        let mut joined = Vec::with_capacity(paths.len());
        for path in paths {
            let Some(place) = self.draft.vectors.iter().position(|change| change.before.path == *path) else { continue };
            let change = self.draft.vectors.swap_remove(place);
            let file = winner
                .changed(path)
                .cloned()
                .ok_or_else(|| Error::internal(format!("{path}: the deletion vector of the other commit is missing")))?;
            let theirs = self.vector_of(&file).await?;
            if !theirs.is_disjoint(&change.deleted) {
                return Err(same_row(self.store.url(), path, winner.version));
            }
            joined.push(Joined { union: theirs.union(&change.deleted), file, deleted: change.deleted });
        }
        self.note(joined).await.map(|_| ())
    }

    /// Adds the row count to the statistics of a file that lacks it. PROTOCOL "Writer Requirement
    /// for Deletion Vectors": the statistics of files with deletion vectors contain the number of
    /// rows.
    async fn with_row_count(&self, file: Add) -> Result<Add> {
        if file.num_records().is_some() {
            return Ok(file);
        }
        let (store, path) = self.store.resolve(&FilePath::parse(&file.path)?)?;
        let size = u64::try_from(file.size).ok().filter(|size| *size > 0);
        let rows = ParquetFile::open(&store, &path, size, PageIndex::Skip).await?.num_rows();
        let stats = file.stats.as_deref().and_then(|stats| serde_json::from_str(stats).ok());
        let mut stats = stats.unwrap_or_else(|| json!({}));
        if let Some(stats) = stats.as_object_mut() {
            stats.insert("numRecords".to_owned(), rows.into());
        }
        Ok(Add { stats: Some(stats.to_string()), ..file })
    }

    /// Deletes the files of deletion vectors that no commit names. These are all of them if the
    /// transaction was not committed. A file that cannot be deleted is harmless.
    pub(crate) async fn delete_vectors(&self, is_committed: bool) {
        let changed = self.draft.vectors.iter().map(|change| &change.after);
        let added = self.draft.adds.iter().filter_map(|add| add.deletion_vector.as_ref());
        let named = changed.chain(added).filter(|_| is_committed).filter_map(|vector| VectorFile::of(vector).ok().flatten());
        let named: Vec<VectorFile> = named.collect();
        let stale = self.vector_files.iter().filter(|file| !named.contains(file));
        let stale: Vec<_> = stale.filter_map(|VectorFile(path)| self.store.resolve(path).ok()).map(|(_, path)| path).collect();
        if let Err(error) = self.store.delete(&stale).await {
            tracing::warn!(table = self.store.url(), "unused deletion vectors could not be deleted: {error}");
        }
    }

    async fn vector_of(&self, file: &Add) -> Result<DeletionVector> {
        match &file.deletion_vector {
            Some(descriptor) => read_deletion_vector(&self.store, descriptor).await,
            None => Ok(DeletionVector::new()),
        }
    }

    /// Writes the vectors into one file, and adds the changes to the draft.
    async fn note(&mut self, joined: Vec<Joined>) -> Result<Noted> {
        let (whole, partial): (Vec<Joined>, Vec<Joined>) = joined.into_iter().partition(Joined::deletes_all);
        let mut noted = Noted::default();
        for gone in whole {
            noted.files += 1;
            noted.bytes += gone.file.size.unsigned_abs();
            noted.deletion_vectors_removed += u64::from(gone.file.deletion_vector.is_some());
            self.draft.removes.push(Removal { files: batch_of(&gone.file)?, data_change: true });
        }
        if partial.is_empty() {
            return Ok(noted);
        }
        let vectors: Vec<DeletionVector> = partial.iter().map(|change| change.union.clone()).collect();
        let descriptors = write_deletion_vectors(&self.store, &self.env, &vectors).await?;
        self.vector_files.extend(descriptors.first().map(VectorFile::of).transpose()?.flatten());
        for (change, after) in partial.into_iter().zip(descriptors) {
            let Joined { file, deleted, .. } = change;
            match file.deletion_vector {
                Some(_) => noted.deletion_vectors_updated += 1,
                None => noted.deletion_vectors_added += 1,
            }
            let before = Add { stats: with_loose_bounds(file.stats.as_deref()), ..file };
            self.draft.vectors.push(VectorChange { before, after, deleted });
        }
        Ok(noted)
    }
}

impl Transaction {
    /// Adds a file again that this transaction removes with its deletion vector. It comes back without
    /// one, or with another one.
    pub(crate) fn add_without_vector(&mut self, file: &Add) -> Result<()> {
        self.restore(batch_of(file)?);
        Ok(())
    }
}

/// The numbers of files that lost rows, by the change of the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Noted {
    /// The number of files that lost their last row.
    pub files: u64,
    /// The total size of the files that lost their last row.
    pub bytes: u64,
    /// The number of files that got their first deletion vector.
    pub deletion_vectors_added: u64,
    /// The number of files that got another deletion vector in place of an old one.
    pub deletion_vectors_updated: u64,
    /// The number of files with a deletion vector that left the table.
    pub deletion_vectors_removed: u64,
}

/// A file and all its deleted rows.
struct Joined {
    file: Add,
    union: DeletionVector,
    /// The rows that this transaction deletes.
    deleted: DeletionVector,
}

impl Joined {
    fn deletes_all(&self) -> bool {
        self.file.num_records().is_some_and(|rows| u64::try_from(rows) == Ok(self.union.len()))
    }
}

/// Marks the bounds in the statistics as not tight: after rows are deleted, the file may no longer
/// contain its least and greatest values.
fn with_loose_bounds(stats: Option<&str>) -> Option<String> {
    let mut stats: Value = serde_json::from_str(stats?).ok()?;
    stats.as_object_mut()?.insert("tightBounds".to_owned(), false.into());
    Some(stats.to_string())
}

fn batch_of(file: &Add) -> Result<FileBatch> {
    let mut batch = FileBatchBuilder::default();
    batch.append(&AddRef::from(file.clone()))?;
    batch.finish()
}

fn same_row(table: &str, path: &str, version: u64) -> Error {
    let kind = ErrorKind::CommitConflict { kind: ConflictKind::ConcurrentDeleteDelete, winner_version: version, retryable: true };
    Error::new(
        kind,
        format!(
            "{table}: version {version} was committed first, and it deleted a row of {path} that this transaction deletes, too"
        ),
    )
}
