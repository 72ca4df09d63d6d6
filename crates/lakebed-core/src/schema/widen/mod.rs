//! Type widening: the old types of a column that a new type may replace. PROTOCOL "Type Widening".
//!
//! [`is_widening`] returns whether a column of one primitive type may change to another.
//! [`check_type_changes`] refuses a table with other changes, and [`cast_up`] casts values of a
//! file to the type of the schema.

mod cast;

use serde_json::Value;

pub use cast::cast_up;

use super::json::parse_primitive_name;
use super::types::{ArrayType, DataType, MapType, PrimitiveType, StructField, StructType};
use crate::{Error, Result};

/// The key of a field's metadata that keeps the history of its type.
pub const TYPE_CHANGES: &str = "delta.typeChanges";

/// Returns whether a column of one type may become another without loss. Every type may stay
/// unchanged.
pub fn is_widening(from: PrimitiveType, to: PrimitiveType) -> bool {
    use PrimitiveType::{Byte, Date, Decimal, Double, Float, Integer, Long, Short, TimestampNtz};
    /// Returns the number of digits before the decimal point.
    fn whole(precision: u8, scale: u8) -> u8 {
        precision.saturating_sub(scale)
    }
    match (from, to) {
        (from, to) if from == to => true,
        (Byte, Short | Integer | Long | Double)
        | (Short, Integer | Long | Double)
        | (Integer, Long | Double)
        | (Float, Double)
        | (Date, TimestampNtz) => true,
        (Byte | Short | Integer, Decimal { precision, scale }) => whole(precision, scale) >= 10,
        (Long, Decimal { precision, scale }) => whole(precision, scale) >= 20,
        (Decimal { precision, scale }, Decimal { precision: wider, scale: finer }) => {
            finer >= scale && whole(wider, finer) >= whole(precision, scale)
        }
        _ => false,
    }
}

/// Refuses a schema with a type change in its history that lakebed does not support. The error
/// names the column.
pub fn check_type_changes(schema: &StructType) -> Result<()> {
    check_struct(schema, "")
}

/// Returns the fields that keep a history of their type, with their paths.
pub fn type_changes(schema: &StructType) -> Vec<(Vec<String>, StructField)> {
    let mut found = Vec::new();
    collect(schema, &[], &mut found);
    found
}

fn collect(fields: &StructType, above: &[String], found: &mut Vec<(Vec<String>, StructField)>) {
    for field in &fields.fields {
        let path = below(above, &field.name);
        if field.metadata.contains_key(TYPE_CHANGES) {
            found.push((path.clone(), field.clone()));
        }
        collect_below(&field.data_type, &path, found);
    }
}

fn collect_below(data_type: &DataType, path: &[String], found: &mut Vec<(Vec<String>, StructField)>) {
    match data_type {
        DataType::Primitive(_) => {}
        DataType::Struct(fields) => collect(fields, path, found),
        DataType::Array(array) => collect_below(&array.element, &below(path, "element"), found),
        DataType::Map(map) => {
            collect_below(&map.key, &below(path, "key"), found);
            collect_below(&map.value, &below(path, "value"), found);
        }
    }
}

fn below(path: &[String], name: &str) -> Vec<String> {
    path.iter().cloned().chain([name.to_owned()]).collect()
}

/// Returns the changes in the history of a field's type: the type before and after each.
pub fn steps(field: &StructField) -> Vec<(PrimitiveType, PrimitiveType)> {
    let Some(Value::Array(changes)) = field.metadata.get(TYPE_CHANGES) else { return Vec::new() };
    let named = |change: &Value, key: &str| change.get(key).and_then(Value::as_str).and_then(parse_primitive_name);
    changes.iter().filter_map(|change| Some((named(change, "fromType")?, named(change, "toType")?))).collect()
}

/// Returns the schema without the history of its types. Its files must have the types of the schema.
pub fn without_type_changes(schema: &StructType) -> StructType {
    let field = |field: &StructField| {
        let mut metadata = field.metadata.clone();
        metadata.remove(TYPE_CHANGES);
        StructField { metadata, data_type: type_without_changes(&field.data_type), ..field.clone() }
    };
    StructType { fields: schema.fields.iter().map(field).collect() }
}

fn type_without_changes(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Primitive(primitive) => (*primitive).into(),
        DataType::Struct(fields) => without_type_changes(fields).into(),
        DataType::Array(array) => {
            ArrayType { element: type_without_changes(&array.element), contains_null: array.contains_null }.into()
        }
        DataType::Map(map) => MapType {
            key: type_without_changes(&map.key),
            value: type_without_changes(&map.value),
            value_contains_null: map.value_contains_null,
        }
        .into(),
    }
}

fn check_struct(fields: &StructType, place: &str) -> Result<()> {
    for field in &fields.fields {
        let name = format!("{place}{}", field.name);
        if let Some(Value::Array(changes)) = field.metadata.get(TYPE_CHANGES) {
            for change in changes {
                check_change(change, &name)?;
            }
        }
        check_parts(&field.data_type, &name)?;
    }
    Ok(())
}

