//! Deletes rows from their files and writes the rows that replace them. Deletion vectors mark the
//! deleted rows if the table allows it; otherwise the files are rewritten without these rows.
//! Change data files record the changes if the table has a change data feed.
//!
//! Begin with [`Rewrite::begin`]. After it come the calls for the new rows, and then
//! [`Rewrite::finish`].

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, StringArray};
use arrow_schema::{DataType as ArrowType, Field, Schema};
use futures::TryStreamExt;

use super::deleted::{DeletedRows, PartOfFile};
use super::effects::{Effects, notes_vectors};
use super::shape::{Shape, id_columns};
use super::target::Target;
use crate::scan::read::{ReadOptions, read_files};
use crate::scan::{ScanFile, ScanSpec};
use crate::transaction::UpdatedRows;
use crate::write::account;
use crate::write::file_options::FileOptions;
use crate::write::files::{FileSink, delete_written};
use crate::write::rules::Contents;
use crate::{Result, Snapshot};

/// The maximum number of files that one read takes.
const FILES_AT_ONCE: usize = 4096;

/// The bytes of rows that may be decoded ahead of the writer.
const AHEAD_BYTES: u64 = 64 << 20;

/// The type of a change of a row. PROTOCOL "Add CDC File".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordedChange {
    Insert,
    Delete,
    Before,
    After,
}

/// Writes the new files of a change of rows.
pub(crate) struct Rewrite {
    snapshot: Snapshot,
    shape: Arc<Shape>,
    data: FileSink,
    /// The writer of change data files. It exists only if the table records changes and they do not
    /// follow from the added and removed files.
    changes: Option<FileSink>,
    /// The updated rows. They are kept for a transaction with several operations, which has to
    /// combine the changes of all of them.
    updated: Option<UpdatedRows>,
    notes_vectors: bool,
    copied_rows: u64,
}

/// The numbers of rows that are added to files and deleted from files.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Moves {
    pub(crate) came_in: u64,
    pub(crate) to_leave: Option<u64>,
}

