//! CHAR(n): strings that are padded with blanks to n characters when they are read, as in Spark.
//!
//! In the log such a column is a `string`. The metadata of the column has a type in Spark's
//! spelling under [`CHAR_VARCHAR`]. This type marks the CHAR and VARCHAR strings of the column,
//! including those inside nested types. VARCHAR matters only to writers. Read [`with_lengths`]
//! first, then [`pad`].

use std::borrow::Cow;
use std::iter::repeat_n;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{Array, ArrayRef, StringArray};

use super::types::{ArrayType, DataType, MapType, PrimitiveType, StructField, StructType};
use crate::{Error, Result};

/// The metadata key under which Spark records the lengths of a column's strings.
pub const CHAR_VARCHAR: &str = "__CHAR_VARCHAR_TYPE_STRING";

/// The greatest length. Longer ones are refused, because a few files would fill the memory with
/// blanks.
const MOST_CHARACTERS: u32 = u16::MAX as u32;

/// Returns the type with the lengths that Spark's spelling of it gives to the strings inside. Parts
/// that the spelling does not match stay as they are.
pub(super) fn with_lengths(data_type: DataType, words: &str) -> Result<DataType> {
    let words_of_parts = parts(&data_type, words);
    let mut parts = words_of_parts.into_iter();
    Ok(match data_type {
        DataType::Primitive(PrimitiveType::String) => match char_length(words) {
            Some(length) if length > MOST_CHARACTERS => {
                let message = format!("char({length}) is too long: lakebed pads strings to at most {MOST_CHARACTERS} characters");
                return Err(Error::unsupported(vec![format!("char({length})")], message));
            }
            Some(length) => PrimitiveType::Char { length }.into(),
            None => DataType::Primitive(PrimitiveType::String),
        },
        DataType::Primitive(other) => other.into(),
        DataType::Struct(fields) => {
            let with_length = |(field, words): (StructField, &str)| {
                Ok(StructField { data_type: with_lengths(field.data_type, words)?, ..field })
            };
            StructType { fields: fields.fields.into_iter().zip(parts).map(with_length).collect::<Result<_>>()? }.into()
        }
        DataType::Array(array) => {
            let element = with_lengths(array.element, parts.next().unwrap_or_default())?;
            ArrayType { element, contains_null: array.contains_null }.into()
        }
        DataType::Map(map) => MapType {
            key: with_lengths(map.key, parts.next().unwrap_or_default())?,
            value: with_lengths(map.value, parts.next().unwrap_or_default())?,
            value_contains_null: map.value_contains_null,
        }
        .into(),
    })
}

/// Returns the spelling of each part of a type: of fields, of elements, of keys and values. It is
/// empty for parts that the spelling does not have.
///
/// Fields are matched by their position, because Spark renames a field and leaves the spelling as it
/// is. They are matched by name if the spelling has more or fewer fields.
pub(super) fn parts<'w>(data_type: &DataType, words: &'w str) -> Vec<&'w str> {
    match data_type {
        DataType::Primitive(_) => Vec::new(),
        DataType::Struct(fields) => {
            let words = inside(words, "struct");
            let named: Vec<(Cow<'_, str>, &str)> = words.iter().filter_map(|words| name_and_type(words)).collect();
            if named.len() == fields.fields.len() {
                return named.into_iter().map(|(_, words)| words).collect();
            }
            let of_field = |field: &StructField| {
                let found = named.iter().find(|(name, _)| name.to_lowercase() == field.name.to_lowercase());
                found.map_or("", |(_, words)| *words)
            };
            fields.fields.iter().map(of_field).collect()
        }
        DataType::Array(_) => vec![inside(words, "array").first().copied().unwrap_or_default()],
        DataType::Map(_) => match inside(words, "map").as_slice() {
            [key, value] => vec![*key, *value],
            _ => vec![""; 2],
        },
    }
}

