//! The columns of a Delta table for an Iceberg schema. Each column keeps its id, so that readers
//! find it in files that were written before it was renamed or moved.

use lakebed_core::schema::field_metadata::COMMENT;
use lakebed_core::schema::mapping::FIELD_ID;
use lakebed_core::schema::{ArrayType, DataType, MapType, PrimitiveType, StructField, StructType};
use serde_json::Value as Json;

use crate::{Error, Result};

/// Returns the columns of an Iceberg schema, with their ids.
pub(super) fn columns_of(schema: &Json) -> Result<StructType> {
    struct_of(schema, "", false)
}

/// Returns a struct. `is_repeated` is true inside of lists and maps. Delta Spark does not write to
/// tables with NOT NULL there.
fn struct_of(json: &Json, place: &str, is_repeated: bool) -> Result<StructType> {
    let fields = json.get("fields").and_then(Json::as_array).ok_or_else(|| corrupt(place, "it has no list of fields"))?;
    let fields = fields.iter().map(|field| {
        let name = field.get("name").and_then(Json::as_str).ok_or_else(|| corrupt(place, "a field has no name"))?;
        let column = format!("{place}{name}");
        let id = field.get("id").and_then(Json::as_i64).and_then(|id| i32::try_from(id).ok());
        let id = id.ok_or_else(|| corrupt(&column, "it has no id"))?;
        if field.get("initial-default").is_some_and(|value| !value.is_null()) {
            return Err(Error::invalid_input(format!(
                "column {column}: rows that were written before this column have a default (initial-default), which a Delta table \
                 cannot have: rewrite the data files with Iceberg (rewrite_data_files), and drop the default"
            )));
        }
        let data_type = type_of(field.get("type").unwrap_or(&Json::Null), &column, is_repeated)?;
        let is_required = field.get("required").and_then(Json::as_bool).unwrap_or(false);
        let mut converted = StructField::new(name, data_type, !is_required || is_repeated);
        if let Some(comment) = field.get("doc").and_then(Json::as_str) {
            converted.metadata.insert(COMMENT.to_owned(), comment.into());
        }
        converted.metadata.insert(FIELD_ID.to_owned(), id.into());
        Ok(converted)
    });
    Ok(StructType { fields: fields.collect::<Result<_>>()? })
}

fn type_of(json: &Json, column: &str, is_repeated: bool) -> Result<DataType> {
    let text = match json {
        Json::String(text) => text.as_str(),
        other => other.get("type").and_then(Json::as_str).unwrap_or_default(),
    };
    let part = |key: &str, name: &str| type_of(json.get(key).unwrap_or(&Json::Null), &format!("{column}.{name}"), true);
    let is_optional = |key: &str| !json.get(key).and_then(Json::as_bool).unwrap_or(false);
    match text {
        "struct" => Ok(struct_of(json, &format!("{column}."), is_repeated)?.into()),
        "list" => Ok(ArrayType { element: part("element", "element")?, contains_null: is_optional("element-required") }.into()),
        "map" => Ok(MapType {
            key: part("key", "key")?,
            value: part("value", "value")?,
            value_contains_null: is_optional("value-required"),
        }
        .into()),
        text => primitive_of(text).map(DataType::Primitive).ok_or_else(|| {
            Error::invalid_input(format!(
                "column {column}: its type in Iceberg is {}, and Delta has no such type: drop the column, or change its type, with \
                 Iceberg",
                if text.is_empty() { json.to_string() } else { text.to_owned() }
            ))
        }),
    }
}

fn primitive_of(text: &str) -> Option<PrimitiveType> {
    Some(match text {
        "boolean" => PrimitiveType::Boolean,
        "int" => PrimitiveType::Integer,
        "long" => PrimitiveType::Long,
        "float" => PrimitiveType::Float,
        "double" => PrimitiveType::Double,
        "date" => PrimitiveType::Date,
        "timestamp" => PrimitiveType::TimestampNtz,
        "timestamptz" => PrimitiveType::Timestamp,
        "string" => PrimitiveType::String,
        "binary" => PrimitiveType::Binary,
        text if text.starts_with("fixed[") => PrimitiveType::Binary,
        text => {
            let (precision, scale) = text.strip_prefix("decimal(")?.strip_suffix(')')?.split_once(',')?;
            let (precision, scale) = (precision.trim().parse().ok()?, scale.trim().parse().ok()?);
            ((1..=38).contains(&precision) && scale <= precision).then_some(PrimitiveType::Decimal { precision, scale })?
        }
    })
}

fn corrupt(place: &str, what: &str) -> Error {
    Error::corrupt(format!("the Iceberg schema: column {}", place.trim_end_matches('.')), what)
}
