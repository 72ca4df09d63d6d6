//! Opens one file: reads its deletion vector, prunes its row groups and pages, and cuts the
//! remaining rows into pieces.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray};

use lakebed_core::ErrorKind;
use lakebed_core::dv::DeletionVector;
use lakebed_core::schema::PrimitiveType;
use lakebed_core::value::{Scalar, scalar_to_array};
use lakebed_expr::prune::{FileFacts, Pruner};
use lakebed_io::parquet::{PageIndex, ParquetFile};
use parquet::file::metadata::RowGroupMetaData;

use super::column_source::ColumnSource;
use super::context::ReadContext;
use super::metadata_bounds::LoggedMetadata;
use super::parquet_statistics::{FileContext, ParquetStatistics};
use super::row_ranges::RowRanges;
use super::schema_adapter::{FileColumns, SchemaAdapter};
use crate::scan::file::{FileRows, ScanFile};
use crate::scan::file_location::FileLocation;
use crate::scan::row_column::{ChangeType, FileChange};
use crate::scan::row_tracking::FileRowTracking;
use crate::{Error, Result};

/// The greatest number of rows of a file from which only some rows are read. Such rows are stored
/// as their complement. Real files have fewer rows, and the complement is small enough to count by
/// the page.
const MOST_ROWS: u64 = 1 << 36;

/// An open file, from which rows can be read.
pub(super) struct OpenFile {
    pub(super) context: Arc<ReadContext>,
    /// The index of the file in the task.
    index: usize,
    /// The path as the log spells it.
    path: String,
    size: u64,
    row_tracking: FileRowTracking,
    change: Option<FileChange>,
    /// The values and types of the partition columns.
    constants: Vec<(Scalar, PrimitiveType)>,
    pub(super) content: FileContent,
}

/// What is read of the file.
pub(super) enum FileContent {
    /// This many rows. The log determines every value of the output.
    Counted(u64),
    /// The rows of these row groups.
    Parquet(Box<ParquetContent>),
}

/// An open Parquet file.
pub(super) struct ParquetContent {
    pub(super) file: ParquetFile,
    pub(super) columns: FileColumns,
    /// The rows that are not returned, whatever the condition says.
    pub(super) deleted: Option<DeletionVector>,
    /// The columns of the condition.
    pub(super) tested: SchemaAdapter,
    /// The other columns.
    pub(super) others: SchemaAdapter,
    /// All columns.
    pub(super) all: SchemaAdapter,
    /// The rows that may hold matches, by row group.
    pub(super) groups: Vec<(usize, RowRanges)>,
}

impl OpenFile {
    /// Opens a file of the task. The Parquet file is not opened if partition values rule it out or
    /// if the log determines the output.
    pub(super) async fn open(context: Arc<ReadContext>, index: usize, file: ScanFile) -> Result<Self> {
        let constants = constants(&context, &file)?;
        let content = if !context.may_match(&arrays(&constants, 1)?)? {
            FileContent::Counted(0)
        } else if let Some(rows) = rows_by_log(&context, &file)? {
            FileContent::Counted(rows)
        } else {
            FileContent::Parquet(Box::new(
                ParquetContent::open(&context, &file, &constants).await.map_err(|error| explain(error, &context, &file))?,
            ))
        };
        Ok(Self {
            context,
            index,
            path: file.path,
            size: file.size,
            row_tracking: file.row_tracking,
            change: file.change,
            constants,
            content,
        })
    }

    /// Returns the open Parquet file.
    pub(super) fn parquet(&self) -> Result<&ParquetContent> {
        match &self.content {
            FileContent::Parquet(stored) => Ok(stored),
            FileContent::Counted(_) => Err(Error::internal("a file that was not opened was to be read")),
        }
    }

    /// Returns the index of the file in the task.
    pub(super) fn index(&self) -> usize {
        self.index
    }

    /// Returns the path as the log spells it.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Returns the size as the log has it.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Returns the row id of the first row and the commit version of rows that store none of their
    /// own.
    pub(super) fn row_tracking(&self) -> FileRowTracking {
        self.row_tracking
    }

    /// Returns the change of the table that the rows describe.
    pub(super) fn change(&self) -> Result<FileChange> {
        self.change.ok_or_else(|| Error::internal("the change of a file is needed, but the file belongs to no change"))
    }

    /// Returns a partition column with this number of rows.
    pub(super) fn constant(&self, position: usize, rows: usize) -> Result<ArrayRef> {
        let (value, primitive) = self.constants.get(position).ok_or_else(|| Error::internal("a partition column is missing"))?;
        scalar_to_array(value, *primitive, rows)
    }
}