/// The length limits of the strings of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Limit {
    /// The greatest number of characters. Blanks at the end do not count.
    Characters(u32),
    /// The limits of fields, by their positions.
    Fields(Vec<(usize, Limit)>),
    /// The limit of elements.
    Element(Box<Limit>),
    /// The limits of keys and values.
    Entries(Option<Box<Limit>>, Option<Box<Limit>>),
}

/// Returns the length limits of a column's strings from Spark's spelling of its type, or `None` if
/// there are no limits.
pub fn limits(data_type: &DataType, words: &str) -> Option<Limit> {
    match data_type {
        DataType::Primitive(PrimitiveType::String | PrimitiveType::Char { .. }) => {
            length_of(words, "varchar").or_else(|| length_of(words, "char")).map(Limit::Characters)
        }
        DataType::Primitive(_) => None,
        DataType::Struct(fields) => {
            let words = fields.fields.iter().zip(parts(data_type, words)).enumerate();
            let limits = words.filter_map(|(place, (field, words))| Some((place, limits(&field.data_type, words)?)));
            Some(Limit::Fields(limits.collect())).filter(|limits| *limits != Limit::Fields(Vec::new()))
        }
        DataType::Array(array) => {
            let words = parts(data_type, words);
            Some(Limit::Element(Box::new(limits(&array.element, words.first()?)?)))
        }
        DataType::Map(map) => {
            let words = parts(data_type, words);
            let [key, value] = words.as_slice() else { return None };
            let (key, value) = (limits(&map.key, key).map(Box::new), limits(&map.value, value).map(Box::new));
            (key.is_some() || value.is_some()).then_some(Limit::Entries(key, value))
        }
    }
}

/// Returns `char(n)` or `varchar(n)` if the words are one of these.
pub(super) fn text_spelling(words: &str) -> Option<String> {
    ["char", "varchar"].into_iter().find_map(|name| Some(format!("{name}({})", length_of(words, name)?)))
}

/// Returns the name of a field as Spark spells it in a type: in backticks if it has special
/// characters.
pub(super) fn spelled_name(name: &str) -> Cow<'_, str> {
    let is_plain = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    match is_plain && name.chars().any(|letter| !letter.is_ascii_digit()) {
        true => Cow::Borrowed(name),
        false => Cow::Owned(format!("`{}`", name.replace('`', "``"))),
    }
}

/// Returns the n of `char(n)`.
fn char_length(words: &str) -> Option<u32> {
    length_of(words, "char")
}

/// Returns the n of `name(n)`.
fn length_of(words: &str, name: &str) -> Option<u32> {
    let words = words.trim();
    let start = words.get(..name.len()).filter(|start| start.eq_ignore_ascii_case(name))?;
    words.get(start.len()..)?.trim_start().strip_prefix('(')?.strip_suffix(')')?.trim().parse().ok()
}

/// Returns the parts of `name<part,part>`, or none if the type has another form.
fn inside<'w>(words: &'w str, name: &str) -> Vec<&'w str> {
    let words = words.trim();
    let Some((_, rest)) = words.split_at_checked(name.len()).filter(|(start, _)| start.eq_ignore_ascii_case(name)) else {
        return Vec::new();
    };
    let Some(inner) = rest.trim_start().strip_prefix('<').and_then(|rest| rest.strip_suffix('>')) else { return Vec::new() };
    let (mut parts, mut start, mut depth, mut quoted) = (Vec::new(), 0, 0_i32, false);
    for (at, letter) in inner.char_indices() {
        match letter {
            '`' => quoted = !quoted,
            _ if quoted => {}
            '<' | '(' => depth += 1,
            '>' | ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.extend(inner.get(start..at));
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.extend(inner.get(start..));
    parts
}

/// Returns the two sides of `name:type`. The name may be in backticks.
fn name_and_type(words: &str) -> Option<(Cow<'_, str>, &str)> {
    let words = words.trim();
    let mut quoted = false;
    let colon = words.find(|letter| {
        quoted ^= letter == '`';
        letter == ':' && !quoted
    })?;
    let (name, data_type) = (words.get(..colon)?.trim(), words.get(colon + 1..)?);
    match name.strip_prefix('`').and_then(|name| name.strip_suffix('`')) {
        Some(name) => Some((Cow::Owned(name.replace("``", "`")), data_type)),
        None => Some((Cow::Borrowed(name), data_type)),
    }
}

/// Pads a string with blanks to a number of characters.
pub fn pad(text: &str, length: u32) -> Cow<'_, str> {
    match blanks(text, length) {
        0 => Cow::Borrowed(text),
        missing => Cow::Owned(text.chars().chain(repeat_n(' ', missing)).collect()),
    }
}

