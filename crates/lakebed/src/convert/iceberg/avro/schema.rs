//! The schema of an Avro file. Logical types, defaults and documentation are left out, because the
//! caller knows the meaning of each field by its id.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value as Json;

/// The key under which Iceberg keeps the id of a field in an Avro schema.
const FIELD_ID: &str = "field-id";

/// A type of Avro.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Schema {
    Null,
    Boolean,
    Int,
    Long,
    Float,
    Double,
    Bytes,
    String,
    Fixed(usize),
    /// The symbols of an enum are left out.
    Enum,
    Union(Arc<[Schema]>),
    Array(Arc<Schema>),
    Map(Arc<Schema>),
    Record(Arc<[Field]>),
}

/// A field of a record.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Field {
    /// The id that Iceberg gave to the field.
    pub(super) id: Option<i32>,
    pub(super) schema: Schema,
}

impl Schema {
    /// Parses a schema. A name can be used only after the end of its definition, so no schema
    /// contains itself.
    pub(super) fn parse(json: &Json) -> Result<Self, &'static str> {
        parse(json, &mut HashMap::new())
    }
}

fn parse(json: &Json, named: &mut HashMap<String, Schema>) -> Result<Schema, &'static str> {
    match json {
        Json::String(name) => match primitive(name) {
            Some(schema) => Ok(schema),
            None => named.get(name).cloned().ok_or("its schema uses a type that it does not define"),
        },
        Json::Array(members) => Ok(Schema::Union(members.iter().map(|member| parse(member, named)).collect::<Result<_, _>>()?)),
        Json::Object(definition) => {
            let part = |key: &str| definition.get(key).ok_or("its schema has a type without all parts");
            let schema = match part("type")? {
                Json::String(kind) => match kind.as_str() {
                    "record" | "error" => {
                        let fields = part("fields")?.as_array().ok_or("its schema has a record without a list of fields")?;
                        Schema::Record(fields.iter().map(|field| parse_field(field, named)).collect::<Result<_, _>>()?)
                    }
                    "array" => Schema::Array(Arc::new(parse(part("items")?, named)?)),
                    "map" => Schema::Map(Arc::new(parse(part("values")?, named)?)),
                    "enum" => Schema::Enum,
                    "fixed" => {
                        let size = part("size")?.as_u64().and_then(|size| usize::try_from(size).ok());
                        Schema::Fixed(size.ok_or("its schema has a fixed type without a size")?)
                    }
                    other => parse(&Json::from(other), named)?,
                },
                inner => parse(inner, named)?,
            };
            if let Some(name) = definition.get("name").and_then(Json::as_str) {
                named.insert(name.to_owned(), schema.clone());
                if let Some(space) = definition.get("namespace").and_then(Json::as_str) {
                    named.insert(format!("{space}.{name}"), schema.clone());
                }
            }
            Ok(schema)
        }
        _ => Err("its schema has a type that is neither a name nor a definition"),
    }
}

fn parse_field(json: &Json, named: &mut HashMap<String, Schema>) -> Result<Field, &'static str> {
    let schema = parse(json.get("type").ok_or("its schema has a field without a type")?, named)?;
    let id = json.get(FIELD_ID).and_then(Json::as_i64).and_then(|id| i32::try_from(id).ok());
    Ok(Field { id, schema })
}

fn primitive(name: &str) -> Option<Schema> {
    Some(match name {
        "null" => Schema::Null,
        "boolean" => Schema::Boolean,
        "int" => Schema::Int,
        "long" => Schema::Long,
        "float" => Schema::Float,
        "double" => Schema::Double,
        "bytes" => Schema::Bytes,
        "string" => Schema::String,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, expected: Result<Schema, &'static str>) {
        assert_eq!(Schema::parse(&serde_json::from_str(json).unwrap()), expected);
    }

    #[test]
    fn named_types_are_used_again() {
        let pair = Schema::Record([Field { id: Some(7), schema: Schema::Fixed(2) }].into());
        check(
            r#"{"type": "record", "name": "r", "fields": [
                {"name": "a", "field-id": 1, "type": ["null", {"type": "array", "items":
                    {"type": "record", "name": "p", "fields": [{"name": "x", "field-id": 7, "type": {"type": "fixed", "name": "f", "size": 2}}]}}]},
                {"name": "b", "type": "p"},
                {"name": "c", "field-id": 3, "type": {"type": "int", "logicalType": "date"}}]}"#,
            Ok(Schema::Record(
                [
                    Field { id: Some(1), schema: Schema::Union([Schema::Null, Schema::Array(Arc::new(pair.clone()))].into()) },
                    Field { id: None, schema: pair },
                    Field { id: Some(3), schema: Schema::Int },
                ]
                .into(),
            )),
        );
    }

    #[test]
    fn schema_within_itself_is_refused() {
        check(
            r#"{"type": "record", "name": "r", "fields": [{"name": "a", "type": "r"}]}"#,
            Err("its schema uses a type that it does not define"),
        );
        check(r#"{"type": "fixed", "name": "f", "size": -1}"#, Err("its schema has a fixed type without a size"));
        check("3", Err("its schema has a type that is neither a name nor a definition"));
    }
}
