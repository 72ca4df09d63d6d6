//! Statistics of data files. Readers get the requested statistics as Arrow arrays, with one row for
//! each file.
//!
//! An action has statistics as a JSON string. A checkpoint may also have them as a struct
//! (`stats_parsed`), or only as a struct. [`from_json`] and [`from_struct`] return the same arrays
//! for either form, and [`struct_to_json`] writes the JSON if there is only the struct. This module
//! does not evaluate predicates on the arrays. Read [`StatColumn`] first.
//!
//! A statistic that is absent, null or invalid becomes null, which proves nothing about the file.
//! Broken statistics of a writer may cost time, but they never cost rows. For the same reason,
//! bounds are widened if the log keeps less precision than the data has:
//! - Timestamps are truncated to milliseconds in the log. So a [`StatKind::Max`] is the last
//!   microsecond that is truncated to the same millisecond, which is 999 µs later. If a timestamp
//!   is written with an offset that was itself truncated to minutes (local mean time), both bounds
//!   are moved outwards by 59 s.
//! - A decimal of more than 15 digits may come from a 64-bit float, as delta-rs writes it. Such a
//!   decimal is widened by the error of the float.
//! - For floats, a minimum of zero is −0.0 and a maximum of zero is 0.0, because writers do not
//!   distinguish them. A minimum of NaN is null.
//! - If a double column was a float column before, old files have bounds like `1.1`. This was
//!   written for the float 1.1, which is greater than the double 1.1. So a bound of doubles is
//!   moved to the nearest float if that lies outwards.
//!
//! A bound from this module may therefore not be a value of the file, even if
//! [`StatKind::TightBounds`] is true.
//!
//! Writers begin with [`StatsPlan`], which decides the statistics of a table's files, and
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
pub use columns::{IndexedColumn, IndexedKind, StatsPlan, parse_stats_columns};
pub(crate) use complete::are_complete_in;
pub use complete::{COMPLETE, COMPLETE_TAG};
pub use from_struct::from_struct;
pub use json::{from_json, from_json_as_written};
pub use to_json::struct_to_json;

use crate::schema::{PrimitiveType, arrow::primitive_to_arrow};

/// A statistic of a file, or of one of its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StatKind {
    /// The number of rows in the file, including deleted ones.
    NumRecords,
    /// The number of nulls in a column.
    NullCount,
    /// A lower bound of a column.
    Min,
    /// An upper bound of a column.
    Max,
    /// Whether the bounds are values that the file still has. It is true if statistics do not have
    /// it.
    TightBounds,
}

/// One requested statistic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatColumn {
    /// The kind of the statistic.
    pub kind: StatKind,
    /// The physical names on the path to the column. The path is empty for statistics of the file.
    pub path: Vec<String>,
    /// The column's current type. Bounds have this type in Arrow. It has no meaning for other
    /// kinds.
    pub data_type: PrimitiveType,
}

impl StatColumn {
    /// Returns the number of rows of a file.
    pub fn num_records() -> Self {
        Self { kind: StatKind::NumRecords, path: Vec::new(), data_type: PrimitiveType::Long }
    }

    /// Returns the type of the array that [`from_json`] and [`from_struct`] return. It is Int64 for
    /// counts, and Boolean for [`StatKind::TightBounds`].
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
