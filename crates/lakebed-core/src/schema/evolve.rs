//! Schema evolution: schemas grow with the data that is written, by new columns and fields and by
//! wider types.
//!
//! Read [`merge`] first. An existing column keeps its position, its metadata and its nullability.

use serde_json::{Value, json};

use super::assign::is_assignable;
use super::mapping::{FIELD_ID, MappingMode, NESTED_IDS, PHYSICAL_NAME};
use super::nested_lengths::{gather, spread};
use super::types::{ArrayType, DataType, FieldMetadata, MapType, PrimitiveType, StructField, StructType};
use super::widen::{TYPE_CHANGES, is_widening};

/// The ways in which a schema may grow.
#[derive(Debug, Clone, Copy, Default)]
pub struct MergeOptions {
    /// Whether types may become wider, which the table must allow.
    pub widen: bool,
}

/// Returns the table's schema with all columns and fields of the data that it lacks. Types that are
/// not compatible stay as they are. A comparison of the data with the result finds them.
pub fn merge(table: &StructType, data: &StructType, options: MergeOptions) -> StructType {
    let mut spread_out = table.clone();
    spread_out.fields.iter_mut().for_each(spread);
    let mut merged = merge_structs(&spread_out, data, options);
    for (field, old) in merged.fields.iter_mut().zip(&table.fields) {
        gather(field);
        if field.data_type == old.data_type {
            field.clone_from(old);
        }
    }
    merged
}

fn merge_structs(table: &StructType, data: &StructType, options: MergeOptions) -> StructType {
    let mut fields: Vec<StructField> = Vec::with_capacity(table.fields.len());
    for field in &table.fields {
        fields.push(match data.field(&field.name) {
            Some(given) => merge_field(field, &given.data_type, options),
            None => field.clone(),
        });
    }
    let new = data.fields.iter().filter(|given| table.field(&given.name).is_none());
    fields.extend(new.map(|given| StructField { data_type: nullable(&given.data_type), nullable: true, ..given.clone() }));
    StructType { fields }
}

fn merge_field(field: &StructField, data: &DataType, options: MergeOptions) -> StructField {
    let mut changes = Vec::new();
    let data_type = merge_type(&field.data_type, data, "", options, &mut changes);
    let mut metadata = field.metadata.clone();
    if !changes.is_empty() {
        let Value::Array(history) = metadata.entry(TYPE_CHANGES).or_insert_with(|| json!([])) else { return field.clone() };
        history.extend(changes);
    }
    StructField { data_type, metadata, ..field.clone() }
}

/// Merges two types. `path` leads from the nearest field to the type, as the history of types
/// requires.
fn merge_type(table: &DataType, data: &DataType, path: &str, options: MergeOptions, changes: &mut Vec<Value>) -> DataType {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match (table, data) {
        (DataType::Struct(table), DataType::Struct(data)) => merge_structs(table, data, options).into(),
        (DataType::Array(table), DataType::Array(data)) => ArrayType {
            element: merge_type(&table.element, &data.element, &below("element"), options, changes),
            contains_null: table.contains_null,
        }
        .into(),
        (DataType::Map(table), DataType::Map(data)) => MapType {
            key: merge_type(&table.key, &data.key, &below("key"), options, changes),
            value: merge_type(&table.value, &data.value, &below("value"), options, changes),
            value_contains_null: table.value_contains_null,
        }
        .into(),
        (DataType::Primitive(PrimitiveType::Void), data) => nullable(data),
        (DataType::Primitive(from), DataType::Primitive(to)) if options.widen && is_wider(*from, *to) => {
            let mut change = json!({ "toType": to.to_string(), "fromType": from.to_string() });
            if !path.is_empty() {
                change["fieldPath"] = path.into();
            }
            changes.push(change);
            DataType::Primitive(*to)
        }
        (table, _) => table.clone(),
    }
}

