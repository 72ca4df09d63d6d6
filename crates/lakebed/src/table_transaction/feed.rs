//! Writes the change data files of a transaction with several operations: the net change of each
//! row, from the version before the transaction to that after it.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_row::{OwnedRow, RowConverter, SortField};
use futures::TryStreamExt;
use lakebed_core::action::{Add, Cdc};

use super::net_changes::{NetChanges, OperationChanges};
use crate::rows::deleted::DeletedRows;
use crate::rows::rewrite::{Moves, RecordedChange, Rewrite};
use crate::rows::shape::Shape;
use crate::rows::target::Target;
use crate::scan::read::{ReadOptions, read_files};
use crate::scan::{ChangeType, FileChange, FileRows, RowColumn, RowColumnKind, ScanFile, ScanSpec};
use crate::transaction::UpdatedRows;
use crate::transaction::staged::StagedOperation;
use crate::write::data_file::WrittenFile;
use crate::write::settings::FileSettings;
use crate::{Error, Result, Snapshot};

/// The name of the column with the type of a change. No table has a column of such a name.
const CHANGE: &str = "\u{0}change";

/// The number of changes that are written at a time.
const ROWS_AT_ONCE: usize = 8192;

/// Writes the net changes of these operations, with the columns of the last of them.
pub(super) async fn net_change_files(pending: &Snapshot, operations: &[StagedOperation]) -> Result<Vec<WrittenFile>> {
    let target = Target::of_table(pending, None, &FileSettings::default(), pending.env().now_ms()).await?;
    let mut rewrite = Rewrite::begin(pending, &target, true)?;
    match write(pending, &target, operations, &mut rewrite).await {
        Ok(()) => Ok(rewrite.finish(DeletedRows::default(), Moves::default()).await?.changes),
        Err(error) => {
            rewrite.abort().await;
            Err(error)
        }
    }
}

async fn write(pending: &Snapshot, target: &Target, operations: &[StagedOperation], rewrite: &mut Rewrite) -> Result<()> {
    let schema = target.rules.loose_schema()?;
    let fields = schema.fields().iter().map(|field| SortField::new(field.data_type().clone())).collect();
    let changes = Changes { pending, target, converter: RowConverter::new(fields)?, shape: Arc::clone(rewrite.shape()) };
    let mut net = NetChanges::default();
    for operation in operations {
        net.then(changes.of(operation).await?);
    }
    let OperationChanges { deleted, inserted, updated } = net.finish();
    let converter = changes.converter;
    let batch = |rows: &mut dyn Iterator<Item = &OwnedRow>| -> Result<RecordBatch> {
        let columns = converter.convert_rows(rows.map(OwnedRow::row))?;
        Ok(RecordBatch::try_new(Arc::clone(&schema), columns)?)
    };
    for (rows, change) in [(&deleted, RecordedChange::Delete), (&inserted, RecordedChange::Insert)] {
        for rows in rows.chunks(ROWS_AT_ONCE) {
            rewrite.record(&batch(&mut rows.iter())?, change).await?;
        }
    }
    for rows in updated.chunks(ROWS_AT_ONCE) {
        rewrite.record(&batch(&mut rows.iter().map(|(before, _)| before))?, RecordedChange::Before).await?;
        rewrite.record(&batch(&mut rows.iter().map(|(_, after)| after))?, RecordedChange::After).await?;
    }
    Ok(())
}

/// Reads the changes of operations as rows that can be compared.
struct Changes<'a> {
    pending: &'a Snapshot,
    target: &'a Target,
    converter: RowConverter,
    shape: Arc<Shape>,
}

