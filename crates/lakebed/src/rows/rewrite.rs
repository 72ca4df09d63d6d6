//! Rows that leave their files, and what becomes of the others: noted in deletion vectors where the table allows it, else the files are
//! written anew without them. What happened to rows is recorded where the table records changes.
//!
//! Read [`Rewrite::begin`]; then come the rows that take the place of others, and [`Rewrite::finish`].

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, StringArray};
use arrow_schema::{DataType as ArrowType, Field, Schema};
use futures::TryStreamExt;

use super::search::{Gone, Part, totals};
use super::shape::{Shape, id_columns};
use super::target::Target;
use crate::scan::read::{ReadOptions, read_files};
use crate::scan::{ScanFile, ScanSpec};
use crate::transaction::Transaction;
use crate::write::account;
use crate::write::data_file::{FileOptions, WrittenFile};
use crate::write::files::{FileSink, delete_written};
use crate::write::rules::Contents;
use crate::{Result, Snapshot};

/// Files that are read in one go.
const FILES_AT_ONCE: usize = 4096;

/// Rows that are decoded and wait to be written.
const AHEAD_BYTES: u64 = 64 << 20;

/// What happened to a row. PROTOCOL "Add CDC File".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Insert,
    Delete,
    Before,
    After,
}

/// New files in the place of rows that leave.
pub(crate) struct Rewrite {
    snapshot: Snapshot,
    shape: Arc<Shape>,
    data: FileSink,
    /// Where the table records changes and they cannot be told from the files that come and go.
    changes: Option<FileSink>,
    notes_vectors: bool,
    copied_rows: u64,
}

/// How many rows go into files and out of them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Moves {
    pub(crate) came_in: u64,
    pub(crate) to_leave: Option<u64>,
}

/// Files that were written in the place of others.
#[derive(Debug, Default)]
pub(crate) struct Rewritten {
    pub(crate) data: Vec<WrittenFile>,
    pub(crate) changes: Vec<WrittenFile>,
    pub(crate) copied_rows: u64,
}

/// What the files of a table lose and get, for metrics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct FileTotals {
    pub(crate) added_files: u64,
    pub(crate) added_bytes: u64,
    pub(crate) removed_files: u64,
    pub(crate) removed_bytes: u64,
    pub(crate) change_files: u64,
    pub(crate) vectors_added: u64,
    pub(crate) vectors_updated: u64,
    pub(crate) vectors_removed: u64,
}

impl Rewrite {
    /// On top of this version. `records` says whether what happens to rows cannot be told from the files that come and go.
    pub(crate) fn begin(snapshot: &Snapshot, target: &Target, records: bool) -> Result<Self> {
        let shape = Arc::new(Shape::new(snapshot, target)?);
        let changes = if records && snapshot.properties().change_data_feed {
            let options = FileOptions { contents: Contents::Changes, ..target.files.clone() };
            Some(FileSink::new(snapshot.store().clone(), snapshot.env().clone(), Arc::clone(&target.rules), options)?)
        } else {
            None
        };
        Ok(Self {
            snapshot: snapshot.clone(),
            data: shape.sink(snapshot, target)?,
            shape,
            changes,
            notes_vectors: notes_vectors(snapshot),
            copied_rows: 0,
        })
    }

    /// Where the table is.
    pub(crate) fn table(&self) -> &str {
        self.snapshot.url()
    }

    /// Whether changes are recorded.
    pub(crate) fn records(&self) -> bool {
        self.changes.is_some()
    }

    /// New rows, in the table's columns.
    pub(crate) async fn insert(&mut self, rows: &RecordBatch) -> Result<()> {
        self.put(rows, None).await?;
        self.record(rows, Change::Insert).await
    }

    /// Rows in the place of others, whose ids they keep, if the table tracks rows.
    pub(crate) async fn update(&mut self, before: &RecordBatch, after: &RecordBatch, ids: Option<ArrayRef>) -> Result<()> {
        self.put(after, ids).await?;
        self.record(before, Change::Before).await?;
        self.record(after, Change::After).await
    }

