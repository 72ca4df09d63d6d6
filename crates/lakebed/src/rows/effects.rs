//! The result of work that writes files, as a plain value. The work itself holds no transaction.
//! [`Effects::register`] is the only place that adds its result to one.

#[cfg(test)]
mod tests;
mod wire;

use std::sync::Arc;

use super::deleted::{DeletedRows, totals};
use super::target::Target;
use crate::transaction::{ReadSet, Transaction, UpdatedRows};
use crate::write::data_file::WrittenFile;
use crate::{Error, Result, Snapshot};

/// The result of work that writes files: a write, a change of rows, or a part of one.
///
/// The result is a plain value on one machine. As bytes, it is the result of a task that another
/// process did.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> lakebed::Result<()> {
/// use std::sync::Arc;
/// use arrow_array::{Int64Array, RecordBatch};
/// use lakebed::dml::Effects;
/// use lakebed::dml::write::{PlannedWrite, WriteOptions, write_files_at};
/// use lakebed::write::PartNumber;
/// use lakebed::{RecordBatchStream, Table};
/// use lakebed_core::schema::arrow::schema_from_arrow;
/// use lakebed_io::store::StoreOptions;
///
/// let rows = RecordBatch::try_from_iter([("id", Arc::new(Int64Array::from(vec![1, 2, 3])) as _)])?;
/// let table = Table::at("memory://docs/effects").build()?;
/// let planned = table.plan_write(schema_from_arrow(&rows.schema())?, WriteOptions::default()).await?;
/// let PlannedWrite::Task(task) = planned else { unreachable!("the table is new") };
///
/// // In each of the writing processes:
/// let data = RecordBatchStream::from_batches(rows.schema(), vec![rows]);
/// let bytes = write_files_at(&task, PartNumber { number: 0, of: 1 }, data, StoreOptions::default()).await?.to_bytes()?;
///
/// let written = vec![Effects::from_bytes(&bytes)?];
/// assert_eq!(table.commit_write(*task, written).await?.metrics.output_rows, 3);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Effects {
    /// New data files.
    pub(crate) added: Vec<WrittenFile>,
    /// Change data files.
    pub(crate) changes: Vec<WrittenFile>,
    /// The rows that leave the table.
    pub(crate) deleted: DeletedRows,
    /// The number of rows in the new data files that came in: written, updated or inserted rows.
    pub(crate) new_rows: u64,
    /// The number of rows in the new data files that are copies of rows which stay in the table.
    pub(crate) copied_rows: u64,
    /// Whether updated and copied rows keep their row ids. Other rows have none before the commit.
    pub(crate) keeps_row_ids: bool,
    /// The indexes of identity columns, with their high-water marks after the work. A column may be
    /// listed several times.
    pub(crate) marks: Vec<(usize, i64)>,
    /// The read set of the work. It is not part of the bytes: the process that plans distributed
    /// work knows the predicate, and registers it once for all tasks.
    pub(crate) read: ReadSet,
    /// The updated rows, if the work is an operation of a transaction with several operations. They
    /// are not part of the bytes.
    pub(crate) updated: Option<Arc<UpdatedRows>>,
}

/// The numbers of files that a table loses and gets, for metrics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct FileTotals {
    pub(crate) added_files: u64,
    pub(crate) added_bytes: u64,
    pub(crate) removed_files: u64,
    pub(crate) removed_bytes: u64,
    pub(crate) change_files: u64,
    pub(crate) deletion_vectors_added: u64,
    pub(crate) deletion_vectors_updated: u64,
    pub(crate) deletion_vectors_removed: u64,
}

impl Effects {
    /// Returns the number of rows in the new data files that are not copies.
    pub fn new_rows(&self) -> u64 {
        self.new_rows
    }

    /// Returns whether the work only added rows.
    pub(crate) fn only_adds_rows(&self) -> bool {
        self.changes.is_empty() && self.deleted.is_empty() && self.copied_rows == 0 && !self.keeps_row_ids
    }

    /// Returns all files that were written.
    pub(crate) fn files(&self) -> Vec<WrittenFile> {
        self.added.iter().chain(&self.changes).cloned().collect()
    }

