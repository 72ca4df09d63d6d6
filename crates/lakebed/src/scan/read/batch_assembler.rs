//! Processes decoded rows: tests the condition, drops deleted rows, and puts the output together.

use std::ops::ControlFlow;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray, StructArray, TimestampMicrosecondArray};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use arrow_schema::{DataType as ArrowType, Field, FieldRef, Fields};
use arrow_select::filter::{FilterBuilder, FilterPredicate};

use lakebed_io::parquet::Cores;

use super::column_source::ColumnSource;
use super::condition::column_of_rows;
use super::context::ReadContext;
use super::decoded_type::{as_wanted, in_form};
use super::file::OpenFile;
use super::outbox::Outbox;
use super::row_ranges::{RowPositions, RowRanges, UndecodedRows};
use super::schema_adapter::{AdaptedColumns, SchemaAdapter};
use crate::scan::row_column::ChangeType;
use crate::{Error, Result};

/// Processes the decoded rows of a piece, in order.
pub(super) struct BatchAssembler {
    context: Arc<ReadContext>,
    file: Arc<OpenFile>,
    outbox: Outbox,
    /// The rows that have not been decoded yet.
    ahead: UndecodedRows,
}

/// The results of the first of two passes so far.
#[derive(Default)]
pub(super) struct TestedBatches {
    marks: Vec<BooleanBuffer>,
    /// By batch, the columns of the condition that are in the output, for the matching rows.
    kept: Vec<MatchingColumns>,
}

/// The matching rows of one batch.
struct MatchingColumns {
    fields: Vec<FieldRef>,
    columns: Vec<ArrayRef>,
    positions: Option<ArrayRef>,
}

/// The result of the first of two passes.
pub(super) struct MatchingRows {
    /// One bit for each decoded row. It is set if the row matches.
    marks: BooleanBuffer,
    count: usize,
    fields: Vec<FieldRef>,
    columns: Vec<ArrayRef>,
    positions: Option<ArrayRef>,
}

impl BatchAssembler {
    pub(super) fn new(context: Arc<ReadContext>, file: Arc<OpenFile>, outbox: Outbox, rows: Option<&RowRanges>) -> Self {
        let ahead = rows.map(RowRanges::undecoded).unwrap_or_default();
        Self { context, file, outbox, ahead }
    }

    pub(super) fn cores(&self) -> Cores {
        self.context.resources.cores.clone()
    }

    /// Returns the leaves of the columns that may be decoded as dictionary keys. These are the
    /// columns that are returned as they are stored.
    pub(super) fn dictionary_leaves(&self, adapter: &SchemaAdapter) -> Vec<usize> {
        let wanted = |position| self.context.output.is_moving() && self.context.output.has(ColumnSource::File(position));
        adapter.dictionary_leaves(wanted)
    }

    /// Returns whether no more rows are needed.
    pub(super) fn is_closed(&self) -> bool {
        self.outbox.is_closed()
    }

    /// Returns the number of rows that were put out.
    pub(super) fn rows_out(&self) -> u64 {
        self.outbox.rows()
    }

    /// Returns those of these rows that have not been decoded yet.
    pub(super) fn rest(&self, rows: &RowRanges) -> RowRanges {
        self.ahead.rest(rows)
    }

    /// Sets the rows that are decoded next, when decoding starts again.
    pub(super) fn start_over(&mut self, rows: &RowRanges) {
        self.ahead = rows.undecoded();
    }

    /// Sends the rows that still wait.
    pub(super) fn finish(&mut self) -> Result<()> {
        self.outbox.flush()
    }

    /// Processes rows with all columns.
    pub(super) fn pack(&mut self, batch: &RecordBatch) -> Result<ControlFlow<()>> {
        let positions = self.ahead.next(batch.num_rows() as u64);
        let file = Arc::clone(&self.file);
        let stored = file.parquet()?;
        let columns = stored.all.adapt(batch)?;
        let Some(marks) = self.marks(&columns, &positions, batch.num_rows())? else {
            let positions = self.wants_positions().then(|| positions.column());
            return self.send(&columns, positions.as_ref(), batch.num_rows());
        };
        let (chooser, count) = chooser(&marks);
        if count == 0 {
            return Ok(self.flow());
        }
        let columns = columns.filter(&chooser)?;
        let positions = if self.wants_positions() { Some(chooser.filter(&positions.column())?) } else { None };
        self.send(&columns, positions.as_ref(), count)
    }

