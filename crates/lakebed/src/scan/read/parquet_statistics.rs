//! Reads the statistics of a file's row groups and pages in the form that the log uses for files,
//! so that the same pruner applies to both.
//!
//! Statistics that cannot be trusted are left out and count as unknown. These are statistics of
//! strings by writers that compared signed bytes, statistics of INT96, and statistics of days in
//! the old calendar. The pruner checks separately whether the upper bounds of floats hold for NaN.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array, UInt32Array, new_null_array};
use arrow_schema::{DataType as ArrowType, Field};
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::basic::Type as PhysicalType;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};

use lakebed_core::schema::{PrimitiveType, StructField, StructType};
use lakebed_core::stats::{StatColumn, StatKind};
use lakebed_expr::prune::metadata_field;
use lakebed_io::at::At;
use lakebed_io::parquet::ParquetFile;

use super::leaf_adapter::LeafAdapter;
use super::metadata_bounds::{LoggedMetadata, MovedRows};
use super::schema_adapter::FileColumns;
use crate::Result;
use crate::scan::row_column::RowColumnKind;

/// If a predicate names ids or positions of rows, pages are pruned in runs of at most this many
/// rows.
const ROWS_OF_RUN: usize = 4096;

/// Returns statistics of one file.
pub(super) struct ParquetStatistics<'a> {
    file: &'a ParquetFile,
    statistics: Vec<FileStatistic<'a>>,
    context: FileContext<'a>,
}

/// The known facts about a file without its statistics.
#[derive(Clone, Copy)]
pub(super) struct FileContext<'a> {
    /// The schema of the table with physical names.
    pub(super) schema: &'a StructType,
    pub(super) logged: &'a LoggedMetadata,
    /// Whether the statistics count no deleted rows.
    pub(super) exact: bool,
}

struct FileStatistic<'a> {
    column: &'a StatColumn,
    /// The `_metadata` column that the statistic describes, if it describes none of the table's
    /// columns.
    metadata_column: Option<MetadataColumn>,
    /// The source of the statistic; None if the file has none.
    source: Option<StatisticSource>,
}

/// A `_metadata` column that a condition names.
struct MetadataColumn {
    kind: RowColumnKind,
    /// Whether the file has a column that stores the values of rows that moved.
    may_have_moved: bool,
}

struct StatisticSource {
    leaf: usize,
    /// The field with the type that the file has.
    field: Field,
    /// How bounds of the file become bounds of the table; None if there are none, or if they cannot
    /// be trusted.
    cast: Option<LeafAdapter>,
}

/// Runs of rows, and the requested statistics for each run.
pub(super) type PageStatistics = (Vec<Range<u64>>, Vec<ArrayRef>);

/// The pages of a row group.
#[derive(Clone, Copy)]
struct PagesOfGroup<'p> {
    group: usize,
    intervals: &'p [RowInterval],
    /// For each column in question, the first rows of its pages.
    starts: &'p [Vec<u64>],
    rows: u64,
}

/// Rows of one row group that are not cut by a page boundary of any column in question.
struct RowInterval {
    rows: Range<u64>,
    /// For each column in question, the page that holds the rows.
    pages: Vec<usize>,
}

impl<'a> ParquetStatistics<'a> {
    /// Finds the sources of the statistics. The paths of `statistic` are physical.
    pub(super) fn new(
        file: &'a ParquetFile,
        columns: &FileColumns,
        context: FileContext<'a>,
        statistics: &'a [StatColumn],
    ) -> Self {
        let statistics = statistics.iter().map(|statistic| FileStatistic::find(file, columns, context, statistic)).collect();
        Self { file, statistics, context }
    }

