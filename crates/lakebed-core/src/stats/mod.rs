//! Statistics of data files. Readers get the requested statistics as Arrow arrays, with one row for
//! each file.
//!
//! An action has statistics as a JSON string. A checkpoint may have them as a struct
//! (`stats_parsed`), too or instead. [`from_json`] and [`from_struct`] give the same arrays for
//! either, and [`struct_to_json`] writes the JSON if there is only the struct. This module does not
//! decide what the arrays mean for a predicate. Read [`StatColumn`] first.
//!
//! A statistic that is absent, null or invalid becomes null, which proves nothing about the file.
//! Broken statistics of a writer may cost time, but they never cost rows. For the same reason,
//! bounds are widened where the log keeps less precision than the data has:
//! - Timestamps are cut off at milliseconds in the log, so a [`StatKind::Max`] is the last
//!   microsecond that is cut off to it: 999 µs later. Written with an offset that was itself cut
//!   off at minutes (local mean time), both bounds give way by 59 s.
//! - A decimal of more than 15 digits that may have come out of a 64-bit float, as delta-rs writes
//!   them, is widened by the error of the float.
//! - A zero is −0.0 as a minimum and 0.0 as a maximum of floats, for writers do not tell them
//!   apart. A minimum of NaN is null.
//! - Of a double column that was once a float, old files have bounds like `1.1`, written for the
//!   float 1.1, which is above the double 1.1. So a bound of doubles is moved to the nearest float
//!   if that lies outwards.
//!
//! A bound from here is therefore no value of the file, even where [`StatKind::TightBounds`] is
//! true.
//!
//! Writers begin with [`StatsPlan`], which says what statistics a table's files have, and
//! [`StatsCollector`], which collects them.

mod bound;
mod collect;
mod columns;
mod complete;
mod from_struct;
mod json;
mod leaf;
mod number;
mod paths;
mod scan;
#[cfg(test)]
mod tests;
mod time;
mod to_json;

use arrow_schema::DataType as ArrowType;

pub use collect::{FileStats, StatsCollector};
pub use columns::{IndexedColumn, IndexedKind, StatsPlan};
pub(crate) use complete::are_complete_in;
pub use complete::{COMPLETE, COMPLETE_TAG};
pub use from_struct::from_struct;
pub use json::{from_json, from_json_as_written};
pub use to_json::struct_to_json;

use crate::schema::{PrimitiveType, arrow::primitive_to_arrow};

/// A statistic of a file, or of one of its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StatKind {
    /// How many rows the file has, deleted ones included.
    NumRecords,
    /// How many nulls a column has.
    NullCount,
    /// A lower bound of a column.
    Min,
    /// An upper bound of a column.
    Max,
    /// Whether the bounds are values that the file still has. True where statistics do not say so.
    TightBounds,
}

/// One requested statistic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatColumn {
    /// The kind of the statistic.
    pub kind: StatKind,
    /// The column: its physical name, and those of the fields below it. Empty for statistics of the
    /// file.
    pub path: Vec<String>,
    /// The column's current type. Bounds have this type in Arrow. It has no meaning for other
    /// kinds.
    pub data_type: PrimitiveType,
}

impl StatColumn {
    /// Returns the type of the array that [`from_json`] and [`from_struct`] give: Int64 for counts,
    /// Boolean for [`StatKind::TightBounds`].
    pub fn arrow_type(&self) -> ArrowType {
        match self.kind {
            StatKind::NumRecords | StatKind::NullCount => ArrowType::Int64,
            StatKind::TightBounds => ArrowType::Boolean,
            StatKind::Min | StatKind::Max => primitive_to_arrow(self.data_type).unwrap_or(ArrowType::Null),
        }
    }

    /// Returns the names that lead to the statistic, in the JSON and in the struct.
    fn names(&self) -> impl Iterator<Item = &str> {
        let (root, path) = match self.kind {
            StatKind::NumRecords => ("numRecords", &[][..]),
            StatKind::TightBounds => ("tightBounds", &[][..]),
            StatKind::NullCount => ("nullCount", &self.path[..]),
            StatKind::Min => ("minValues", &self.path[..]),
            StatKind::Max => ("maxValues", &self.path[..]),
        };
        std::iter::once(root).chain(path.iter().map(String::as_str))
    }
}