    /// Processes rows with the columns of the condition, in the first of two passes.
    pub(super) fn test(&mut self, batch: &RecordBatch, found: &mut TestedBatches) -> Result<ControlFlow<()>> {
        let positions = self.ahead.next(batch.num_rows() as u64);
        let columns = self.file.parquet()?.tested.adapt(batch)?;
        let marks = self.marks(&columns, &positions, batch.num_rows())?;
        let marks = marks.unwrap_or_else(|| BooleanBuffer::new_set(batch.num_rows()));
        let (chooser, count) = chooser(&marks);
        if count > 0 {
            let columns = columns.filter_some(&chooser, |position| self.context.output.takes(position))?;
            let positions = if self.wants_positions() { Some(chooser.filter(&positions.column())?) } else { None };
            found.kept.push(MatchingColumns { fields: columns.fields, columns: columns.columns, positions });
        }
        found.marks.push(marks);
        Ok(self.flow())
    }

    /// Processes rows with the other columns, in the second of two passes. The rows are matching
    /// rows, beginning with the match at index `from`.
    pub(super) fn join(&mut self, batch: &RecordBatch, matches: &MatchingRows, from: usize) -> Result<ControlFlow<()>> {
        let count = batch.num_rows();
        if from + count > matches.count {
            return Err(Error::internal("more rows were decoded than match the predicate"));
        }
        let others = self.file.parquet()?.others.adapt(batch)?;
        let columns = AdaptedColumns {
            fields: matches.fields.iter().chain(&others.fields).cloned().collect(),
            columns: matches.columns.iter().map(|column| column.slice(from, count)).chain(others.columns).collect(),
        };
        let positions = matches.positions.as_ref().map(|positions| positions.slice(from, count));
        self.send(&columns, positions.as_ref(), count)
    }

    /// Sends rows for which no column of the file is read.
    pub(super) fn send_counted(mut self, rows: u64, batch_rows: usize) -> Result<()> {
        let mut left = rows;
        while left > 0 {
            let count = left.min(batch_rows as u64);
            left -= count;
            if self.send(&AdaptedColumns::default(), None, usize::try_from(count).unwrap_or(usize::MAX))?.is_break() {
                break;
            }
        }
        self.finish()
    }

    /// Marks the rows that match and are not deleted; None if all rows match and none is deleted.
    fn marks(&self, columns: &AdaptedColumns, positions: &RowPositions, count: usize) -> Result<Option<BooleanBuffer>> {
        let live = positions.live(self.file.parquet()?.deleted.as_ref());
        let Some(condition) = &self.context.condition else { return Ok(live) };
        let mut stored = columns.fields.iter().zip(&columns.columns);
        let mut fields = Vec::new();
        let mut tested = Vec::new();
        for column in &condition.columns().fields {
            match self.context.table.partition_position(&column.name) {
                Some(position) => {
                    let constant = self.file.constant(position, count)?;
                    fields.push(Arc::new(Field::new(&column.name, constant.data_type().clone(), true)));
                    tested.push(constant);
                }
                None => {
                    let (field, column) =
                        stored.next().ok_or_else(|| Error::internal("a column of the predicate was not read"))?;
                    fields.push(Arc::clone(field));
                    tested.push(Arc::clone(column));
                }
            }
        }
        if !condition.of_rows().is_empty() {
            let field = column_of_rows(condition.of_rows());
            tested.push(self.metadata_field(&field, columns, positions, count)?);
            fields.push(field);
        }
        let matching = condition.matches(&fields, &tested, count)?;
        self.context.selectivity.count(count as u64, matching.count_set_bits() as u64);
        Ok(Some(match live {
            Some(live) => &matching & &live,
            None => matching,
        }))
    }

    fn wants_positions(&self) -> bool {
        self.context.output.sources().iter().any(|source| source.is_of_positions())
    }

    /// Returns the `_metadata` columns that the condition names.
    fn metadata_field(
        &self,
        field: &Field,
        columns: &AdaptedColumns,
        positions: &RowPositions,
        count: usize,
    ) -> Result<ArrayRef> {
        let sources = &self.context.projection.tested_metadata;
        let positions = sources.iter().any(|source| source.is_of_positions()).then(|| positions.column());
        let values =
            sources.iter().map(|source| self.value(*source, columns, positions.as_ref(), count)).collect::<Result<Vec<_>>>()?;
        let ArrowType::Struct(fields) = field.data_type() else {
            return Err(Error::internal("the type of the metadata columns is not a struct"));
        };
        Ok(Arc::new(StructArray::try_new(fields.clone(), values, None)?))
    }