impl ParquetContent {
    async fn open(context: &Arc<ReadContext>, file: &ScanFile, constants: &[(Scalar, PrimitiveType)]) -> Result<Self> {
        let location = FileLocation::new(&context.store, &file.path, Some(file.size))?;
        let cuts_small = context.resources.ahead_bytes.is_some() && location.is_local();
        let reads_parts = cuts_small || context.pruner.is_some() || context.limit.is_some() || file.only.is_some();
        let page_index = if reads_parts { PageIndex::Read } else { PageIndex::Skip };
        let (parquet, deleted, only) = tokio::try_join!(
            location.open(page_index),
            positions(context, file.deletion_vector.as_ref()),
            positions(context, file.only.as_ref()),
        )?;
        let last = deleted.iter().chain(&only).filter_map(|rows| rows.last()).max();
        if let Some(last) = last.filter(|last| *last >= parquet.num_rows()) {
            let said = format!("its deletion vector deletes row {last}, but it has only {} rows", parquet.num_rows());
            return Err(Error::corrupt(&file.path, said));
        }
        if only.is_some() && parquet.num_rows() > MOST_ROWS {
            return Err(Error::corrupt(
                &file.path,
                format!("its footer says that it has {} rows, which is too many", parquet.num_rows()),
            ));
        }
        let others = only.map(|only| only.complement(parquet.num_rows()));
        let deleted = match (deleted, others) {
            (Some(deleted), Some(others)) => Some(deleted.union(&others)),
            (deleted, others) => deleted.map(Arc::unwrap_or_clone).or(others),
        };
        let work = Preparation {
            context: Arc::clone(context),
            parquet,
            deleted,
            range: file.range.clone().map(|bytes| FileRange { bytes, size: file.size }),
            constants: constants.to_vec(),
            logged: LoggedMetadata::new(context, file),
        };
        let task = tokio::task::spawn_blocking(move || work.finish());
        // Statistics and page indexes are untrusted bytes, so decoding them may panic.
        task.await.unwrap_or_else(|error| Err(Error::corrupt(&file.path, "its metadata is not valid").with_source(error)))
    }

    /// Returns whether rows in the middle of a row group can be read without fetching the rows
    /// before them.
    pub(super) fn can_skip(&self, group: usize) -> bool {
        let indexed =
            self.file.metadata().offset_index().is_some_and(|index| index.get(group).is_some_and(|columns| !columns.is_empty()));
        indexed || self.file.is_local()
    }
}

/// The work that remains on a file after its metadata was read.
struct Preparation {
    context: Arc<ReadContext>,
    parquet: ParquetFile,
    deleted: Option<DeletionVector>,
    range: Option<FileRange>,
    constants: Vec<(Scalar, PrimitiveType)>,
    logged: LoggedMetadata,
}

/// The part of a file that a task reads.
struct FileRange {
    bytes: Range<u64>,
    /// The size of the file that was assumed when the file was cut.
    size: u64,
}

impl FileRange {
    /// Returns whether a row group belongs to this part. The middle of the row group decides, so
    /// each row group belongs to exactly one part.
    fn holds(&self, group: &RowGroupMetaData) -> bool {
        let start = group.columns().iter().map(|column| column.byte_range().0).min().unwrap_or(0);
        let length = group.compressed_size().unsigned_abs();
        // A row group beyond the assumed end belongs to the last part.
        let middle = (start + length / 2).min(self.size.saturating_sub(1));
        self.bytes.contains(&middle)
    }
}

impl Preparation {
    fn finish(self) -> Result<ParquetContent> {
        let projection = &self.context.projection;
        let columns = FileColumns::new(
            &self.parquet,
            self.context.table.mapping_mode,
            &projection.by_name,
            self.context.output.is_moving(),
        )?;
        let groups = self.groups(&columns)?;
        // Without a condition, all columns are read together.
        let apart = match self.context.condition {
            Some(_) => (projection.tested.clone(), projection.others.clone()),
            None => Default::default(),
        };
        Ok(ParquetContent {
            tested: columns.adapter(&apart.0)?,
            others: columns.adapter(&apart.1)?,
            all: columns.adapter(&projection.all())?,
            file: self.parquet,
            columns,
            deleted: self.deleted,
            groups,
        })
    }

    /// Returns by row group the rows that may match. Long runs of deleted rows are left out.
    fn groups(&self, columns: &FileColumns) -> Result<Vec<(usize, RowRanges)>> {
        let mut groups = Vec::new();
        let mut first_row = 0;
        for (index, group) in self.parquet.metadata().row_groups().iter().enumerate() {
            let end = first_row + group.num_rows().unsigned_abs();
            if self.range.as_ref().is_none_or(|part| part.holds(group)) {
                groups.push((index, RowRanges::all(first_row..end)));
            }
            first_row = end;
        }
        if let Some(pruner) = self.context.pruner.as_ref().filter(|pruner| !pruner.statistics().is_empty()) {
            let context =
                FileContext { schema: &self.context.table.physical_schema, logged: &self.logged, exact: self.deleted.is_none() };
            let bounds = ParquetStatistics::new(&self.parquet, columns, context, pruner.statistics());
            let is_complete = self.parquet.has_complete_stats();
            let judge = |statistics: &[ArrayRef], count: usize| {
                let partitions = self.context.arrays_of_filter(pruner, &arrays(&self.constants, count)?)?;
                let guaranteed = vec![BooleanArray::from(vec![is_complete; count]); pruner.guarantees().len()];
                pruner.prune_stats(&FileFacts {
                    files: count,
                    partitions: &partitions,
                    stats: statistics,
                    guaranteed: &guaranteed,
                })
            };
            groups = kept_groups(groups, &bounds, judge)?;
        }
        if let Some(deleted) = &self.deleted {
            groups = groups.into_iter().map(|(index, rows)| (index, rows.without_deleted_runs(deleted))).collect();
        }
        groups.retain(|(_, rows)| !rows.is_empty());
        Ok(groups)
    }
}