impl Changes<'_> {
    async fn of(&self, StagedOperation { draft, updated, .. }: &StagedOperation) -> Result<OperationChanges<OwnedRow>> {
        let mut changes = OperationChanges::default();
        if !draft.cdc.is_empty() {
            return self.recorded(&draft.cdc, updated.as_deref()).await;
        }
        let partitions = self.pending.physical_partition_columns();
        let mut removed = Vec::new();
        for removal in draft.removes.iter().filter(|removal| removal.data_change) {
            removed.extend(ScanFile::of_batch(&removal.files, &partitions)?);
        }
        for change in &draft.vectors {
            let only = Some(FileRows::Known(Arc::new(change.deleted.clone())));
            removed.push(ScanFile { deletion_vector: None, only, ..ScanFile::new(change.before.clone(), None)? });
        }
        changes.deleted = self.rows_of(removed).await?;
        let added = draft.adds.iter().filter(|add| add.data_change).map(|add: &Add| ScanFile::new(add.clone(), None));
        changes.inserted = self.rows_of(added.collect::<Result<_>>()?).await?;
        Ok(changes)
    }

    async fn rows_of(&self, files: Vec<ScanFile>) -> Result<Vec<OwnedRow>> {
        let mut all = Vec::new();
        if files.is_empty() {
            return Ok(all);
        }
        let spec = self.pending.scan().spec();
        let mut batches = read_files(self.pending.store(), &spec, files, ReadOptions::default())?;
        while let Some(batch) = batches.try_next().await? {
            all.extend(self.compared(&batch)?);
        }
        Ok(all)
    }

    /// Reads the changes that an operation recorded. The pairs of updated rows were kept, because
    /// the files do not tell them.
    async fn recorded(&self, cdc: &[Cdc], updated: Option<&UpdatedRows>) -> Result<OperationChanges<OwnedRow>> {
        let change = Some(FileChange { change_type: ChangeType::InFile, version: self.pending.version(), timestamp_ms: 0 });
        let file = |cdc: &Cdc| ScanFile {
            path: cdc.path.clone(),
            size: u64::try_from(cdc.size).unwrap_or(0),
            partition_values: cdc.partition_values.clone(),
            change,
            ..ScanFile::default()
        };
        let kind = RowColumn::new(RowColumnKind::ChangeType, CHANGE);
        let spec = ScanSpec { row_columns: vec![kind], ..self.pending.scan().spec() };
        let mut changes = OperationChanges::default();
        let mut images = 0;
        let files = cdc.iter().map(file).collect();
        let mut batches = read_files(self.pending.store(), &spec, files, ReadOptions::default())?;
        while let Some(batch) = batches.try_next().await? {
            let kinds = batch.column_by_name(CHANGE).map(|kinds| kinds.as_string::<i32>().clone());
            let kinds = kinds.ok_or_else(|| Error::internal("change data without the types of changes"))?;
            for (row, kind) in self.compared(&batch)?.into_iter().zip(&kinds) {
                match kind {
                    Some("insert") => changes.inserted.push(row),
                    Some("delete") => changes.deleted.push(row),
                    _ => images += 1,
                }
            }
        }
        if let Some(updated) = updated {
            for number in 0..updated.len() {
                let Some([before, after]) = updated.read(number).await? else { break };
                changes.updated.extend(self.compared(&before)?.into_iter().zip(self.compared(&after)?));
            }
        }
        let pairs = updated.map_or(0, UpdatedRows::rows);
        if images != 2 * pairs || changes.updated.len() as u64 != pairs {
            let message = format!("{images} images of updated rows in change data files, but {pairs} updated rows");
            return Err(Error::internal(message));
        }
        Ok(changes)
    }

    /// Returns rows in the form in which the table stores them, so that equal rows compare as equal.
    fn compared(&self, batch: &RecordBatch) -> Result<Vec<OwnedRow>> {
        let rows = self.shape.written(batch)?;
        let stored = rows.columns().iter().enumerate();
        let stored = stored.map(|(place, values)| self.target.rules.stored_form(place, Arc::clone(values)));
        let columns = stored.collect::<Result<Vec<_>>>()?;
        let rows = self.converter.convert_columns(&columns)?;
        Ok(rows.iter().map(|row| row.owned()).collect())
    }
}