    /// Puts the output columns together and sends them.
    fn send(&mut self, columns: &AdaptedColumns, positions: Option<&ArrayRef>, count: usize) -> Result<ControlFlow<()>> {
        let mut fields = Vec::new();
        let mut made = Vec::new();
        for (field, source) in self.context.output.fields() {
            let column = match source {
                ColumnSource::File(position) => {
                    let (Some(found), Some(column)) = (columns.fields.get(position), columns.columns.get(position)) else {
                        return Err(Error::internal(format!("column {} was not read", field.name())));
                    };
                    let (field, column) = as_wanted(found, column, field.data_type())?;
                    fields.push(field);
                    made.push(column);
                    continue;
                }
                source => self.value(source, columns, positions, count)?,
            };
            let nullable = field.is_nullable() || column.null_count() > 0;
            fields.push(if nullable == field.is_nullable() {
                Arc::clone(field)
            } else {
                Arc::new(field.as_ref().clone().with_nullable(nullable))
            });
            made.push(column);
        }
        self.outbox.put(fields, made, count)
    }

    /// Returns a column about rows. Its values come from the log, from the positions of the rows,
    /// or from columns that store the values of rows that moved.
    fn value(
        &self,
        source: ColumnSource,
        columns: &AdaptedColumns,
        positions: Option<&ArrayRef>,
        count: usize,
    ) -> Result<ArrayRef> {
        Ok(match source {
            ColumnSource::File(_) => return Err(Error::internal("a column of the file is not a metadata column")),
            ColumnSource::Partition(position) => self.file.constant(position, count)?,
            ColumnSource::FilePath => Arc::new(StringArray::from_iter_values(std::iter::repeat_n(self.file.path(), count))),
            ColumnSource::FileSize => Arc::new(Int64Array::from_value(self.file.size().cast_signed(), count)),
            ColumnSource::FileIndex => Arc::new(Int64Array::from_value(self.file.index() as i64, count)),
            ColumnSource::RowIndex => Arc::clone(positions.ok_or_else(|| Error::internal("row positions are missing"))?),
            ColumnSource::RowId(moved) => {
                let positions = positions.and_then(|positions| positions.as_primitive_opt::<Int64Type>());
                let base = self.file.row_tracking().base_row_id;
                let fresh =
                    |row: usize| Some(base?.wrapping_add(positions.filter(|positions| row < positions.len())?.value(row)));
                moved_or(moved.and_then(|position| columns.columns.get(position)), count, fresh)
            }
            ColumnSource::RowCommitVersion(moved) => {
                let version = self.file.row_tracking().default_row_commit_version;
                moved_or(moved.and_then(|position| columns.columns.get(position)), count, |_| version)
            }
            ColumnSource::ChangeType(position) => {
                let in_file = position.and_then(|position| columns.columns.get(position));
                self.change_types(self.file.change()?.change_type, in_file, count)?
            }
            ColumnSource::CommitVersion => Arc::new(Int64Array::from_value(self.file.change()?.version.cast_signed(), count)),
            ColumnSource::CommitTimestamp => {
                let micros = self.file.change()?.timestamp_ms.saturating_mul(1000);
                Arc::new(TimestampMicrosecondArray::from_value(micros, count).with_timezone("UTC"))
            }
        })
    }

    /// Returns the change type of each row.
    fn change_types(&self, of_file: ChangeType, in_file: Option<&ArrayRef>, count: usize) -> Result<ArrayRef> {
        match (of_file, in_file) {
            (ChangeType::InFile, Some(column)) if column.null_count() == 0 => in_form(column, &ArrowType::Utf8),
            (ChangeType::InFile, _) => {
                let column = ChangeType::CHANGE_TYPE_COLUMN;
                Err(Error::corrupt(self.file.path(), format!("some rows of this change data file have no {column}")))
            }
            (of_all, _) => Ok(Arc::new(StringArray::from_iter_values(std::iter::repeat_n(of_all.name(), count)))),
        }
    }

