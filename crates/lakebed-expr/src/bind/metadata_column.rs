//! The column `_metadata` in conditions. Its fields, such as `_metadata.row_id`, have the names
//! that Spark gives them. If a table has a column `_metadata`, the name means that column. Read
//! [`scan_schema`] first.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use lakebed_core::Result;
use lakebed_core::schema::StructType;

use super::schema::filter_schema;

/// The column with metadata of rows and files.
pub const METADATA_COLUMN: &str = "_metadata";

/// The fields of the column and their types.
const FIELDS: [(&str, DataType); 5] = [
    ("file_path", DataType::Utf8),
    ("file_size", DataType::Int64),
    ("row_index", DataType::Int64),
    ("row_id", DataType::Int64),
    ("row_commit_version", DataType::Int64),
];

/// Returns the schema of conditions on a table: its columns, and `_metadata` if the text names it.
pub fn scan_schema(table: &StructType, text: &str) -> Result<Schema> {
    let schema = filter_schema(table)?;
    if has_own(table) || !text.to_ascii_lowercase().contains(METADATA_COLUMN) {
        return Ok(schema);
    }
    let fields = FIELDS.map(|(name, data_type)| Field::new(name, data_type, true));
    let of_rows = Field::new(METADATA_COLUMN, DataType::Struct(fields.into_iter().collect()), true);
    Ok(Schema::new(schema.fields().iter().cloned().chain([Arc::new(of_rows)]).collect::<Vec<_>>()))
}

/// Returns the field of `_metadata` that a path names, if it does not lead to a column of the
/// table. The inner `None` means that the path names `_metadata` itself.
pub fn metadata_field<'p>(table: &StructType, path: &'p [String]) -> Option<Option<&'p str>> {
    let (first, fields) = path.split_first()?;
    (first == METADATA_COLUMN && !has_own(table)).then(|| fields.first().map(String::as_str))
}

/// Whether the table has a column `_metadata`.
fn has_own(table: &StructType) -> bool {
    table.fields.iter().any(|field| field.name.eq_ignore_ascii_case(METADATA_COLUMN))
}