/// Pads each string of a column.
pub fn pad_column(texts: &StringArray, length: u32) -> Result<ArrayRef> {
    let missing: usize = texts.iter().flatten().map(|text| blanks(text, length)).sum();
    if missing == 0 {
        return Ok(Arc::new(texts.clone()));
    }
    let bytes = missing.saturating_add(texts.value_data().len());
    if i32::try_from(bytes).is_err() {
        return Err(Error::batch_too_large(format!("{} strings padded to {length} characters", texts.len())));
    }
    let mut padded = StringBuilder::with_capacity(texts.len(), bytes);
    for text in texts {
        padded.append_option(text.map(|text| pad(text, length)));
    }
    Ok(Arc::new(padded.finish()))
}

/// Returns for each upper bound of stored strings an upper bound of the padded strings. A lower
/// bound stays valid, because padding makes no string less.
///
/// The result is not the padded bound: "a" is below the bound "a\n", but "a " is above it. So the
/// bound is cut before its first character below the blank, and "!", the character after the blank,
/// is appended. No padded string is above this result, and nothing has to be padded.
pub fn pad_upper_bounds(bounds: &StringArray, length: u32) -> StringArray {
    let padded = |bound: &str| {
        let plain = bound.find(|letter| letter < ' ').and_then(|end| bound.get(..end)).unwrap_or(bound);
        match blanks(plain, length) {
            0 => bound.to_owned(),
            _ => format!("{plain}!").max(bound.to_owned()),
        }
    };
    bounds.iter().map(|bound| bound.map(padded)).collect()
}