    /// Returns for each statistic one value for each of these row groups.
    pub(super) fn of_row_groups(&self, groups: &[usize]) -> Result<Vec<ArrayRef>> {
        let metadata: Vec<&RowGroupMetaData> =
            groups.iter().filter_map(|group| self.file.metadata().row_groups().get(*group)).collect();
        let runs = self.runs(groups);
        let values = |statistic: &FileStatistic<'_>| {
            self.values(statistic, &runs, |kind| self.row_group_values(statistic, kind, &metadata))
        };
        self.statistics.iter().map(values).collect()
    }

    /// Returns the rows of these row groups, by their positions in the file.
    fn runs(&self, groups: &[usize]) -> Vec<Range<u64>> {
        let mut end = 0;
        let of_group = |group: &RowGroupMetaData| {
            let start = end;
            end += group.num_rows().unsigned_abs();
            start..end
        };
        let all: Vec<Range<u64>> = self.file.metadata().row_groups().iter().map(of_group).collect();
        groups.iter().filter_map(|group| all.get(*group)).cloned().collect()
    }

    /// Returns a statistic of runs of rows. `stored` returns the values from the file's own column.
    fn values(
        &self,
        statistic: &FileStatistic<'_>,
        runs: &[Range<u64>],
        stored: impl Fn(StatKind) -> Result<ArrayRef>,
    ) -> Result<ArrayRef> {
        let side = statistic.column.kind;
        let Some(metadata_column) = &statistic.metadata_column else { return stored(side) };
        let moved = match metadata_column.may_have_moved {
            true => Some(MovedRows { bounds: stored(side)?, nulls: stored(StatKind::NullCount)? }),
            false => None,
        };
        match self.context.logged.bound(metadata_column.kind, side, runs, moved.as_ref()) {
            Some(bounds) => Ok(bounds),
            None => unknown(statistic.column, runs.len()),
        }
    }

    fn row_group_values(&self, statistic: &FileStatistic<'_>, kind: StatKind, groups: &[&RowGroupMetaData]) -> Result<ArrayRef> {
        let unknown = || unknown(statistic.column, groups.len());
        match kind {
            StatKind::NumRecords => Ok(Arc::new(Int64Array::from_iter_values(groups.iter().map(|group| group.num_rows())))),
            StatKind::TightBounds => Ok(Arc::new(BooleanArray::from(vec![self.context.exact; groups.len()]))),
            StatKind::NullCount => match &statistic.source {
                Some(source) => Ok(Arc::new(groups.iter().map(|group| null_count(group, source.leaf)).collect::<Int64Array>())),
                None => unknown(),
            },
            kind @ (StatKind::Min | StatKind::Max) => match &statistic.source {
                Some(source) if source.cast.is_some() => {
                    let known = groups.iter().all(|group| !has_signed_bounds(group, source.leaf));
                    if !known {
                        return unknown();
                    }
                    let converter = source.converter(self.file)?;
                    let values = if kind == StatKind::Min {
                        converter.row_group_mins(groups.iter().copied())
                    } else {
                        converter.row_group_maxes(groups.iter().copied())
                    };
                    self.bound(kind, source, values, statistic.column, groups.len())
                }
                _ => unknown(),
            },
        }
    }

    /// Returns the rows of a row group in pieces, and for each statistic one value for each piece;
    /// None if the pages have no statistics to use.
    pub(super) fn of_pages(&self, group: usize, first_row: u64) -> Result<Option<PageStatistics>> {
        let metadata = self.file.metadata();
        let (Some(rows), Some(_), Some(_)) =
            (metadata.row_groups().get(group).map(RowGroupMetaData::num_rows), metadata.column_index(), metadata.offset_index())
        else {
            return Ok(None);
        };
        let mut leaves: Vec<usize> =
            self.statistics.iter().filter_map(|statistic| Some(statistic.source.as_ref()?.leaf)).collect();
        leaves.sort_unstable();
        leaves.dedup();
        let Some(mut starts) = leaves.iter().map(|leaf| page_starts(metadata, group, *leaf)).collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        if self.statistics.iter().any(|statistic| statistic.metadata_column.as_ref().is_some_and(MetadataColumn::is_of_positions))
        {
            starts.push((0..rows.unsigned_abs()).step_by(ROWS_OF_RUN).collect());
        }
        let intervals = intervals(&starts, rows.unsigned_abs());
        if intervals.len() < 2 {
            return Ok(None);
        }
        let pages = PagesOfGroup { group, intervals: &intervals, starts: &starts, rows: rows.unsigned_abs() };
        let in_file = |interval: &RowInterval| first_row + interval.rows.start..first_row + interval.rows.end;
        let runs: Vec<Range<u64>> = intervals.iter().map(in_file).collect();
        let values = |statistic: &FileStatistic<'_>| {
            let column = statistic.source.as_ref().and_then(|source| leaves.iter().position(|leaf| *leaf == source.leaf));
            self.values(statistic, &runs, |kind| self.page_values(statistic, kind, column, &pages))
        };
        let values = self.statistics.iter().map(values).collect::<Result<_>>()?;
        Ok(Some((runs, values)))
    }

    fn page_values(
        &self,
        statistic: &FileStatistic<'_>,
        kind: StatKind,
        column: Option<usize>,
        pages: &PagesOfGroup<'_>,
    ) -> Result<ArrayRef> {
        let PagesOfGroup { group, intervals, starts, rows } = *pages;
        let count = intervals.len();
        let length = |interval: &RowInterval| (interval.rows.end - interval.rows.start).cast_signed();
        match (kind, &statistic.source, column, self.file.metadata().column_index(), self.file.metadata().offset_index()) {
            (StatKind::NumRecords, ..) => Ok(Arc::new(Int64Array::from_iter_values(intervals.iter().map(length)))),
            (StatKind::TightBounds, ..) => Ok(Arc::new(BooleanArray::from(vec![self.context.exact; count]))),
            (StatKind::NullCount, Some(source), Some(column), Some(column_index), Some(offset_index)) => {
                let counts = source.converter(self.file)?.data_page_null_counts(column_index, offset_index, &[group]);
                let (Ok(counts), Some(starts)) = (counts, starts.get(column)) else { return unknown(statistic.column, count) };
                let of_interval = |interval: &RowInterval| {
                    let page = *interval.pages.get(column)?;
                    let nulls = (page < counts.len() && counts.is_valid(page)).then(|| counts.value(page))?;
                    let page_rows = starts.get(page + 1).unwrap_or(&rows) - starts.get(page)?;
                    match nulls {
                        0 => Some(0),
                        nulls if nulls == page_rows => Some(length(interval)),
                        _ => None,
                    }
                };
                Ok(Arc::new(intervals.iter().map(of_interval).collect::<Int64Array>()))
            }
            (kind @ (StatKind::Min | StatKind::Max), Some(source), Some(column), Some(column_index), Some(offset_index))
                if source.cast.is_some() =>
            {
                let converter = source.converter(self.file)?;
                let values = if kind == StatKind::Min {
                    converter.data_page_mins(column_index, offset_index, &[group])
                } else {
                    converter.data_page_maxes(column_index, offset_index, &[group])
                };
                let pages = starts.get(column).map_or(0, Vec::len);
                let of_pages = self.bound(kind, source, values, statistic.column, pages)?;
                let page = |interval: &RowInterval| interval.pages.get(column).and_then(|page| u32::try_from(*page).ok());
                let indices: UInt32Array = intervals.iter().map(page).collect();
                Ok(arrow_select::take::take(&of_pages, &indices, None)?)
            }
            _ => unknown(statistic.column, count),
        }
    }

    /// Converts bounds of the file to bounds of the table. They are unknown if that fails.
    fn bound(
        &self,
        kind: StatKind,
        source: &StatisticSource,
        values: parquet::errors::Result<ArrayRef>,
        statistic: &StatColumn,
        count: usize,
    ) -> Result<ArrayRef> {
        let values = values.ok().filter(|values| values.len() == count);
        let Some(values) = values.zip(source.cast.as_ref()).and_then(|(values, cast)| cast.adapt(&values).ok()) else {
            return unknown(statistic, count);
        };
        Ok(match values.data_type() {
            // A bound that is zero may stand for the zero of the other sign.
            ArrowType::Float32 if kind == StatKind::Min => Arc::new(
                values.as_primitive::<Float32Type>().unary::<_, Float32Type>(|value| if value == 0.0 { -0.0 } else { value }),
            ),
            ArrowType::Float64 if kind == StatKind::Min => Arc::new(
                values.as_primitive::<Float64Type>().unary::<_, Float64Type>(|value| if value == 0.0 { -0.0 } else { value }),
            ),
            ArrowType::Float32 => Arc::new(
                values.as_primitive::<Float32Type>().unary::<_, Float32Type>(|value| if value == 0.0 { 0.0 } else { value }),
            ),
            ArrowType::Float64 => Arc::new(
                values.as_primitive::<Float64Type>().unary::<_, Float64Type>(|value| if value == 0.0 { 0.0 } else { value }),
            ),
            _ => values,
        })
    }
}

