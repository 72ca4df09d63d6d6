//! The schemas that expressions are bound to. Read [`filter_schema`] first.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, Schema};
use lakebed_core::Result;
use lakebed_core::schema::arrow::schema_to_arrow;
use lakebed_core::schema::{DataType as DeltaType, PrimitiveType, StructType};

/// The key in a field's metadata that holds the number of characters of a CHAR column.
const LENGTH: &str = "lakebed.char.length";

/// Returns the schema for filters on a table. It holds the lengths of CHAR columns.
pub fn filter_schema(table: &StructType) -> Result<Schema> {
    let arrow = schema_to_arrow(table)?;
    let with_length = |(field, of_table): (&Field, &DeltaType)| match of_table {
        DeltaType::Primitive(PrimitiveType::Char { length }) => {
            field.clone().with_metadata([(LENGTH.to_owned(), length.to_string())].into())
        }
        _ => field.clone(),
    };
    let types = table.fields.iter().map(|field| &field.data_type);
    let fields = arrow.fields().iter().map(AsRef::as_ref).zip(types).map(with_length).collect::<Fields>();
    Ok(Schema::new(fields))
}

/// Copies the length of a CHAR column to another field.
fn keep_length(field: Field, of: &Field) -> Field {
    match of.metadata().get_key_value(LENGTH) {
        Some((key, length)) => field.with_metadata([(key.clone(), length.clone())].into()),
        None => field,
    }
}

/// The number of characters of a CHAR column.
pub(crate) fn char_length(field: &Field) -> Option<u32> {
    field.metadata().get(LENGTH)?.parse().ok()
}

/// Returns the schema that filters are bound to. Every field is nullable. A file may hold nulls
/// although its table declares none, and a filter must not lose such rows.
pub fn nullable(schema: &Schema) -> Schema {
    let keep_length = |field: &FieldRef| Arc::new(keep_length(nullable_field(field).as_ref().clone(), field));
    Schema::new(schema.fields().iter().map(keep_length).collect::<Fields>())
}

fn nullable_field(field: &FieldRef) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(nullable_field).collect()),
        other => other.clone(),
    };
    Arc::new(Field::new(field.name(), data_type, true))
}