    /// Adds the effects of other work that is committed together with this one.
    pub(crate) fn join(&mut self, other: Self) {
        let Self { added, changes, deleted, new_rows, copied_rows, keeps_row_ids, marks, read, updated } = other;
        self.added.extend(added);
        self.changes.extend(changes);
        self.deleted.join(deleted);
        self.new_rows = self.new_rows.saturating_add(new_rows);
        self.copied_rows = self.copied_rows.saturating_add(copied_rows);
        self.keeps_row_ids |= keeps_row_ids;
        self.marks.extend(marks);
        self.read.extend(read);
        self.updated = updated.or(self.updated.take());
    }

    /// Registers the effects with a transaction. No other place does so. `target` is the new
    /// definition of the table; None if it does not change.
    pub(crate) async fn register(self, target: Option<&Target>, transaction: &mut Transaction) -> Result<FileTotals> {
        let resolved = Self { deleted: resolve(self.deleted, transaction).await?, ..self };
        let mut totals = resolved.totals(transaction)?;
        let Self { added, changes, deleted, keeps_row_ids, marks, read, updated, .. } = resolved;
        match target {
            Some(target) => target.register(&marks, transaction).await?,
            None if marks.is_empty() => {}
            None => return Err(Error::internal("identity columns were numbered, but the definition of the table is missing")),
        }
        transaction.read().extend(read);
        if let Some(updated) = updated {
            transaction.set_updated(updated);
        }
        if keeps_row_ids {
            transaction.keep_row_ids();
        }
        for file in added {
            transaction.add_unflushed(file.add, file.unflushed);
        }
        for file in changes {
            transaction.add_changes(file.to_cdc(), file.unflushed);
        }
        for files in deleted.whole {
            transaction.read().files(&files)?;
            transaction.remove(files, true);
        }
        if transaction.snapshot().is_some_and(notes_vectors) {
            let removed = transaction.delete_rows(deleted.parts.into_iter().map(|part| (part.add, part.rows)).collect()).await?;
            totals.removed_files += removed.files;
            totals.removed_bytes += removed.bytes;
            totals.deletion_vectors_added = removed.deletion_vectors_added;
            totals.deletion_vectors_updated = removed.deletion_vectors_updated;
            totals.deletion_vectors_removed += removed.deletion_vectors_removed;
        } else {
            for part in deleted.parts {
                transaction.read().files(&part.file)?;
                transaction.remove(part.file, true);
            }
        }
        Ok(totals)
    }

    fn totals(&self, transaction: &Transaction) -> Result<FileTotals> {
        let copied = self.deleted.parts.iter().map(|part| &part.file);
        let copied = copied.filter(|_| !transaction.snapshot().is_some_and(notes_vectors));
        let (mut removed_files, mut removed_bytes, mut deletion_vectors_removed) = (0, 0, 0);
        for batch in self.deleted.whole.iter().chain(copied) {
            let (files, bytes) = totals([batch])?;
            removed_files += files;
            removed_bytes += bytes;
            deletion_vectors_removed += batch.has_deletion_vector()?.true_count() as u64;
        }
        Ok(FileTotals {
            added_files: self.added.len() as u64,
            added_bytes: self.added.iter().map(|file| file.add.size.unsigned_abs()).sum(),
            removed_files,
            removed_bytes,
            change_files: self.changes.len() as u64,
            deletion_vectors_removed,
            ..FileTotals::default()
        })
    }
}

/// Returns deleted rows with the files of the version on which the transaction is based.
async fn resolve(deleted: DeletedRows, transaction: &Transaction) -> Result<DeletedRows> {
    match transaction.snapshot() {
        Some(snapshot) => deleted.resolve(snapshot).await,
        None if deleted.is_empty() => Ok(deleted),
        None => Err(Error::internal("rows are to be deleted from a table that does not exist")),
    }
}

/// Returns whether deletion vectors mark the deleted rows of this table.
pub(crate) fn notes_vectors(snapshot: &Snapshot) -> bool {
    snapshot.properties().deletion_vectors
}
