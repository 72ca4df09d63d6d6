//! The JSON form of schemas, which is `schemaString` in the log. [`parse`] reads it, and
//! [`StructType::to_json`] writes it as Delta Spark does.

use std::collections::HashSet;
use std::fmt;

use serde_json::{Map, Value, json};

use super::char_varchar::{CHAR_VARCHAR, with_lengths};
use super::types::{ArrayType, DataType, FieldMetadata, MapType, PrimitiveType, StructField, StructType};
use crate::{Error, Result};

/// Parses a table's schema.
///
/// Spellings that Spark still reads are accepted too: bare `decimal`, `null` for void,
/// `timestamp_ltz`, intervals of narrower fields, user-defined types (read as their stored type),
/// absent `nullable` (true) and absent `metadata` (none). For an unknown type, the error names the
/// column. Types may nest as deep as the JSON parser goes, which is 128 brackets: 42 structs, or
/// 127 arrays.
pub fn parse(json: &str) -> Result<StructType> {
    let value: Value = serde_json::from_str(json).map_err(not_json)?;
    match parse_type(&value, &SchemaPath::Root)? {
        DataType::Struct(fields) => Ok(fields),
        _ => Err(Error::corrupt("schema", "is not a struct")),
    }
}

/// Returns the error for a string that is not JSON. The parser reports its depth limit only in the
/// text of its message.
fn not_json(error: serde_json::Error) -> Error {
    if error.to_string().starts_with("recursion limit exceeded") {
        let path = format!("at character {}", error.column());
        let message = format!("schema: {path} its types are nested deeper than lakebed reads (42 structs in one another)");
        return Error::unsupported(vec!["deeply nested types".to_owned()], message).with_source(error);
    }
    Error::corrupt("schema", "is not the JSON of a schema").with_source(error)
}

impl StructType {
    /// Returns the JSON form, with keys in Delta Spark's order.
    pub fn to_json(&self) -> String {
        struct_to_value(self).to_string()
    }
}

impl DataType {
    /// Returns the JSON form: a string, or an object for types with parts.
    pub fn to_json_value(&self) -> Value {
        match self {
            Self::Primitive(primitive) => Value::String(primitive.to_string()),
            Self::Struct(fields) => struct_to_value(fields),
            Self::Array(array) => json!({
                "type": "array",
                "elementType": array.element.to_json_value(),
                "containsNull": array.contains_null,
            }),
            Self::Map(map) => json!({
                "type": "map",
                "keyType": map.key.to_json_value(),
                "valueType": map.value.to_json_value(),
                "valueContainsNull": map.value_contains_null,
            }),
        }
    }
}

impl fmt::Display for PrimitiveType {
    /// Writes the string that names the type in a schema.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::String | Self::Char { .. } => "string",
            Self::Long => "long",
            Self::Integer => "integer",
            Self::Short => "short",
            Self::Byte => "byte",
            Self::Float => "float",
            Self::Double => "double",
            Self::Boolean => "boolean",
            Self::Binary => "binary",
            Self::Date => "date",
            Self::Timestamp => "timestamp",
            Self::TimestampNtz => "timestamp_ntz",
            Self::Decimal { precision, scale } => return write!(f, "decimal({precision},{scale})"),
            Self::Variant => "variant",
            Self::Void => "void",
            Self::YearMonthInterval => "interval year to month",
            Self::DayTimeInterval => "interval day to second",
        })
    }
}

impl fmt::Display for DataType {
    /// Writes the type in one line, for messages.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Primitive(primitive) => write!(f, "{primitive}"),
            Self::Array(array) => write!(f, "array<{}>", array.element),
            Self::Map(map) => write!(f, "map<{}, {}>", map.key, map.value),
            Self::Struct(fields) => {
                f.write_str("struct<")?;
                for (path, field) in fields.fields.iter().enumerate() {
                    let comma = if path == 0 { "" } else { ", " };
                    write!(f, "{comma}{}: {}", field.name, field.data_type)?;
                }
                f.write_str(">")
            }
        }
    }
}

fn struct_to_value(fields: &StructType) -> Value {
    let fields = fields.fields.iter().map(StructField::to_json_value);
    json!({ "type": "struct", "fields": fields.collect::<Vec<_>>() })
}

impl StructField {
    /// Returns the JSON form, with keys in Delta Spark's order.
    pub fn to_json_value(&self) -> Value {
        json!({
            "name": self.name,
            "type": self.data_type.to_json_value(),
            "nullable": self.nullable,
            "metadata": self.metadata,
        })
    }
}

/// The path of a type in the schema, for errors. Its text is built only when an error is printed.
enum SchemaPath<'a> {
    Root,
    Inside(&'a SchemaPath<'a>, &'a str),
}

impl fmt::Display for SchemaPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_str("schema"),
            Self::Inside(SchemaPath::Root, name) => write!(f, "schema: column {name}"),
            Self::Inside(parent, name) => write!(f, "{parent}.{name}"),
        }
    }
}

fn parse_type(value: &Value, path: &SchemaPath) -> Result<DataType> {
    match value {
        Value::String(name) => parse_primitive_name(name).map(DataType::Primitive).ok_or_else(|| unknown_type(name, path)),
        Value::Object(object) => match text(object, "type", path)? {
            "struct" => Ok(DataType::Struct(parse_struct(object, path)?)),
            "array" => Ok(DataType::from(ArrayType {
                element: parse_type(part(object, "elementType", path)?, &SchemaPath::Inside(path, "element"))?,
                contains_null: flag(object, "containsNull", path)?,
            })),
            "map" => Ok(DataType::from(MapType {
                key: parse_type(part(object, "keyType", path)?, &SchemaPath::Inside(path, "key"))?,
                value: parse_type(part(object, "valueType", path)?, &SchemaPath::Inside(path, "value"))?,
                value_contains_null: flag(object, "valueContainsNull", path)?,
            })),
            "udt" => parse_type(part(object, "sqlType", path)?, path),
            other => Err(unknown_type(other, path)),
        },
        other => Err(Error::corrupt(path.to_string(), format!("{other} is not a type"))),
    }
}