/// Returns the row groups that may hold matches, and within them the pages that may hold matches.
fn kept_groups(
    groups: Vec<(usize, RowRanges)>,
    bounds: &ParquetStatistics<'_>,
    judge: impl Fn(&[ArrayRef], usize) -> Result<BooleanArray>,
) -> Result<Vec<(usize, RowRanges)>> {
    let indices: Vec<usize> = groups.iter().map(|(index, _)| *index).collect();
    let keep = judge(&bounds.of_row_groups(&indices)?, indices.len())?;
    let mut kept = Vec::new();
    for ((index, rows), keep) in groups.into_iter().zip(keep.iter()) {
        if keep == Some(false) {
            continue;
        }
        let Some((intervals, statistics)) = bounds.of_pages(index, rows.first())? else {
            kept.push((index, rows));
            continue;
        };
        let keep = judge(&statistics, intervals.len())?;
        let intervals: Vec<_> =
            intervals.into_iter().zip(keep.iter()).filter(|(_, keep)| *keep != Some(false)).map(|(rows, _)| rows).collect();
        kept.push((index, rows.within(&intervals)));
    }
    Ok(kept)
}

impl ReadContext {
    /// Returns whether a file with these partition values may hold matches.
    fn may_match(&self, constants: &[ArrayRef]) -> Result<bool> {
        let Some(pruner) = &self.pruner else { return Ok(true) };
        let keep = pruner.prune_partitions(1, &self.arrays_of_filter(pruner, constants)?)?;
        Ok(keep.iter().next().flatten() != Some(false))
    }

    /// Returns the arrays that the pruner needs, in its order. `constants` are in the order of the
    /// table's partition columns.
    fn arrays_of_filter(&self, pruner: &Pruner, constants: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
        let found = pruner.partition_columns().iter().map(|column| {
            let position = self.table.partition_columns().position(|(physical, _)| physical == column.physical)?;
            constants.get(position).cloned()
        });
        let found: Option<Vec<ArrayRef>> = found.collect();
        found.ok_or_else(|| Error::internal("the task lacks a partition column that the filter needs"))
    }
}

/// Returns the values of the partition columns, in the order of the table's partition columns.
fn constants(context: &ReadContext, file: &ScanFile) -> Result<Vec<(Scalar, PrimitiveType)>> {
    let value = |(physical, primitive): (&str, PrimitiveType)| {
        let text = match file.partition_values.get(physical) {
            Some(text) => text.as_deref(),
            None => return Err(Error::corrupt(&file.path, format!("the log has no value for partition column {physical}"))),
        };
        let value = Scalar::parse_partition(text, primitive);
        Ok((value.map_err(|error| error.within(format!("{}: partition column {physical}", file.path)))?, primitive))
    };
    context.table.partition_columns().map(value).collect()
}

fn arrays(constants: &[(Scalar, PrimitiveType)], rows: usize) -> Result<Vec<ArrayRef>> {
    constants.iter().map(|(value, primitive)| scalar_to_array(value, *primitive, rows)).collect()
}

async fn positions(context: &ReadContext, rows: Option<&FileRows>) -> Result<Option<Arc<DeletionVector>>> {
    match rows {
        Some(rows) => rows.read(&context.store).await.map(Some),
        None => Ok(None),
    }
}

/// Returns how many rows the file returns, if the log gives the number and no column of the file is
/// read.
fn rows_by_log(context: &ReadContext, file: &ScanFile) -> Result<Option<u64>> {
    let rows_tell = file.change.is_some_and(|change| change.change_type == ChangeType::InFile);
    let by_log = |source: &ColumnSource| match source {
        ColumnSource::Partition(_)
        | ColumnSource::FilePath
        | ColumnSource::FileSize
        | ColumnSource::FileIndex
        | ColumnSource::CommitVersion
        | ColumnSource::CommitTimestamp => true,
        ColumnSource::ChangeType(_) => !rows_tell,
        ColumnSource::File(_) | ColumnSource::RowIndex | ColumnSource::RowId(_) | ColumnSource::RowCommitVersion(_) => false,
    };
    if context.condition.is_some() || !context.output.sources().iter().all(by_log) {
        return Ok(None);
    }
    file.live_rows()
}

/// Explains the error for a file that the log lists but the store does not have.
fn explain(error: Error, context: &ReadContext, file: &ScanFile) -> Error {
    let ErrorKind::Store { object, retryable, not_found: true } = error.kind().clone() else { return error };
    let message = format!(
        "{object}: this file belongs to {} ({}), but it does not exist. Perhaps VACUUM removed it while an old version was read, \
         or somebody deleted it: read a newer version, or restore the file",
        context.table.url, file.path
    );
    Error::new(ErrorKind::Store { object, retryable, not_found: true }, message)
}