    /// Notes what happened to rows, given in the table's columns, where that is to be noted.
    pub(crate) async fn record(&mut self, rows: &RecordBatch, change: Change) -> Result<()> {
        let Some(changes) = &mut self.changes else { return Ok(()) };
        let kind: ArrayRef = Arc::new(StringArray::from_iter_values(std::iter::repeat_n(change.name(), rows.num_rows())));
        let fields = rows.schema_ref().fields().iter().cloned();
        let fields = fields.chain([Arc::new(Field::new("_change_type", ArrowType::Utf8, true))]).collect::<Vec<_>>();
        let columns = rows.columns().iter().cloned().chain([kind]).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        changes.write(vec![RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)?]).await
    }

    /// Notes of all rows that these files and parts of files lose that they were deleted. They are read for it.
    pub(crate) async fn record_deleted(&mut self, gone: &Gone) -> Result<()> {
        if self.changes.is_none() {
            return Ok(());
        }
        let partitions = self.snapshot.physical_partition_columns();
        let mut files = gone.parts.iter().map(Part::leaving).collect::<Result<Vec<_>>>()?;
        for batch in &gone.whole {
            files.extend(ScanFile::of_batch(batch, &partitions)?);
        }
        let spec = self.snapshot.scan().spec();
        for files in files.chunks(FILES_AT_ONCE) {
            let mut rows = read_files(self.snapshot.store(), &spec, files.to_vec(), reading(&self.snapshot, 0))?;
            while let Some(batch) = rows.try_next().await? {
                let batch = self.shape.written(&batch)?;
                self.record(&batch, Change::Delete).await?;
            }
        }
        Ok(())
    }

    /// Ends the files that come. Of files that lose rows the others are copied, unless vectors note the loss. `came_in` is how many rows were
    /// updated or inserted, `to_leave` how many were updated or deleted, where that was counted.
    pub(crate) async fn finish(mut self, gone: &Gone, Moves { came_in, to_leave }: Moves) -> Result<Rewritten> {
        let check = |to_leave| account::check_leaving(self.table(), to_leave, gone.rows()?);
        let rest = match to_leave.map_or(Ok(()), check) {
            Ok(()) => self.copy_rest(gone).await,
            Err(error) => Err(error),
        };
        match rest {
            Ok(()) => self.end(came_in).await,
            Err(error) => {
                self.abort().await;
                Err(error)
            }
        }
    }

    /// Takes back all that was written.
    pub(crate) async fn abort(self) {
        self.data.abort().await;
        if let Some(changes) = self.changes {
            changes.abort().await;
        }
    }

    /// The form of rows on their way to files.
    pub(crate) fn shape(&self) -> &Arc<Shape> {
        &self.shape
    }

    async fn put(&mut self, rows: &RecordBatch, ids: Option<ArrayRef>) -> Result<()> {
        self.data.write(vec![self.shape.identified(rows, ids, None)?]).await
    }

    async fn copy_rest(&mut self, gone: &Gone) -> Result<()> {
        if self.notes_vectors {
            return Ok(());
        }
        let spec = self.snapshot.scan().row_columns(id_columns(&self.snapshot)).spec();
        for parts in gone.parts.chunks(FILES_AT_ONCE) {
            let mut files = Vec::with_capacity(parts.len());
            for part in parts {
                files.extend(part.staying(&self.snapshot).await?);
            }
            if !files.is_empty() {
                self.copy(&spec, files).await?;
            }
        }
        Ok(())
    }

    async fn copy(&mut self, spec: &ScanSpec, files: Vec<ScanFile>) -> Result<()> {
        let mut rows = read_files(self.snapshot.store(), spec, files, reading(&self.snapshot, u64::MAX))?;
        while let Some(batch) = rows.try_next().await? {
            self.copied_rows += batch.num_rows() as u64;
            self.data.write(vec![self.shape.moved(&batch)?]).await?;
        }
        Ok(())
    }

    async fn end(self, came_in: u64) -> Result<Rewritten> {
        let Self { snapshot, data, changes, copied_rows, .. } = self;
        let data = match data.finish().await {
            Ok(data) => account::checked(snapshot.store(), came_in + copied_rows, data).await,
            Err(error) => Err(error),
        };
        let data = match data {
            Ok(data) => data,
            Err(error) => {
                if let Some(changes) = changes {
                    changes.abort().await;
                }
                return Err(error);
            }
        };
        let changes = match changes {
            Some(changes) => changes.finish().await,
            None => Ok(Vec::new()),
        };
        match changes {
            Ok(changes) => Ok(Rewritten { data, changes, copied_rows }),
            Err(error) => {
                delete_written(snapshot.store(), &data).await;
                Err(error)
            }
        }
    }
}

