//! Bounds of row ids and the other fields of `_metadata`. They are not in the statistics and follow
//! from the log and from footers.
//!
//! They are requested together with statistics, under a path that no column has. [`metadata_field`]
//! recognizes such a path. Code that does not know these fields leaves them null, which proves
//! nothing.

use lakebed_core::schema::{PrimitiveType, StructType};
use lakebed_core::stats::{StatColumn, StatKind};

use crate::bind::metadata_column;

/// The prefix of their paths. Tables have no columns with such names.
const PLACE: &str = "\u{0}rows";

/// Returns the statistic for a path that names a field of `_metadata`, if it does.
pub(super) fn stat_of_rows(kind: StatKind, path: &[String], schema: &StructType) -> Option<StatColumn> {
    let name = metadata_column::metadata_field(schema, path)??;
    let data_type = match (kind, name) {
        (StatKind::Min | StatKind::Max, "file_path") => PrimitiveType::String,
        _ => PrimitiveType::Long,
    };
    Some(StatColumn { kind, path: vec![PLACE.to_owned(), name.to_owned()], data_type })
}

/// Returns the name of the metadata field that a statistic describes, if it is not a column of the
/// table.
pub fn metadata_field(column: &StatColumn) -> Option<&str> {
    match column.path.as_slice() {
        [place, name] if place == PLACE => Some(name),
        _ => None,
    }
}
