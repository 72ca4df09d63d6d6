//! The statistics of the log beside the values that they describe.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, Scalar};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_ord::cmp::{gt, lt};
use arrow_schema::DataType as ArrowType;
use lakebed_core::log::files::FileBatch;
use lakebed_core::schema::mapping::{MappingMode, physical_name};
use lakebed_core::schema::{DataType, PrimitiveType, StructType};
use lakebed_core::stats::{StatColumn, StatKind};

use crate::{Error, Result, Snapshot};

/// The statistics of the file, before those of columns.
const OF_FILE: usize = 2;
/// The statistics of a column: its bounds and its count of nulls.
const OF_COLUMN: usize = 3;

/// A column with statistics.
pub(super) struct DescribedColumn {
    /// The logical name: `a`, `a.b`.
    pub(super) name: String,
    /// The logical path.
    pub(super) path: Vec<String>,
    physical: Vec<String>,
    data_type: PrimitiveType,
}

/// All statistics that the log may have for files of a table.
pub(super) struct DescribedColumns {
    pub(super) columns: Vec<DescribedColumn>,
}

/// The statistics of one file in the log.
#[derive(Clone)]
pub(super) struct FileStatistics {
    pub(super) rows: Option<i64>,
    /// False if deleted rows may have contributed to the statistics.
    pub(super) is_tight: bool,
    /// Whether upper bounds are known to include NaN.
    pub(super) is_complete: bool,
    /// For each column the least value, the greatest value and the number of nulls, each in an
    /// array of length 1.
    columns: Vec<ArrayRef>,
    /// For each column whether its type is CHAR.
    padded: Arc<[bool]>,
}

impl DescribedColumns {
    /// Returns the columns that data files have, outside of lists and maps.
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        let mut found = Self { columns: Vec::new() };
        let partitions = snapshot.partition_columns();
        let fields = snapshot.schema().fields.iter().filter(|field| !partitions.contains(&field.name)).cloned().collect();
        found.add(&StructType { fields }, snapshot.mapping_mode(), &[], &[]);
        found
    }

    fn add(&mut self, schema: &StructType, mode: MappingMode, logical: &[String], physical: &[String]) {
        for field in &schema.fields {
            let path = [logical, std::slice::from_ref(&field.name)].concat();
            let physical = [physical, &[physical_name(field, mode).to_owned()]].concat();
            match &field.data_type {
                DataType::Primitive(PrimitiveType::Variant | PrimitiveType::Void) | DataType::Array(_) | DataType::Map(_) => {}
                DataType::Primitive(data_type) => {
                    self.columns.push(DescribedColumn { name: path.join("."), path, physical, data_type: *data_type });
                }
                DataType::Struct(inner) => self.add(inner, mode, &path, &physical),
            }
        }
    }

    /// Returns all statistics: those of the file, and three for each column.
    pub(super) fn wanted(&self) -> Vec<StatColumn> {
        let of_file = |kind| StatColumn { kind, path: Vec::new(), data_type: PrimitiveType::Long };
        let mut wanted = vec![of_file(StatKind::NumRecords), of_file(StatKind::TightBounds)];
        for column in &self.columns {
            for kind in [StatKind::Min, StatKind::Max, StatKind::NullCount] {
                wanted.push(StatColumn { kind, path: column.physical.clone(), data_type: column.data_type });
            }
        }
        wanted
    }

    /// Returns the statistics of each file of a batch.
    pub(super) fn of_files(&self, batch: &FileBatch) -> Result<Vec<FileStatistics>> {
        let found = batch.stats(&self.wanted())?;
        let missing = || Error::internal("a statistic of files is missing");
        let (of_file, of_columns) = found.split_at_checked(OF_FILE).ok_or_else(missing)?;
        let [rows, tight] = of_file else { return Err(missing()) };
        let (rows, tight) = (rows.as_primitive::<Int64Type>(), tight.as_boolean());
        let complete = batch.complete_stats()?;
        let is_char = |column: &DescribedColumn| matches!(column.data_type, PrimitiveType::Char { .. });
        let padded: Arc<[bool]> = self.columns.iter().map(is_char).collect();
        let of_file = |row: usize| FileStatistics {
            padded: Arc::clone(&padded),
            rows: rows.is_valid(row).then(|| rows.value(row)),
            is_tight: tight.is_null(row) || tight.value(row),
            is_complete: complete.value(row),
            columns: of_columns.iter().map(|values| values.slice(row, 1)).collect(),
        };
        Ok((0..batch.len()).map(of_file).collect())
    }

    /// Returns each column with its position and the statistics that an array has for it, in the
    /// order of [`wanted`](Self::wanted).
    pub(super) fn with_values<'a>(
        &'a self,
        statistics: &'a [ArrayRef],
    ) -> impl Iterator<Item = (usize, &'a DescribedColumn, &'a [ArrayRef])> {
        let values = statistics.get(OF_FILE..).unwrap_or_default().chunks(OF_COLUMN);
        self.columns.iter().zip(values).enumerate().map(|(index, (column, values))| (index, column, values))
    }
}