impl Rewritten {
    /// All files.
    pub(crate) fn files(&self) -> Vec<WrittenFile> {
        self.data.iter().chain(&self.changes).cloned().collect()
    }

    /// Tells a transaction what comes and what goes.
    pub(crate) async fn register(&self, gone: Gone, transaction: &mut Transaction) -> Result<FileTotals> {
        let mut totals = self.totals(&gone, transaction)?;
        transaction.keep_row_ids();
        for file in &self.data {
            transaction.add_unflushed(file.add.clone(), file.unflushed.clone());
        }
        for file in &self.changes {
            transaction.add_changes(file.to_cdc(), file.unflushed.clone());
        }
        for files in gone.whole {
            transaction.read_files(&files)?;
            transaction.remove(files, true);
        }
        if transaction.snapshot().is_some_and(notes_vectors) {
            let removed = transaction.delete_rows(gone.parts.into_iter().map(|part| (part.add, part.rows)).collect()).await?;
            totals.removed_files += removed.files;
            totals.removed_bytes += removed.bytes;
            totals.vectors_added = removed.vectors_added;
            totals.vectors_updated = removed.vectors_updated;
            totals.vectors_removed += removed.vectors_removed;
        } else {
            for part in gone.parts {
                transaction.read_files(&part.file)?;
                transaction.remove(part.file, true);
            }
        }
        Ok(totals)
    }

    fn totals(&self, gone: &Gone, transaction: &Transaction) -> Result<FileTotals> {
        let copied = gone.parts.iter().map(|part| &part.file);
        let copied = copied.filter(|_| !transaction.snapshot().is_some_and(notes_vectors));
        let (mut removed_files, mut removed_bytes, mut vectors_removed) = (0, 0, 0);
        for batch in gone.whole.iter().chain(copied) {
            let (files, bytes) = totals([batch])?;
            removed_files += files;
            removed_bytes += bytes;
            vectors_removed += batch.has_deletion_vector()?.true_count() as u64;
        }
        Ok(FileTotals {
            added_files: self.data.len() as u64,
            added_bytes: self.data.iter().map(|file| file.add.size.unsigned_abs()).sum(),
            removed_files,
            removed_bytes,
            change_files: self.changes.len() as u64,
            vectors_removed,
            ..FileTotals::default()
        })
    }
}

impl Change {
    fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Delete => "delete",
            Self::Before => "update_preimage",
            Self::After => "update_postimage",
        }
    }
}

/// How rows are read of which new files are made. Where many come out, or others are copied, writing takes longer than to decode them.
pub(crate) fn reading(snapshot: &Snapshot, expected_bytes: u64) -> ReadOptions {
    let is_slow = expected_bytes > AHEAD_BYTES || !notes_vectors(snapshot);
    ReadOptions { ahead_bytes: is_slow.then_some(AHEAD_BYTES), ..ReadOptions::default() }
}

/// Whether rows of a table leave by being noted in deletion vectors.
pub(crate) fn notes_vectors(snapshot: &Snapshot) -> bool {
    snapshot.properties().deletion_vectors
}
