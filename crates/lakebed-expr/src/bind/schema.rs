//! The schemas that expressions are bound to. Read [`filter_schema`] first.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, Schema};
use lakebed_core::Result;
use lakebed_core::schema::arrow::schema_to_arrow;
use lakebed_core::schema::{DataType as DeltaType, PrimitiveType, StructType};

/// Under which key a field of a filter's schema keeps its number of characters.
const LENGTH: &str = "lakebed.char.length";

/// The schema for which filters on a table are parsed: with the lengths of its CHAR columns.
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

/// The field with the length of another.
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

/// The schema that filters are bound to: every field is nullable. A file may hold nulls where its table
/// says that it does not, and a filter must not lose such rows.
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