impl<'a> FileStatistic<'a> {
    fn find(file: &ParquetFile, columns: &FileColumns, context: FileContext<'_>, statistic: &'a StatColumn) -> Self {
        let Some(kind) = metadata_field(statistic).and_then(RowColumnKind::of_name) else {
            return Self {
                column: statistic,
                metadata_column: None,
                source: StatisticSource::find(file, columns, context.schema, statistic),
            };
        };
        // A column that cannot be understood may hold any value.
        let moved = context.logged.moved_column(kind).filter(|name| columns.may_have(name));
        let source = moved.and_then(|name| {
            let schema = StructType { fields: vec![StructField::new(name, PrimitiveType::Long, true)] };
            let stored = StatColumn { path: vec![name.to_owned()], ..statistic.clone() };
            StatisticSource::find(file, columns, &schema, &stored)
        });
        Self { column: statistic, metadata_column: Some(MetadataColumn { kind, may_have_moved: moved.is_some() }), source }
    }
}

impl MetadataColumn {
    fn is_of_positions(&self) -> bool {
        matches!(self.kind, RowColumnKind::RowId | RowColumnKind::RowIndex)
    }
}

impl StatisticSource {
    fn find(file: &ParquetFile, columns: &FileColumns, schema: &StructType, statistic: &StatColumn) -> Option<Self> {
        if matches!(statistic.kind, StatKind::NumRecords | StatKind::TightBounds) {
            return None;
        }
        let (leaf, found) = columns.leaf_of(schema, &statistic.path)?;
        let descriptor = file.metadata().file_metadata().schema_descr().column(leaf);
        // Statistics of repeated values count values, not rows.
        if descriptor.max_rep_level() > 0 {
            return None;
        }
        let field = Field::new(descriptor.name(), found.clone(), true);
        // Nulls can be counted whatever the type is.
        if statistic.kind == StatKind::NullCount {
            return Some(Self { leaf, field, cast: None });
        }
        let cast = LeafAdapter::new(statistic.data_type, &found, &descriptor, columns.rebase()).ok()?;
        let trusted = descriptor.physical_type() != PhysicalType::INT96 && !cast.is_of_old_calendar();
        Some(Self { leaf, field, cast: Some(cast).filter(|_| trusted) })
    }