/// Returns the number of blanks with which a string must be padded.
fn blanks(text: &str, length: u32) -> usize {
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    length.saturating_sub(if text.is_ascii() { text.len() } else { text.chars().count() })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::parse;
    use super::*;
    use crate::kit::schema::{array_of, field, field_with, schema, struct_of};

    /// Checks the lengths of the strings in a column with this JSON type and this spelling, in
    /// order. A length of 0 stands for a string without a length.
    #[track_caller]
    fn check(json: &str, words: &str, expected: &[u32]) {
        let metadata = format!("\"{CHAR_VARCHAR}\":{}", serde_json::Value::from(words));
        let parsed = schema(&[field_with("c", json, &metadata)]);
        let mut lengths = Vec::new();
        collect(&parsed.fields[0].data_type, &mut lengths);
        assert_eq!(lengths, expected, "{words}");
        assert_eq!(parse(&parsed.to_json()).unwrap(), parsed);
        assert!(!parsed.to_json().contains(r#""type":"char"#));
    }

    fn collect(data_type: &DataType, lengths: &mut Vec<u32>) {
        match data_type {
            DataType::Primitive(PrimitiveType::Char { length }) => lengths.push(*length),
            DataType::Primitive(PrimitiveType::String) => lengths.push(0),
            DataType::Primitive(_) => {}
            DataType::Struct(fields) => fields.fields.iter().for_each(|field| collect(&field.data_type, lengths)),
            DataType::Array(array) => collect(&array.element, lengths),
            DataType::Map(map) => {
                collect(&map.key, lengths);
                collect(&map.value, lengths);
            }
        }
    }

    /// Returns a struct of strings.
    fn texts(names: &[&str]) -> String {
        struct_of(&names.iter().map(|name| field(name, "string")).collect::<Vec<_>>())
    }

    const LIST: &str = r#"{"type":"array","elementType":"string","containsNull":true}"#;
    const MAP: &str = r#"{"type":"map","keyType":"string","valueType":"string","valueContainsNull":true}"#;

    #[test]
    fn parse_char_lengths_from_sparks_type_string() {
        check("string", "char(6)", &[6]);
        check("string", " CHAR( 6 )", &[6]);
        check("string", "varchar(6)", &[0]);
        check(&texts(&["x", "y"]), "struct<x:char(3),y:varchar(2)>", &[3, 0]);
        check(LIST, "array<char(2)>", &[2]);
        check(MAP, "map<char(2),char(4)>", &[2, 4]);
        let deep = array_of(&texts(&["x", "y", "z"]));
        check(&deep, "array<struct<x:string,y:char(2),z:char(5)>>", &[0, 2, 5]);
        check(&texts(&["a,b", "c:d", "e`f"]), "struct<`a,b`:char(1),`c:d`:char(2),`e``f`:char(3)>", &[1, 2, 3]);
    }

    #[test]
    fn match_char_fields_by_position_then_name() {
        check(&texts(&["new", "y"]), "struct<old:char(3),y:char(2)>", &[3, 2]);
        check(&texts(&["x", "added", "Y"]), "struct<x:char(3),y:char(2)>", &[3, 0, 2]);
    }

    #[test]
    fn words_that_do_not_fit_change_nothing() {
        for words in ["", "char", "char(", "char(-1)", "char(99999999999)", "char(3", "string", "array<char(3)>", "é"] {
            check("string", words, &[0]);
        }
        for words in ["struct<", "struct<x>", "struct<x:char(3)", "array<char(3)>", "struct<,>", "struct<`x:char(3)>"] {
            check(&texts(&["x"]), words, &[0]);
        }
        check(MAP, "map<char(2)>", &[0, 0]);
        check(LIST, "map<char(2),char(2)>", &[0]);
    }

    #[test]
    fn parse_huge_char_length_names_the_column() {
        let metadata = format!(r#""{CHAR_VARCHAR}":"char(2000000000)""#);
        let error = parse(&struct_of(&[field_with("c", "string", &metadata)])).unwrap_err();
        assert_eq!(
            error.message(),
            "schema: column c: char(2000000000) is too long: lakebed pads strings to at most 65535 characters"
        );
    }

    #[test]
    fn pad_counts_characters_and_keeps_longer_strings() {
        let texts = StringArray::from(vec![Some("ab"), Some(""), None, Some("é"), Some("abc"), Some("abcd"), Some("a\t")]);
        let padded = pad_column(&texts, 3).unwrap();
        let expected = vec![Some("ab "), Some("   "), None, Some("é  "), Some("abc"), Some("abcd"), Some("a\t ")];
        assert_eq!(padded.as_ref(), &StringArray::from(expected) as &dyn Array);
    }

    #[test]
    fn pad_upper_bound_covers_padded_strings() {
        let bounds = StringArray::from(vec![Some("ab"), Some("a\tz"), Some("abcd"), Some("\u{1}"), None]);
        let expected = StringArray::from(vec![Some("ab!"), Some("a!"), Some("abcd"), Some("!"), None]);
        assert_eq!(pad_upper_bounds(&bounds, 3), expected);
    }

    proptest! {
        #[test]
        fn pad_keeps_strings_between_padded_bounds(
            texts in proptest::collection::vec("[ab \t\u{1}~é]{0,5}", 1..6),
            length in 0_u32..7,
        ) {
            let least = texts.iter().min().unwrap();
            let greatest = texts.iter().max().unwrap();
            let upper = pad_upper_bounds(&StringArray::from(vec![greatest.as_str()]), length);
            for text in &texts {
                let padded = pad(text, length);
                prop_assert!(padded.as_ref() >= least.as_str());
                prop_assert!(padded.as_ref() <= upper.value(0), "{padded:?} above {:?}", upper.value(0));
            }
        }
    }
}