/// Returns whether a column has to become wider for such data. A column of whole numbers does not
/// become a column of fractions automatically.
fn is_wider(from: PrimitiveType, to: PrimitiveType) -> bool {
    let changes_kind = matches!(
        (from, to),
        (
            PrimitiveType::Byte | PrimitiveType::Short | PrimitiveType::Integer | PrimitiveType::Long,
            PrimitiveType::Double | PrimitiveType::Decimal { .. }
        ) | (PrimitiveType::Date, PrimitiveType::TimestampNtz)
    );
    from != to && is_widening(from, to) && !is_widening(to, from) && !changes_kind && is_assignable(from, to)
}

/// Returns the type with nulls allowed everywhere except in keys. A new column has no values in old
/// files.
fn nullable(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Primitive(primitive) => (*primitive).into(),
        DataType::Struct(fields) => {
            let fields = fields.fields.iter();
            let nullable =
                |field: &StructField| StructField { data_type: nullable(&field.data_type), nullable: true, ..field.clone() };
            StructType { fields: fields.map(nullable).collect() }.into()
        }
        DataType::Array(array) => ArrayType { element: nullable(&array.element), contains_null: true }.into(),
        DataType::Map(map) => MapType { key: map.key.clone(), value: nullable(&map.value), value_contains_null: true }.into(),
    }
}

/// Gives physical names and field ids to fields that have none. PROTOCOL "Writer Requirements for
/// Column Mapping".
#[derive(Debug)]
pub struct Mapping<N> {
    /// The highest id given so far.
    pub max_column_id: i64,
    /// Makes a physical name that no other column has. Without it, the first physical names are the
    /// logical ones.
    pub new_name: Option<N>,
    /// Whether elements, keys and values get ids too, as Iceberg requires.
    pub nested_ids: bool,
}

impl<N: FnMut() -> String> Mapping<N> {
    /// Returns the schema with names and ids everywhere. Existing names and ids are kept.
    pub fn complete(&mut self, schema: &StructType, mode: MappingMode) -> StructType {
        if mode == MappingMode::None {
            return schema.clone();
        }
        self.max_column_id = self.max_column_id.max(highest_id(schema));
        self.complete_struct(schema)
    }

    fn complete_struct(&mut self, schema: &StructType) -> StructType {
        StructType { fields: schema.fields.iter().map(|field| self.complete_field(field)).collect() }
    }

    fn complete_field(&mut self, field: &StructField) -> StructField {
        let mut metadata = field.metadata.clone();
        if !metadata.contains_key(FIELD_ID) {
            metadata.insert(FIELD_ID.to_owned(), self.next_id().into());
        }
        if !metadata.contains_key(PHYSICAL_NAME) {
            let name = self.new_name.as_mut().map_or_else(|| field.name.clone(), |new_name| new_name());
            metadata.insert(PHYSICAL_NAME.to_owned(), name.into());
        }
        let data_type = self.complete_type(&field.data_type);
        let mut field = StructField { data_type, metadata, ..field.clone() };
        if self.nested_ids {
            self.complete_nested(&mut field);
        }
        field
    }

    fn complete_type(&mut self, data_type: &DataType) -> DataType {
        match data_type {
            DataType::Primitive(primitive) => (*primitive).into(),
            DataType::Struct(fields) => self.complete_struct(fields).into(),
            DataType::Array(array) => {
                ArrayType { element: self.complete_type(&array.element), contains_null: array.contains_null }.into()
            }
            DataType::Map(map) => MapType {
                key: self.complete_type(&map.key),
                value: self.complete_type(&map.value),
                value_contains_null: map.value_contains_null,
            }
            .into(),
        }
    }

    /// Gives ids to elements, keys and values. The metadata of the field around them holds these
    /// ids.
    fn complete_nested(&mut self, field: &mut StructField) {
        let physical = field.metadata.get(PHYSICAL_NAME).and_then(Value::as_str).unwrap_or(&field.name).to_owned();
        let mut paths = Vec::new();
        nested_paths(&field.data_type, &physical, &mut paths);
        if paths.is_empty() {
            return;
        }
        let mut ids = match field.metadata.get(NESTED_IDS) {
            Some(Value::Object(ids)) => ids.clone(),
            _ => FieldMetadata::new(),
        };
        for path in paths {
            if !ids.contains_key(&path) {
                ids.insert(path, self.next_id().into());
            }
        }
        field.metadata.insert(NESTED_IDS.to_owned(), Value::Object(ids));
    }

