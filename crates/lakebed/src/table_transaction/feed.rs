//! Writes the change data files of a transaction with several operations: the net change of each
//! row, from the version before the transaction to that after it.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_row::{RowConverter, Rows, SortField};
use futures::TryStreamExt;
use lakebed_core::action::{Add, Cdc};

use super::net_changes::{BUCKETS, BucketChanges, NetChanges};
use super::row_log::Row;
use crate::rows::deleted::DeletedRows;
use crate::rows::rewrite::{Moves, RecordedChange, Rewrite};
use crate::rows::shape::Shape;
use crate::rows::target::Target;
use crate::runtime::memory::MemoryBudget;
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

/// The changed rows may take a quarter of the memory budget. If there are more, they spill.
const MEMORY_SHARE: u64 = 4;

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
    // The budget is not reserved, because the files are read meanwhile, which needs it.
    let mut net = NetChanges::new(MemoryBudget::of_process().limit_bytes() / MEMORY_SHARE);
    for operation in operations {
        changes.add(operation, &mut net).await?;
        net.end_operation().await?;
    }
    let converter = changes.converter;
    let parser = converter.parser();
    let batch = |rows: &mut dyn Iterator<Item = &Row>| -> Result<RecordBatch> {
        let columns = converter.convert_rows(rows.map(|row| parser.parse(row)))?;
        Ok(RecordBatch::try_new(Arc::clone(&schema), columns)?)
    };
    for number in 0..BUCKETS {
        let BucketChanges { deleted, inserted, updated } = net.take_bucket(number).await?;
        for (rows, change) in [(&deleted, RecordedChange::Delete), (&inserted, RecordedChange::Insert)] {
            for rows in rows.chunks(ROWS_AT_ONCE) {
                rewrite.record(&batch(&mut rows.iter())?, change).await?;
            }
        }
        for rows in updated.chunks(ROWS_AT_ONCE) {
            rewrite.record(&batch(&mut rows.iter().map(|(before, _)| before))?, RecordedChange::Before).await?;
            rewrite.record(&batch(&mut rows.iter().map(|(_, after)| after))?, RecordedChange::After).await?;
        }
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
    /// Adds the changes of an operation to the net changes.
    async fn add(&self, StagedOperation { draft, updated, .. }: &StagedOperation, net: &mut NetChanges) -> Result<()> {
        if !draft.cdc.is_empty() {
            return self.add_recorded(&draft.cdc, updated.as_deref(), net).await;
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
        let added = draft.adds.iter().filter(|add| add.data_change).map(|add: &Add| ScanFile::new(add.clone(), None));
        let added = added.collect::<Result<Vec<_>>>()?;
        for (files, is_insert) in [(removed, false), (added, true)] {
            if files.is_empty() {
                continue;
            }
            let spec = self.pending.scan().spec();
            let mut batches = read_files(self.pending.store(), &spec, files, ReadOptions::default())?;
            while let Some(batch) = batches.try_next().await? {
                let rows = self.compared(&batch)?;
                match is_insert {
                    true => net.insert(bytes_of(&rows)).await?,
                    false => net.delete(bytes_of(&rows)).await?,
                }
            }
        }
        Ok(())
    }

    /// Adds the changes that an operation recorded. The pairs of updated rows were kept, because the
    /// files do not tell them.
    async fn add_recorded(&self, cdc: &[Cdc], updated: Option<&UpdatedRows>, net: &mut NetChanges) -> Result<()> {
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
        let mut images = 0;
        let files = cdc.iter().map(file).collect();
        let mut batches = read_files(self.pending.store(), &spec, files, ReadOptions::default())?;
        while let Some(batch) = batches.try_next().await? {
            let kinds = batch.column_by_name(CHANGE).map(|kinds| kinds.as_string::<i32>().clone());
            let kinds = kinds.ok_or_else(|| Error::internal("change data without the types of changes"))?;
            let rows = self.compared(&batch)?;
            let of_kind = |wanted: &'static str| {
                bytes_of(&rows).zip(&kinds).filter(move |(_, kind)| *kind == Some(wanted)).map(|(row, _)| row)
            };
            net.insert(of_kind("insert")).await?;
            net.delete(of_kind("delete")).await?;
            images += kinds.iter().filter(|kind| !matches!(kind, Some("insert" | "delete"))).count() as u64;
        }
        let mut pairs = 0;
        if let Some(updated) = updated {
            for number in 0..updated.len() {
                let Some([before, after]) = updated.read(number).await? else { break };
                let (before, after) = (self.compared(&before)?, self.compared(&after)?);
                pairs += before.num_rows().min(after.num_rows()) as u64;
                net.update(bytes_of(&before).zip(bytes_of(&after))).await?;
            }
        }
        let expected = updated.map_or(0, UpdatedRows::rows);
        if images != 2 * expected || pairs != expected {
            let message = format!("{images} images of updated rows in change data files, but {expected} updated rows");
            return Err(Error::internal(message));
        }
        Ok(())
    }

    /// Returns rows in the form in which the table stores them, so that equal rows compare as equal.
    fn compared(&self, batch: &RecordBatch) -> Result<Rows> {
        let rows = self.shape.written(batch)?;
        let stored = rows.columns().iter().enumerate();
        let stored = stored.map(|(place, values)| self.target.rules.stored_form(place, Arc::clone(values)));
        Ok(self.converter.convert_columns(&stored.collect::<Result<Vec<_>>>()?)?)
    }
}

fn bytes_of(rows: &Rows) -> impl Iterator<Item = &[u8]> {
    rows.iter().map(|row| row.data())
}
