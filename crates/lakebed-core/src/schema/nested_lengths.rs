//! Keeps the lengths of CHAR and VARCHAR strings with their fields while the fields inside a column
//! are renamed, dropped, added, moved or widened.
//!
//! The metadata of a whole column spells its type with all lengths (see `char_varchar`). So before a
//! change [`spread`] gives each field its own part of the spelling. The part goes where the field
//! goes, and [`gather`] spells the type again.

use super::char_varchar::{CHAR_VARCHAR, parts, spelled_name, text_spelling};
use super::types::{DataType, PrimitiveType, StructField};

/// The metadata key under which a field keeps its part between [`spread`] and [`gather`]. No other
/// key begins with this character.
const PART: &str = "\u{0}lengths";

/// Gives each field inside a column its part of the spelling.
pub fn spread(column: &mut StructField) {
    if let Some(words) = column.metadata.remove(CHAR_VARCHAR) {
        spread_field(column, words.as_str().unwrap_or_default());
    }
}

/// Spells the type of a column from the parts of its fields. A column without lengths gets no
/// spelling.
pub fn gather(column: &mut StructField) {
    let mut has_lengths = false;
    let spelling = gather_field(column, &mut has_lengths);
    if has_lengths {
        column.metadata.insert(CHAR_VARCHAR.to_owned(), spelling.into());
    }
}

fn spread_field(field: &mut StructField, words: &str) {
    spread_type(&mut field.data_type, words);
    field.metadata.insert(PART.to_owned(), words.into());
}

fn spread_type(data_type: &mut DataType, words: &str) {
    let mut parts = parts(data_type, words).into_iter();
    match data_type {
        DataType::Primitive(_) => {}
        DataType::Struct(fields) => {
            fields.fields.iter_mut().zip(parts).for_each(|(field, words)| spread_field(field, words));
        }
        DataType::Array(array) => spread_type(&mut array.element, parts.next().unwrap_or_default()),
        DataType::Map(map) => {
            spread_type(&mut map.key, parts.next().unwrap_or_default());
            spread_type(&mut map.value, parts.next().unwrap_or_default());
        }
    }
}

fn gather_field(field: &mut StructField, has_lengths: &mut bool) -> String {
    let words = field.metadata.remove(PART);
    gather_type(&mut field.data_type, words.as_ref().and_then(|words| words.as_str()).unwrap_or_default(), has_lengths)
}

fn gather_type(data_type: &mut DataType, words: &str, has_lengths: &mut bool) -> String {
    let mut parts = parts(data_type, words).into_iter();
    match data_type {
        DataType::Primitive(PrimitiveType::String | PrimitiveType::Char { .. }) => match text_spelling(words) {
            Some(spelling) => {
                *has_lengths = true;
                spelling
            }
            None => "string".to_owned(),
        },
        DataType::Primitive(primitive) => sql_name(*primitive),
        DataType::Struct(fields) => {
            let fields = fields.fields.iter_mut();
            let spelled = fields.map(|field| {
                let spelling = gather_field(field, has_lengths);
                format!("{}:{spelling}", spelled_name(&field.name))
            });
            format!("struct<{}>", spelled.collect::<Vec<_>>().join(","))
        }
        DataType::Array(array) => {
            format!("array<{}>", gather_type(&mut array.element, parts.next().unwrap_or_default(), has_lengths))
        }
        DataType::Map(map) => {
            let key = gather_type(&mut map.key, parts.next().unwrap_or_default(), has_lengths);
            let value = gather_type(&mut map.value, parts.next().unwrap_or_default(), has_lengths);
            format!("map<{key},{value}>")
        }
    }
}

/// Returns the name of a type without parts as SQL spells it.
fn sql_name(primitive: PrimitiveType) -> String {
    match primitive {
        PrimitiveType::Byte => "tinyint".to_owned(),
        PrimitiveType::Short => "smallint".to_owned(),
        PrimitiveType::Integer => "int".to_owned(),
        PrimitiveType::Long => "bigint".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::StructType;
    use super::*;
    use crate::kit::schema::{array_of, field, field_with, map_of, schema, struct_of};

    const WORDS: &str = "map<char(2),array<struct<`a b`:varchar(3),n:int,c:char(4)>>>";

    fn column(words: &str) -> StructField {
        let fields = struct_of(&[field("a b", "string"), field("n", "long"), field("c", "string")]);
        let column = field_with("m", &map_of("string", &array_of(&fields)), &format!("\"{CHAR_VARCHAR}\":\"{words}\""));
        schema(&[column]).fields.remove(0)
    }

    fn fields(column: &mut StructField) -> &mut Vec<StructField> {
        match &mut column.data_type {
            DataType::Map(map) => match &mut map.value {
                DataType::Array(array) => match &mut array.element {
                    DataType::Struct(StructType { fields }) => fields,
                    other => panic!("{other}"),
                },
                other => panic!("{other}"),
            },
            other => panic!("{other}"),
        }
    }

    /// Checks the spelling after a change of the fields inside. `None` is no spelling.
    #[track_caller]
    fn check(change: impl FnOnce(&mut Vec<StructField>), expected: Option<&str>) {
        let mut column = column(WORDS);
        spread(&mut column);
        change(fields(&mut column));
        gather(&mut column);
        assert_eq!(column.metadata.get(CHAR_VARCHAR).and_then(|words| words.as_str()), expected);
        assert!(fields(&mut column).iter().all(|field| field.metadata.is_empty()));
    }

    #[test]
    fn lengths_go_where_their_fields_go() {
        check(|_| {}, Some("map<char(2),array<struct<`a b`:varchar(3),n:bigint,c:char(4)>>>"));
        check(|fields| "x".clone_into(&mut fields[0].name), Some("map<char(2),array<struct<x:varchar(3),n:bigint,c:char(4)>>>"));
        check(|fields| drop(fields.remove(0)), Some("map<char(2),array<struct<n:bigint,c:char(4)>>>"));
        check(|fields| fields.reverse(), Some("map<char(2),array<struct<c:char(4),n:bigint,`a b`:varchar(3)>>>"));
        let mut added = StructField::new("d", PrimitiveType::String, true);
        added.metadata.insert(CHAR_VARCHAR.to_owned(), "varchar(7)".into());
        spread(&mut added);
        check(
            |fields| fields.insert(1, added),
            Some("map<char(2),array<struct<`a b`:varchar(3),d:varchar(7),n:bigint,c:char(4)>>>"),
        );
    }

    #[test]
    fn column_without_lengths_left_has_no_spelling() {
        let mut column = column("map<string,array<struct<`a b`:varchar(3),n:int,c:string>>>");
        spread(&mut column);
        fields(&mut column).remove(0);
        gather(&mut column);
        assert!(column.metadata.is_empty());
    }
}