    fn next_id(&mut self) -> i64 {
        self.max_column_id += 1;
        self.max_column_id
    }
}

/// Collects the paths to elements, keys and values below a field, up to the next fields.
pub fn nested_paths(data_type: &DataType, path: &str, paths: &mut Vec<String>) {
    let parts: Vec<(&str, &DataType)> = match data_type {
        DataType::Primitive(_) | DataType::Struct(_) => return,
        DataType::Array(array) => vec![("element", &array.element)],
        DataType::Map(map) => vec![("key", &map.key), ("value", &map.value)],
    };
    for (name, part) in parts {
        let path = format!("{path}.{name}");
        paths.push(path.clone());
        nested_paths(part, &path, paths);
    }
}

fn highest_id(schema: &StructType) -> i64 {
    let of_field = |field: &StructField| {
        let own = field.metadata.get(FIELD_ID).and_then(Value::as_i64).unwrap_or(0);
        let nested = field.metadata.get(NESTED_IDS).and_then(Value::as_object);
        let nested = nested.into_iter().flat_map(|ids| ids.values()).filter_map(Value::as_i64).max().unwrap_or(0);
        own.max(nested).max(highest_id_in(&field.data_type))
    };
    schema.fields.iter().map(of_field).max().unwrap_or(0)
}