    fn flow(&self) -> ControlFlow<()> {
        if self.is_closed() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl TestedBatches {
    pub(super) fn finish(self) -> Result<MatchingRows> {
        let mut marks = BooleanBufferBuilder::new(self.marks.iter().map(BooleanBuffer::len).sum());
        self.marks.iter().for_each(|part| marks.append_buffer(part));
        let marks = marks.finish();
        let count = marks.count_set_bits();
        let fields = self.kept.first().map(|kept| kept.fields.clone()).unwrap_or_default();
        let mut columns = Vec::with_capacity(fields.len());
        let mut joined_fields = Vec::with_capacity(fields.len());
        for (index, field) in fields.iter().enumerate() {
            let column = concat(self.kept.iter().filter_map(|kept| kept.columns.get(index)).collect())?;
            let nullable = self.kept.iter().filter_map(|kept| kept.fields.get(index)).any(|field| field.is_nullable());
            joined_fields
                .push(Arc::new(field.as_ref().clone().with_data_type(column.data_type().clone()).with_nullable(nullable)));
            columns.push(column);
        }
        let positions: Vec<&ArrayRef> = self.kept.iter().filter_map(|kept| kept.positions.as_ref()).collect();
        let positions = if positions.is_empty() { None } else { Some(concat(positions)?) };
        Ok(MatchingRows { marks, count, fields: joined_fields, columns, positions })
    }
}

impl MatchingRows {
    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn marks(&self) -> &BooleanBuffer {
        &self.marks
    }

    /// Returns how many decoded rows there are up to and including the match with this number.
    pub(super) fn rows_up_to(&self, matches: u64) -> u64 {
        let Some(last) = matches.checked_sub(1).and_then(|last| usize::try_from(last).ok()) else { return 0 };
        self.marks.set_indices().nth(last).map_or(self.marks.len() as u64, |row| row as u64 + 1)
    }
}

fn chooser(marks: &BooleanBuffer) -> (FilterPredicate, usize) {
    let mask = BooleanArray::new(marks.clone(), None);
    let count = mask.true_count();
    (FilterBuilder::new(&mask).optimize().build(), count)
}

/// Returns the stored value of a row that moved, and the fresh value of any other row.
fn moved_or(moved: Option<&ArrayRef>, count: usize, fresh: impl Fn(usize) -> Option<i64>) -> ArrayRef {
    let moved = moved.and_then(|column| column.as_primitive_opt::<Int64Type>());
    let value = |row: usize| match moved {
        Some(column) if row < column.len() && column.is_valid(row) => Some(column.value(row)),
        _ => fresh(row),
    };
    Arc::new((0..count).map(value).collect::<Int64Array>())
}

/// Concatenates columns into one. They may differ in which nested fields are nullable.
fn concat(parts: Vec<&ArrayRef>) -> Result<ArrayRef> {
    let alike = parts.windows(2).all(|pair| matches!(pair, [one, other] if one.data_type() == other.data_type()));
    if alike {
        let parts: Vec<&dyn Array> = parts.iter().map(|part| part.as_ref()).collect();
        return Ok(arrow_select::concat::concat(&parts)?);
    }
    let loosened =
        parts.iter().map(|part| Ok(arrow_cast::cast(part, &loosened(part.data_type()))?)).collect::<Result<Vec<_>>>()?;
    let parts: Vec<&dyn Array> = loosened.iter().map(AsRef::as_ref).collect();
    Ok(arrow_select::concat::concat(&parts)?)
}

/// Returns the type with every nested field nullable where possible.
fn loosened(data_type: &ArrowType) -> ArrowType {
    let field = |field: &FieldRef, nullable: bool| {
        Arc::new(field.as_ref().clone().with_data_type(loosened(field.data_type())).with_nullable(nullable))
    };
    match data_type {
        ArrowType::Struct(fields) => ArrowType::Struct(fields.iter().map(|inner| field(inner, true)).collect()),
        ArrowType::List(element) => ArrowType::List(field(element, true)),
        ArrowType::Map(entries, sorted) => match entries.data_type() {
            ArrowType::Struct(fields) => {
                let fields: Fields = fields.iter().enumerate().map(|(index, inner)| field(inner, index > 0)).collect();
                ArrowType::Map(Arc::new(entries.as_ref().clone().with_data_type(ArrowType::Struct(fields))), *sorted)
            }
            _ => data_type.clone(),
        },
        other => other.clone(),
    }
}
