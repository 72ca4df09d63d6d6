//! The columns in which two schemas differ. A column with an id is found by it, so a renamed column
//! is not a dropped and an added one.

use lakebed_core::schema::mapping::FIELD_ID;
use lakebed_core::schema::{DataType, StructField, StructType};
use serde::Serialize;
use serde_json::Value;

/// The columns in which two schemas differ. A nested field is named by its path: `a.b`, `list.element.c`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct SchemaDifference {
    /// Columns that only the newer schema has, with its name for them.
    pub added: Vec<String>,
    /// Columns that only the older schema has, with its name for them.
    pub dropped: Vec<String>,
    /// The old and the new name of renamed columns.
    pub renamed: Vec<(String, String)>,
    /// Columns with another type: the new name, the old type and the new type.
    pub retyped: Vec<(String, String, String)>,
    /// Columns that may have nulls now, or may not any more: the new name, and whether they may.
    pub nullability: Vec<(String, bool)>,
}

impl SchemaDifference {
    /// Compares two schemas.
    pub fn of(old: &StructType, new: &StructType) -> Self {
        let mut found = Self::default();
        found.structs(old, new, "", "");
        found
    }

    /// Returns whether the schemas have the same columns.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn structs(&mut self, old: &StructType, new: &StructType, old_path: &str, new_path: &str) {
        for field in &old.fields {
            if same_field(field, new).is_none() {
                self.dropped.push(join(old_path, &field.name));
            }
        }
        for field in &new.fields {
            let path = join(new_path, &field.name);
            let Some(before) = same_field(field, old) else {
                self.added.push(path);
                continue;
            };
            let old_path = join(old_path, &before.name);
            if before.name != field.name {
                self.renamed.push((old_path.clone(), path.clone()));
            }
            if before.nullable != field.nullable {
                self.nullability.push((path.clone(), field.nullable));
            }
            self.types(&before.data_type, &field.data_type, &old_path, &path);
        }
    }

    fn types(&mut self, old: &DataType, new: &DataType, old_path: &str, path: &str) {
        let inner = |path: &str, part: &str| join(path, part);
        match (old, new) {
            (DataType::Struct(old), DataType::Struct(new)) => self.structs(old, new, old_path, path),
            (DataType::Array(old), DataType::Array(new)) => {
                self.types(&old.element, &new.element, &inner(old_path, "element"), &inner(path, "element"));
            }
            (DataType::Map(old), DataType::Map(new)) => {
                self.types(&old.key, &new.key, &inner(old_path, "key"), &inner(path, "key"));
                self.types(&old.value, &new.value, &inner(old_path, "value"), &inner(path, "value"));
            }
            _ if old == new => {}
            _ => self.retyped.push((path.to_owned(), type_name(old), type_name(new))),
        }
    }
}

/// Returns the same field of another schema: the field with the same id, else the field with the
/// same name.
fn same_field<'a>(field: &StructField, schema: &'a StructType) -> Option<&'a StructField> {
    let id = |field: &StructField| field.metadata.get(FIELD_ID).and_then(Value::as_i64);
    let Some(own) = id(field) else { return schema.field(&field.name) };
    let by_id = schema.fields.iter().find(|other| id(other) == Some(own));
    by_id.or_else(|| schema.field(&field.name).filter(|other| id(other).is_none()))
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// Returns the type as the log spells it.
fn type_name(data_type: &DataType) -> String {
    match data_type.to_json_value() {
        Value::String(name) => name,
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use lakebed_core::schema::parse;

    use super::*;

    fn schema(fields: &str) -> StructType {
        parse(&format!(r#"{{"type":"struct","fields":[{fields}]}}"#)).unwrap()
    }

    fn field(name: &str, of: &str, nullable: bool, id: Option<i64>) -> String {
        let of = if of.starts_with('{') { of.to_owned() } else { format!("{of:?}") };
        let id = id.map_or(String::new(), |id| format!(r#""delta.columnMapping.id":{id}"#));
        format!(r#"{{"name":"{name}","type":{of},"nullable":{nullable},"metadata":{{{id}}}}}"#)
    }

    #[test]
    fn schema_difference_finds_each_kind() {
        let inner = |of: &str| format!(r#"{{"type":"struct","fields":[{}]}}"#, field("x", of, true, None));
        let old = [field("a", "long", true, None), field("b", "integer", true, None), field("s", &inner("integer"), true, None)];
        let new = [field("c", "long", true, None), field("b", "long", false, None), field("s", &inner("long"), true, None)];
        let found = SchemaDifference::of(&schema(&old.join(",")), &schema(&new.join(",")));
        let expected = SchemaDifference {
            added: vec!["c".to_owned()],
            dropped: vec!["a".to_owned()],
            renamed: Vec::new(),
            retyped: [("b", "integer", "long"), ("s.x", "integer", "long")]
                .map(|(name, old, new)| (name.to_owned(), old.to_owned(), new.to_owned()))
                .to_vec(),
            nullability: vec![("b".to_owned(), false)],
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn schema_difference_finds_renamed_columns_by_id() {
        let old = [field("a", "long", true, Some(1)), field("b", "long", true, Some(2))];
        let new = [field("b", "long", true, Some(1)), field("a", "long", true, Some(3))];
        let found = SchemaDifference::of(&schema(&old.join(",")), &schema(&new.join(",")));
        let expected = SchemaDifference {
            added: vec!["a".to_owned()],
            dropped: vec!["b".to_owned()],
            renamed: vec![("a".to_owned(), "b".to_owned())],
            ..SchemaDifference::default()
        };
        assert_eq!(found, expected);
        assert!(SchemaDifference::of(&schema(&old[0]), &schema(&old[0])).is_empty());
    }
}