fn highest_id_in(data_type: &DataType) -> i64 {
    match data_type {
        DataType::Primitive(_) => 0,
        DataType::Struct(fields) => highest_id(fields),
        DataType::Array(array) => highest_id_in(&array.element),
        DataType::Map(map) => highest_id_in(&map.key).max(highest_id_in(&map.value)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::arbitrary::any_struct;
    use super::super::assign::compare;
    use super::*;
    use crate::kit::schema::schema_of;

    #[test]
    fn merge_puts_new_nullable_columns_last() {
        let table = schema_of(r#"{"name":"id","type":"long","nullable":false,"metadata":{"comment":"key"}}"#);
        let data = schema_of(
            r#"{"name":"New","type":{"type":"array","elementType":"date","containsNull":false},"nullable":false,"metadata":{}},
               {"name":"ID","type":"long","nullable":true,"metadata":{}}"#,
        );
        let expected = schema_of(
            r#"{"name":"id","type":"long","nullable":false,"metadata":{"comment":"key"}},
               {"name":"New","type":{"type":"array","elementType":"date","containsNull":true},"nullable":true,"metadata":{}}"#,
        );
        assert_eq!(merge(&table, &data, MergeOptions::default()), expected);
    }

    #[test]
    fn types_become_wider_where_that_is_allowed() {
        let table = schema_of(
            r#"{"name":"a","type":"integer","nullable":true,"metadata":{"delta.typeChanges":[{"toType":"integer","fromType":"short"}]}},
               {"name":"l","type":{"type":"array","elementType":"float","containsNull":true},"nullable":true,"metadata":{}},
               {"name":"v","type":"void","nullable":true,"metadata":{}}"#,
        );
        let data = schema_of(
            r#"{"name":"a","type":"long","nullable":true,"metadata":{}},
               {"name":"l","type":{"type":"array","elementType":"double","containsNull":true},"nullable":true,"metadata":{}},
               {"name":"v","type":"date","nullable":true,"metadata":{}}"#,
        );
        let widened = schema_of(
            r#"{"name":"a","type":"long","nullable":true,"metadata":{"delta.typeChanges":[{"toType":"integer","fromType":"short"},{"toType":"long","fromType":"integer"}]}},
               {"name":"l","type":{"type":"array","elementType":"double","containsNull":true},"nullable":true,"metadata":{"delta.typeChanges":[{"toType":"double","fromType":"float","fieldPath":"element"}]}},
               {"name":"v","type":"date","nullable":true,"metadata":{}}"#,
        );
        assert_eq!(merge(&table, &data, MergeOptions { widen: true }), widened);
        let kept = merge(&table, &data, MergeOptions { widen: false });
        assert_eq!(kept.fields[..2], table.fields[..2]);
        assert_eq!(kept.fields[2], widened.fields[2]);
    }

    #[test]
    fn merge_spells_lengths_with_new_fields() {
        let with_words = |fields: &str, words: &str| {
            schema_of(&format!(
                r#"{{"name":"s","type":{{"type":"struct","fields":[{fields}]}},"nullable":true,
                    "metadata":{{"__CHAR_VARCHAR_TYPE_STRING":"{words}"}}}}"#
            ))
        };
        let (x, z) = (
            r#"{"name":"x","type":"string","nullable":true,"metadata":{}}"#,
            r#"{"name":"z","type":"long","nullable":true,"metadata":{}}"#,
        );
        let table = with_words(x, "STRUCT<x: char(3)>");
        let data =
            schema_of(&format!(r#"{{"name":"s","type":{{"type":"struct","fields":[{z}]}},"nullable":true,"metadata":{{}}}}"#));
        let expected = with_words(&format!("{x},{z}"), "struct<x:char(3),z:bigint>");
        assert_eq!(merge(&table, &data, MergeOptions::default()), expected);
        assert_eq!(merge(&table, &table, MergeOptions::default()), table, "a column that does not grow keeps its spelling");
    }

    #[test]
    fn merge_never_widens_integers_to_fractions() {
        let table = schema_of(r#"{"name":"a","type":"integer","nullable":true,"metadata":{}}"#);
        for wider in ["double", "decimal(12,2)"] {
            let data = schema_of(&format!(r#"{{"name":"a","type":"{wider}","nullable":true,"metadata":{{}}}}"#));
            assert_eq!(merge(&table, &data, MergeOptions { widen: true }), table);
        }
    }

    #[test]
    fn names_and_ids_are_given_once() {
        let mut names = (1..).map(|number| format!("col-{number}"));
        let mut mapping = Mapping { max_column_id: 0, new_name: Some(|| names.next().unwrap()), nested_ids: true };
        let table = schema_of(
            r#"{"name":"a","type":"long","nullable":true,"metadata":{"delta.columnMapping.id":7,"delta.columnMapping.physicalName":"p"}},
               {"name":"m","type":{"type":"map","keyType":"string","valueType":{"type":"array","elementType":{"type":"struct","fields":[{"name":"x","type":"long","nullable":true,"metadata":{}}]},"containsNull":true},"valueContainsNull":true},"nullable":true,"metadata":{}}"#,
        );
        let completed = mapping.complete(&table, MappingMode::Name);
        let expected = schema_of(
            r#"{"name":"a","type":"long","nullable":true,"metadata":{"delta.columnMapping.id":7,"delta.columnMapping.physicalName":"p"}},
               {"name":"m","type":{"type":"map","keyType":"string","valueType":{"type":"array","elementType":{"type":"struct","fields":[{"name":"x","type":"long","nullable":true,"metadata":{"delta.columnMapping.id":9,"delta.columnMapping.physicalName":"col-2"}}]},"containsNull":true},"valueContainsNull":true},"nullable":true,
                "metadata":{"delta.columnMapping.id":8,"delta.columnMapping.physicalName":"col-1","delta.columnMapping.nested.ids":{"col-1.key":10,"col-1.value":11,"col-1.value.element":12}}}"#,
        );
        assert_eq!(completed, expected);
        assert_eq!(mapping.complete(&completed, MappingMode::Name), expected);
        assert_eq!(mapping.max_column_id, 12);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn merging_leaves_no_column_out(table in any_struct(), data in any_struct()) {
            let merged = merge(&table, &data, MergeOptions { widen: true });
            let unknown = compare(&merged, &data, |_| true);
            prop_assert!(!unknown.iter().any(|difference| matches!(difference.kind, super::super::assign::DifferenceKind::NotInTable(_))));
            let again = merge(&merged, &data, MergeOptions { widen: true });
            prop_assert_eq!(again, merged.clone());
            prop_assert_eq!(merge(&table, &table, MergeOptions { widen: true }), table);
        }
    }
}