impl FileStatistics {
    fn of_column(&self, column: usize, kind: StatKind) -> Option<&ArrayRef> {
        let offset = match kind {
            StatKind::Min => 0,
            StatKind::Max => 1,
            _ => 2,
        };
        self.columns.get(column * OF_COLUMN + offset).filter(|value| value.is_valid(0))
    }

    /// Returns the number of nulls in a column.
    pub(super) fn nulls(&self, column: usize) -> Option<i64> {
        let count = self.of_column(column, StatKind::NullCount)?;
        Some(count.as_primitive_opt::<Int64Type>()?.value(0))
    }

    /// Returns whether a column has a bound.
    pub(super) fn has_bounds(&self, column: usize) -> bool {
        self.of_column(column, StatKind::Min).is_some() || self.of_column(column, StatKind::Max).is_some()
    }

    /// Returns the first of these values that a bound of the column does not contain, in words.
    /// NaN counts only if the upper bound is known to include it.
    pub(super) fn outside(&self, column: usize, kind: StatKind, values: &ArrayRef) -> Result<Option<String>> {
        let Some(bound) = self.of_column(column, kind) else { return Ok(None) };
        let values = if kind == StatKind::Max && self.is_complete { Arc::clone(values) } else { without_nan(values) };
        if values.data_type() != bound.data_type() {
            return Ok(None);
        }
        let outside = match values.as_string_opt::<i32>().zip(bound.as_string_opt::<i32>()) {
            // Some writers leave out the trailing blanks of CHAR in statistics.
            Some((texts, limit)) if self.padded.get(column) == Some(&true) => {
                let limit = limit.value(0);
                let is_outside = |text: &str| match kind {
                    StatKind::Min => compare_padded(text, limit).is_lt(),
                    _ => compare_padded(text, limit).is_gt(),
                };
                texts.iter().map(|text| text.map(is_outside)).collect()
            }
            _ => {
                let limit = Scalar::new(Arc::clone(bound));
                if kind == StatKind::Min { lt(&values, &limit)? } else { gt(&values, &limit)? }
            }
        };
        let outside: BooleanArray = outside;
        let first = (0..outside.len()).find(|row| outside.is_valid(*row) && outside.value(*row));
        let Some(row) = first else { return Ok(None) };
        let (found, limit) = (printed(&values, row)?, printed(bound, 0)?);
        Ok(Some(match kind {
            StatKind::Min => format!("the log says that its least value is {limit}, but it has {found}"),
            _ => format!("the log says that its greatest value is {limit}, but it has {found}"),
        }))
    }
}

/// Compares strings as if blanks followed the shorter one.
fn compare_padded(one: &str, other: &str) -> Ordering {
    let length = one.len().max(other.len());
    let padded = |text: &str| text.bytes().chain(std::iter::repeat(b' ')).take(length).collect::<Vec<u8>>();
    padded(one).cmp(&padded(other))
}

/// Returns the values with null for NaN.
fn without_nan(values: &ArrayRef) -> ArrayRef {
    match values.data_type() {
        ArrowType::Float32 => {
            Arc::new(values.as_primitive::<Float32Type>().unary_opt::<_, Float32Type>(|value| (!value.is_nan()).then_some(value)))
        }
        ArrowType::Float64 => {
            Arc::new(values.as_primitive::<Float64Type>().unary_opt::<_, Float64Type>(|value| (!value.is_nan()).then_some(value)))
        }
        _ => Arc::clone(values),
    }
}

/// Returns a value for a message. Long ones are cut off.
fn printed(values: &ArrayRef, row: usize) -> Result<String> {
    let format = ArrayFormatter::try_new(values.as_ref(), &FormatOptions::new())?;
    Ok(format.value(row).to_string().chars().take(100).collect())
}