fn check_parts(data_type: &DataType, name: &str) -> Result<()> {
    match data_type {
        DataType::Primitive(_) => Ok(()),
        DataType::Struct(fields) => check_struct(fields, &format!("{name}.")),
        DataType::Array(array) => check_parts(&array.element, &format!("{name}.element")),
        DataType::Map(map) => {
            check_parts(&map.key, &format!("{name}.key"))?;
            check_parts(&map.value, &format!("{name}.value"))
        }
    }
}

fn check_change(change: &Value, column: &str) -> Result<()> {
    let named = |key: &str| change.get(key).and_then(Value::as_str);
    let (Some(from), Some(to)) = (named("fromType"), named("toType")) else {
        return Err(Error::corrupt(format!("schema: column {column}"), format!("{TYPE_CHANGES} holds {change}")));
    };
    match (parse_primitive_name(from), parse_primitive_name(to)) {
        (Some(from), Some(to)) if is_widening(from, to) => Ok(()),
        _ => {
            let message = format!(
                "schema: column {column}: its type was changed from {from} to {to}, and lakebed does not support this change"
            );
            Err(Error::unsupported(vec!["typeWidening".to_owned()], message))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::arbitrary::any_primitive;
    use super::super::parse;
    use super::*;

    fn primitive(name: &str) -> PrimitiveType {
        parse_primitive_name(name).unwrap()
    }

    #[test]
    fn widen_allows_exactly_the_protocols_changes() {
        let names = [
            "byte",
            "short",
            "integer",
            "long",
            "float",
            "double",
            "date",
            "timestamp_ntz",
            "timestamp",
            "string",
            "binary",
            "boolean",
            "decimal(9,0)",
            "decimal(10,0)",
            "decimal(12,2)",
            "decimal(11,2)",
            "decimal(20,0)",
            "decimal(22,2)",
            "decimal(38,18)",
        ];
        let mut widenings = String::new();
        for from in names {
            let to: Vec<&str> =
                names.into_iter().filter(|to| *to != from && is_widening(primitive(from), primitive(to))).collect();
            if !to.is_empty() {
                widenings.push_str(&format!("{from} > {}\n", to.join(" ")));
            }
        }
        assert_eq!(
            widenings,
            "byte > short integer long double decimal(10,0) decimal(12,2) decimal(20,0) decimal(22,2) decimal(38,18)\n\
             short > integer long double decimal(10,0) decimal(12,2) decimal(20,0) decimal(22,2) decimal(38,18)\n\
             integer > long double decimal(10,0) decimal(12,2) decimal(20,0) decimal(22,2) decimal(38,18)\n\
             long > decimal(20,0) decimal(22,2) decimal(38,18)\n\
             float > double\n\
             date > timestamp_ntz\n\
             decimal(9,0) > decimal(10,0) decimal(12,2) decimal(11,2) decimal(20,0) decimal(22,2) decimal(38,18)\n\
             decimal(10,0) > decimal(12,2) decimal(20,0) decimal(22,2) decimal(38,18)\n\
             decimal(12,2) > decimal(22,2) decimal(38,18)\n\
             decimal(11,2) > decimal(12,2) decimal(22,2) decimal(38,18)\n\
             decimal(20,0) > decimal(22,2) decimal(38,18)\n\
             decimal(22,2) > decimal(38,18)\n"
        );
    }

    fn schema_with_change(from: &str, to: &str) -> StructType {
        let inner = format!(
            r#"{{"name":"x","type":"long","metadata":{{"delta.typeChanges":[{{"tableVersion":1,"fromType":"{from}","toType":"{to}","fieldPath":"element"}}]}}}}"#
        );
        parse(&format!(
            r#"{{"type":"struct","fields":[{{"name":"a","type":{{"type":"array","elementType":{{"type":"struct","fields":[{inner}]}}}}}}]}}"#
        ))
        .unwrap()
    }

    #[test]
    fn read_unknown_type_change_names_the_column() {
        assert!(check_type_changes(&schema_with_change("integer", "long")).is_ok());
        for (from, to) in [("long", "integer"), ("integer", "complex"), ("string", "long")] {
            let error = check_type_changes(&schema_with_change(from, to)).unwrap_err();
            let expected = format!(
                "schema: column a.element.x: its type was changed from {from} to {to}, and lakebed does not support this change"
            );
            assert_eq!(error.message(), expected);
        }
    }

    #[test]
    fn a_history_without_types_is_corrupt() {
        let schema = parse(
            r#"{"type":"struct","fields":[{"name":"x","type":"long","metadata":{"delta.typeChanges":[{"fromType":"byte"}]}}]}"#,
        );
        let error = check_type_changes(&schema.unwrap()).unwrap_err();
        assert!(error.is_corrupt());
        assert_eq!(error.message(), r#"schema: column x: delta.typeChanges holds {"fromType":"byte"}"#);
    }

    proptest! {
        #[test]
        fn widening_is_an_order(a in any_primitive(), b in any_primitive(), c in any_primitive()) {
            prop_assert!(is_widening(a, a));
            prop_assert!(a == b || !(is_widening(a, b) && is_widening(b, a)));
            prop_assert!(!(is_widening(a, b) && is_widening(b, c)) || is_widening(a, c));
        }
    }
}
