//! The statistics of a data file, collected from the batches that are written to it. Read
//! [`StatsCollector`] first.

mod bounds;
mod cut;
mod dictionary;
mod json;
mod span;
mod string_bounds;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::NullBuffer;
use arrow_schema::Fields;

use self::bounds::Bounds;
use self::dictionary::Dictionary;
use self::json::write_bound;
use super::columns::{IndexedColumn, IndexedKind, StatsPlan};
use crate::json_string::write_string;
use crate::{Error, Result};

/// Collects the statistics of one data file. The result is what Delta Spark would write for the
/// same rows.
///
/// Bounds are the least and the greatest value. Strings and timestamps are truncated. NaN is
/// greater than all numbers. There is no bound if it would be NaN or a year outside 1 to 9999. A
/// maximum of −0.0 is written as 0.0, because readers that distinguish the two would lose rows.
pub struct StatsCollector {
    plan: Arc<StatsPlan>,
    columns: Vec<Column>,
    rows: i64,
}

/// The statistics of a data file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStats {
    /// The number of rows in the file.
    pub num_records: i64,
    /// All statistics, as `add.stats` has them.
    pub json: String,
}

/// The state that is collected for an [`IndexedColumn`].
enum Column {
    Leaf(Leaf),
    Struct(Vec<Column>),
}

struct Leaf {
    nulls: i64,
    bounds: Option<Bounds>,
    /// The dictionary of the last batch, if it came with one.
    dictionary: Option<Dictionary>,
}

/// The kinds of statistics, which are written one after the other for all leaves.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Statistic {
    Min,
    Max,
    NullCount,
}

impl StatsCollector {
    /// Creates a collector for a file without rows.
    pub fn new(plan: Arc<StatsPlan>) -> Self {
        let columns = new_columns(plan.columns(), plan.string_prefix_length());
        Self { plan, columns, rows: 0 }
    }

    /// Adds the rows of a batch. The columns must have physical names and the types of
    /// [`type_to_arrow`](crate::schema::arrow::type_to_arrow). Strings may also be views, decimals
    /// of few digits may have 64 bits, and any column may be a dictionary of such values with
    /// 32-bit keys. A missing column or field is null in every row.
    pub fn update(&mut self, batch: &RecordBatch) -> Result<()> {
        let rows =
            StructRows { fields: batch.schema_ref().fields(), arrays: batch.columns(), nulls: None, count: batch.num_rows() };
        rows.update(&mut self.columns, self.plan.columns())?;
        self.rows += batch.num_rows() as i64;
        Ok(())
    }

    /// Returns the statistics of all rows so far.
    pub fn finish(self) -> FileStats {
        let indexed = self.plan.columns();
        let mut json = format!("{{\"numRecords\":{}", self.rows);
        for (name, statistic) in
            [("minValues", Statistic::Min), ("maxValues", Statistic::Max), ("nullCount", Statistic::NullCount)]
        {
            if indexed.iter().any(|column| statistic.is_of(column)) {
                json.push_str(&format!(",\"{name}\":"));
                statistic.write_fields(&self.columns, indexed, &mut json);
            }
        }
        if self.plan.tight_bounds() {
            json.push_str(",\"tightBounds\":true");
        }
        json.push('}');
        FileStats { num_records: self.rows, json }
    }
}

fn new_columns(indexed: &[IndexedColumn], string_prefix_length: u32) -> Vec<Column> {
    let column = |indexed: &IndexedColumn| match &indexed.kind {
        IndexedKind::Struct(fields) => Column::Struct(new_columns(fields, string_prefix_length)),
        IndexedKind::Leaf(bounds) => {
            let bounds = bounds.and_then(|primitive| Bounds::new(primitive, string_prefix_length));
            Column::Leaf(Leaf { nulls: 0, bounds, dictionary: None })
        }
    };
    indexed.iter().map(column).collect()
}

/// The rows of a batch, or of a struct in it.
struct StructRows<'b> {
    fields: &'b Fields,
    arrays: &'b [ArrayRef],
    /// The rows in which a struct around them is null.
    nulls: Option<NullBuffer>,
    count: usize,
}

