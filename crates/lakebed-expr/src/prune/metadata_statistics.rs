//! Bounds of row ids and the other fields of `_metadata`. No statistics hold them; they follow from the log and from footers.
//!
//! They stand among the wanted statistics under a path that no column has, and [`metadata_field`] tells them apart. Code that does not know
//! them leaves them null, which proves nothing.

use lakebed_core::schema::{PrimitiveType, StructType};
use lakebed_core::stats::{StatColumn, StatKind};

use crate::bind::metadata_column;

/// What their paths begin with. Tables have no columns of such names.
const PLACE: &str = "\u{0}rows";

/// The statistic of what a path asks of rows, if it does.
pub(super) fn stat_of_rows(kind: StatKind, path: &[String], schema: &StructType) -> Option<StatColumn> {
    let name = metadata_column::metadata_field(schema, path)??;
    let data_type = match (kind, name) {
        (StatKind::Min | StatKind::Max, "file_path") => PrimitiveType::String,
        _ => PrimitiveType::Long,
    };
    Some(StatColumn { kind, path: vec![PLACE.to_owned(), name.to_owned()], data_type })
}

/// The name of what a statistic is about, if that is no column of the table.
pub fn metadata_field(column: &StatColumn) -> Option<&str> {
    match column.path.as_slice() {
        [place, name] if place == PLACE => Some(name),
        _ => None,
    }
}