    fn converter<'b>(&'b self, file: &'b ParquetFile) -> Result<StatisticsConverter<'b>> {
        let schema = file.metadata().file_metadata().schema_descr();
        let converter = StatisticsConverter::from_column_index(self.leaf, &self.field, schema).at(file.name())?;
        Ok(converter.with_missing_null_counts_as_zero(false))
    }
}

/// Returns unknown values for a statistic.
fn unknown(statistic: &StatColumn, count: usize) -> Result<ArrayRef> {
    Ok(new_null_array(&statistic.arrow_type(), count))
}

fn null_count(group: &RowGroupMetaData, leaf: usize) -> Option<i64> {
    i64::try_from(group.columns().get(leaf)?.statistics()?.null_count_opt()?).ok()
}

/// Returns whether the bounds of bytes were made by comparing signed bytes, as old writers did.
/// Such bounds are not valid for any other order.
fn has_signed_bounds(group: &RowGroupMetaData, leaf: usize) -> bool {
    let Some(column) = group.columns().get(leaf) else { return true };
    let bytes = matches!(column.column_type(), PhysicalType::BYTE_ARRAY | PhysicalType::FIXED_LEN_BYTE_ARRAY);
    bytes && column.statistics().is_some_and(|statistics| statistics.is_min_max_deprecated())
}

/// Returns the first row of each page, counted within the row group.
fn page_starts(metadata: &ParquetMetaData, group: usize, leaf: usize) -> Option<Vec<u64>> {
    let pages = metadata.offset_index()?.get(group)?.get(leaf)?.page_locations();
    let starts: Vec<u64> = pages.iter().map(|page| u64::try_from(page.first_row_index).ok()).collect::<Option<_>>()?;
    (starts.first() == Some(&0)).then_some(starts)
}

/// Cuts the rows at every page boundary of every column.
fn intervals(starts: &[Vec<u64>], rows: u64) -> Vec<RowInterval> {
    let mut cuts: Vec<u64> = starts.iter().flatten().copied().filter(|start| *start < rows).collect();
    cuts.sort_unstable();
    cuts.dedup();
    let mut intervals = Vec::with_capacity(cuts.len());
    for (index, start) in cuts.iter().enumerate() {
        let end = cuts.get(index + 1).copied().unwrap_or(rows);
        let pages = starts.iter().map(|starts| starts.partition_point(|first| first <= start).saturating_sub(1)).collect();
        intervals.push(RowInterval { rows: *start..end, pages });
    }
    intervals
}