impl StructRows<'_> {
    fn update(&self, columns: &mut [Column], indexed: &[IndexedColumn]) -> Result<()> {
        let mut from = 0;
        for (column, indexed) in columns.iter_mut().zip(indexed) {
            let found = self.find(&indexed.name, from);
            let Some((place, array)) = found.and_then(|place| Some((place, self.arrays.get(place)?))) else {
                column.add_nulls(self.count);
                continue;
            };
            from = place + 1;
            // These nulls include those of an array without a buffer for them, and those among the
            // values of a dictionary.
            let nulls = NullBuffer::union(self.nulls.as_ref(), array.logical_nulls().as_ref());
            let updated = match (column, &indexed.kind) {
                (Column::Struct(columns), IndexedKind::Struct(fields)) => self.within(array, nulls)?.update(columns, fields),
                (Column::Leaf(leaf), _) => leaf.update(array, nulls.as_ref()),
                _ => Err(Error::internal("the plan of statistics does not match the data")),
            };
            updated.map_err(|error| error.within(format!("column {}", indexed.name)))?;
        }
        Ok(())
    }

    /// Returns the position of the field with this name. Fields usually come in the order of the
    /// plan, so the search begins after the last one found.
    fn find(&self, name: &str, from: usize) -> Option<usize> {
        let is_it = |place: &usize| self.fields.get(*place).is_some_and(|field| field.name() == name);
        (from..self.fields.len()).chain(0..from).find(is_it)
    }

    fn within<'s>(&self, array: &'s ArrayRef, nulls: Option<NullBuffer>) -> Result<StructRows<'s>> {
        let inner = array.as_struct_opt().ok_or_else(|| Error::internal(format!("{} is not a struct", array.data_type())))?;
        Ok(StructRows { fields: inner.fields(), arrays: inner.columns(), nulls, count: self.count })
    }
}

impl Column {
    fn add_nulls(&mut self, count: usize) {
        match self {
            Self::Leaf(leaf) => leaf.nulls += count as i64,
            Self::Struct(fields) => fields.iter_mut().for_each(|field| field.add_nulls(count)),
        }
    }
}

impl Leaf {
    fn update(&mut self, array: &ArrayRef, nulls: Option<&NullBuffer>) -> Result<()> {
        self.nulls += nulls.map_or(0, NullBuffer::null_count) as i64;
        let Some(bounds) = &mut self.bounds else { return Ok(()) };
        match array.as_dictionary_opt::<Int32Type>() {
            Some(array) => bounds.update(&Dictionary::give_new(&mut self.dictionary, array, nulls)?, None),
            None => bounds.update(array, nulls),
        }
    }
}

impl Statistic {
    /// Returns whether the column, or a field of it, has this statistic.
    fn is_of(self, indexed: &IndexedColumn) -> bool {
        self == Self::NullCount || indexed.has_bounds()
    }

    /// Writes an object with this statistic of each column. An empty struct is written too, as in
    /// Delta Spark.
    fn write_fields(self, columns: &[Column], indexed: &[IndexedColumn], out: &mut String) {
        out.push('{');
        let mut comma = false;
        for (column, indexed) in columns.iter().zip(indexed).filter(|(_, indexed)| self.is_of(indexed)) {
            let before = out.len();
            if comma {
                out.push(',');
            }
            write_string(out, &indexed.name);
            out.push(':');
            match self.write_column(column, indexed, out) {
                Some(()) => comma = true,
                None => out.truncate(before),
            }
        }
        out.push('}');
    }

    /// Writes this statistic of one column. Returns `None` if there is nothing to write. A part of
    /// the text may have been written in this case.
    fn write_column(self, column: &Column, indexed: &IndexedColumn, out: &mut String) -> Option<()> {
        match (column, &indexed.kind) {
            (Column::Struct(columns), IndexedKind::Struct(fields)) => self.write_fields(columns, fields, out),
            (Column::Leaf(leaf), _) => match self {
                Self::Min => write_bound(&leaf.bounds.as_ref()?.low()?, out)?,
                Self::Max => write_bound(&leaf.bounds.as_ref()?.high()?, out)?,
                Self::NullCount => out.push_str(&leaf.nulls.to_string()),
            },
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests;