impl Rewrite {
    /// Begins a change on top of this version. `records` is true if the changes of rows do not
    /// follow from the added and removed files.
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
            updated: changes.as_ref().filter(|_| snapshot.is_pending()).map(|_| UpdatedRows::default()),
            changes,
            notes_vectors: notes_vectors(snapshot),
            copied_rows: 0,
        })
    }

    /// Returns a change that copies the rows that stay, also if the table marks deleted rows with
    /// deletion vectors.
    pub(crate) fn copying(self) -> Self {
        Self { notes_vectors: false, ..self }
    }

    /// Returns the URL of the table.
    pub(crate) fn table(&self) -> &str {
        self.snapshot.url()
    }

    /// Returns whether changes are recorded.
    pub(crate) fn records(&self) -> bool {
        self.changes.is_some()
    }

    /// Writes new rows, which have the table's columns.
    pub(crate) async fn insert(&mut self, rows: &RecordBatch) -> Result<()> {
        self.put(rows, None).await?;
        self.record(rows, RecordedChange::Insert).await
    }

    /// Writes rows that replace others. They keep the row ids of those if the table tracks rows.
    pub(crate) async fn update(&mut self, before: &RecordBatch, after: &RecordBatch, ids: Option<ArrayRef>) -> Result<()> {
        self.put(after, ids).await?;
        if let Some(updated) = &mut self.updated {
            updated.push(before, after).await?;
        }
        self.record(before, RecordedChange::Before).await?;
        self.record(after, RecordedChange::After).await
    }

    /// Records a change of rows, which have the table's columns, if changes are recorded.
    pub(crate) async fn record(&mut self, rows: &RecordBatch, change: RecordedChange) -> Result<()> {
        let Some(changes) = &mut self.changes else { return Ok(()) };
        let kind: ArrayRef = Arc::new(StringArray::from_iter_values(std::iter::repeat_n(change.name(), rows.num_rows())));
        let fields = rows.schema_ref().fields().iter().cloned();
        let fields = fields.chain([Arc::new(Field::new("_change_type", ArrowType::Utf8, true))]).collect::<Vec<_>>();
        let columns = rows.columns().iter().cloned().chain([kind]).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        changes.write(vec![RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)?]).await
    }

    /// Records that all deleted rows of these files were deleted. It reads the rows for that.
    pub(crate) async fn record_deleted(&mut self, deleted: &DeletedRows) -> Result<()> {
        if self.changes.is_none() {
            return Ok(());
        }
        let partitions = self.snapshot.physical_partition_columns();
        let mut files = deleted.parts.iter().map(PartOfFile::leaving).collect::<Result<Vec<_>>>()?;
        for batch in &deleted.whole {
            files.extend(ScanFile::of_batch(batch, &partitions)?);
        }
        let spec = self.snapshot.scan().spec();
        for files in files.chunks(FILES_AT_ONCE) {
            let mut rows = read_files(self.snapshot.store(), &spec, files.to_vec(), reading(&self.snapshot, 0))?;
            while let Some(batch) = rows.try_next().await? {
                let batch = self.shape.written(&batch)?;
                self.record(&batch, RecordedChange::Delete).await?;
            }
        }
        Ok(())
    }

    /// Completes the new files. The rows that stay in files with deleted rows are copied, unless
    /// deletion vectors mark the deleted rows. `came_in` is the number of updated or inserted rows.
    /// `to_leave` is the number of updated or deleted rows, if it was counted.
    pub(crate) async fn finish(mut self, deleted: DeletedRows, Moves { came_in, to_leave }: Moves) -> Result<Effects> {
        let check = |to_leave| account::check_leaving(self.table(), to_leave, deleted.rows()?);
        let rest = match to_leave.map_or(Ok(()), check) {
            Ok(()) => self.copy_rest(&deleted).await,
            Err(error) => Err(error),
        };
        match rest {
            Ok(()) => self.end(deleted, came_in).await,
            Err(error) => {
                self.abort().await;
                Err(error)
            }
        }
    }

    /// Deletes all files that were written.
    pub(crate) async fn abort(self) {
        self.data.abort().await;
        if let Some(changes) = self.changes {
            changes.abort().await;
        }
    }

    /// Returns the schema of rows on their way to files.
    pub(crate) fn shape(&self) -> &Arc<Shape> {
        &self.shape
    }

    async fn put(&mut self, rows: &RecordBatch, ids: Option<ArrayRef>) -> Result<()> {
        self.data.write(vec![self.shape.identified(rows, ids, None)?]).await
    }

    async fn copy_rest(&mut self, deleted: &DeletedRows) -> Result<()> {
        if self.notes_vectors {
            return Ok(());
        }
        let spec = self.snapshot.scan().row_columns(id_columns(&self.snapshot)).spec();
        for parts in deleted.parts.chunks(FILES_AT_ONCE) {
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

    async fn end(self, deleted: DeletedRows, came_in: u64) -> Result<Effects> {
        let Self { snapshot, data, changes, updated, copied_rows, .. } = self;
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
            Ok(changes) => {
                let keeps_row_ids = true;
                let effects = Effects { added: data, changes, deleted, new_rows: came_in, copied_rows, ..Effects::default() };
                Ok(Effects { keeps_row_ids, updated: updated.map(Arc::new), ..effects })
            }
            Err(error) => {
                delete_written(snapshot.store(), &data).await;
                Err(error)
            }
        }
    }
}

impl RecordedChange {
    fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Delete => "delete",
            Self::Before => "update_preimage",
            Self::After => "update_postimage",
        }
    }
}

/// Returns the options to read rows from which new files are made. If many rows are written, or
/// others are copied, writing takes longer than decoding.
pub(crate) fn reading(snapshot: &Snapshot, expected_bytes: u64) -> ReadOptions {
    let is_slow = expected_bytes > AHEAD_BYTES || !notes_vectors(snapshot);
    ReadOptions { ahead_bytes: is_slow.then_some(AHEAD_BYTES), ..ReadOptions::default() }
}
