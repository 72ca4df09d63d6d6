//! The fields of `_metadata` in conditions, such as `_metadata.row_id`, under the names that Spark has for them. A table that has a column
//! `_metadata` keeps that name for it. Read [`scan_schema`] first.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use lakebed_core::Result;
use lakebed_core::schema::StructType;

use super::schema::filter_schema;

/// The column whose fields tell about rows.
pub const METADATA_COLUMN: &str = "_metadata";

/// Its fields and their types.
const FIELDS: [(&str, DataType); 5] = [
    ("file_path", DataType::Utf8),
    ("file_size", DataType::Int64),
    ("row_index", DataType::Int64),
    ("row_id", DataType::Int64),
    ("row_commit_version", DataType::Int64),
];

/// The schema of the conditions on a table: its columns, and `_metadata` if the text names it.
pub fn scan_schema(table: &StructType, text: &str) -> Result<Schema> {
    let schema = filter_schema(table)?;
    if has_own(table) || !text.to_ascii_lowercase().contains(METADATA_COLUMN) {
        return Ok(schema);
    }
    let fields = FIELDS.map(|(name, data_type)| Field::new(name, data_type, true));
    let of_rows = Field::new(METADATA_COLUMN, DataType::Struct(fields.into_iter().collect()), true);
    Ok(Schema::new(schema.fields().iter().cloned().chain([Arc::new(of_rows)]).collect::<Vec<_>>()))
}

/// What the path of a condition asks of rows, if it does not lead to a column of the table: nothing if it asks for all at once.
pub fn metadata_field<'p>(table: &StructType, path: &'p [String]) -> Option<Option<&'p str>> {
    let (first, fields) = path.split_first()?;
    (first == METADATA_COLUMN && !has_own(table)).then(|| fields.first().map(String::as_str))
}

/// Whether the table has a column of that name.
fn has_own(table: &StructType) -> bool {
    table.fields.iter().any(|field| field.name.eq_ignore_ascii_case(METADATA_COLUMN))
}