fn parse_struct(object: &Map<String, Value>, path: &SchemaPath) -> Result<StructType> {
    let Value::Array(list) = part(object, "fields", path)? else {
        return Err(Error::corrupt(path.to_string(), "the fields of a struct are not a list"));
    };
    let mut seen = HashSet::with_capacity(list.len());
    let mut fields = Vec::with_capacity(list.len());
    for value in list {
        let field = parse_field(value, path)?;
        if !seen.insert(field.name.to_lowercase()) {
            let message = "appears more than once (names that differ only in case are the same)";
            return Err(Error::corrupt(SchemaPath::Inside(path, &field.name).to_string(), message));
        }
        fields.push(field);
    }
    Ok(StructType { fields })
}

fn parse_field(value: &Value, path: &SchemaPath) -> Result<StructField> {
    let Value::Object(object) = value else {
        return Err(Error::corrupt(path.to_string(), "a field of a struct is not an object"));
    };
    let name = text(object, "name", path)?;
    let path = SchemaPath::Inside(path, name);
    let type_value = part(object, "type", &path)?;
    let data_type = parse_type(type_value, &path)?;
    let mut metadata = match object.get("metadata") {
        None | Some(Value::Null) => FieldMetadata::new(),
        Some(Value::Object(metadata)) => metadata.clone(),
        Some(_) => return Err(Error::corrupt(path.to_string(), "its metadata is not an object")),
    };
    if let Value::String(spelling) = type_value
        && is_bounded_text(spelling)
        && !metadata.contains_key(CHAR_VARCHAR)
    {
        metadata.insert(CHAR_VARCHAR.to_owned(), type_value.clone());
    }
    let data_type = match metadata.get(CHAR_VARCHAR) {
        Some(Value::String(words)) => with_lengths(data_type, words).map_err(|error| error.within(&path))?,
        _ => data_type,
    };
    Ok(StructField { name: name.to_owned(), data_type, nullable: flag(object, "nullable", &path)?, metadata })
}

/// Returns the primitive of this spelling.
pub(super) fn parse_primitive_name(name: &str) -> Option<PrimitiveType> {
    Some(match name {
        "string" => PrimitiveType::String,
        "long" => PrimitiveType::Long,
        "integer" => PrimitiveType::Integer,
        "short" => PrimitiveType::Short,
        "byte" => PrimitiveType::Byte,
        "float" => PrimitiveType::Float,
        "double" => PrimitiveType::Double,
        "boolean" => PrimitiveType::Boolean,
        "binary" => PrimitiveType::Binary,
        "date" => PrimitiveType::Date,
        "timestamp" | "timestamp_ltz" => PrimitiveType::Timestamp,
        "timestamp_ntz" => PrimitiveType::TimestampNtz,
        "decimal" => PrimitiveType::Decimal { precision: 10, scale: 0 },
        "variant" => PrimitiveType::Variant,
        "void" | "null" => PrimitiveType::Void,
        "interval year" | "interval month" | "interval year to month" => PrimitiveType::YearMonthInterval,
        "interval day"
        | "interval hour"
        | "interval minute"
        | "interval second"
        | "interval day to hour"
        | "interval day to minute"
        | "interval day to second"
        | "interval hour to minute"
        | "interval hour to second"
        | "interval minute to second" => PrimitiveType::DayTimeInterval,
        _ if is_bounded_text(name) => PrimitiveType::String,
        _ => return parse_decimal(name),
    })
}

/// Parses `decimal(p,s)`, in which spaces are allowed.
fn parse_decimal(name: &str) -> Option<PrimitiveType> {
    let (precision, scale) = name.strip_prefix("decimal(")?.strip_suffix(')')?.split_once(',')?;
    let precision = precision.trim().parse().ok().filter(|precision| (1..=38).contains(precision))?;
    let scale = scale.trim().parse().ok().filter(|scale| *scale <= precision)?;
    Some(PrimitiveType::Decimal { precision, scale })
}

/// Returns whether the name is `char(n)` or `varchar(n)`, a string of bounded length.
fn is_bounded_text(name: &str) -> bool {
    let inner = name.strip_prefix("char(").or_else(|| name.strip_prefix("varchar(")).and_then(|rest| rest.strip_suffix(')'));
    inner.is_some_and(|length| length.trim().parse::<u32>().is_ok())
}

fn unknown_type(name: &str, path: &SchemaPath) -> Error {
    let message = format!("{path}: its type {name:?} is not one that lakebed knows");
    Error::unsupported(vec![format!("type {name}")], message)
}

fn part<'a>(object: &'a Map<String, Value>, key: &str, path: &SchemaPath) -> Result<&'a Value> {
    object.get(key).ok_or_else(|| Error::corrupt(path.to_string(), format!("{key:?} is missing")))
}

fn text<'a>(object: &'a Map<String, Value>, key: &str, path: &SchemaPath) -> Result<&'a str> {
    part(object, key, path)?.as_str().ok_or_else(|| Error::corrupt(path.to_string(), format!("{key:?} is not a string")))
}

/// Returns a flag about nulls. If it is absent, nulls are allowed.
fn flag(object: &Map<String, Value>, key: &str, path: &SchemaPath) -> Result<bool> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(true),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(Error::corrupt(path.to_string(), format!("{key:?} is neither true nor false"))),
    }
}

#[cfg(test)]
mod tests;
