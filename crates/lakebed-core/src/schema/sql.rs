//! Types as SQL spells them: `bigint`, `decimal(10,2)`, `array<struct<a:int>>`, `varchar(10)`.
//!
//! Column definitions are written with these names. [`parse_sql_type`] reads them.

use super::char_varchar::{spelled_name, with_lengths};
use super::types::{ArrayType, DataType, MapType, PrimitiveType, StructField, StructType};
use crate::{Error, Result};

/// The greatest depth of nesting. A schema with deeper types cannot be parsed again.
const DEEPEST: usize = 40;

/// A type that SQL text describes.
#[derive(Debug, Clone, PartialEq)]
pub struct SqlType {
    /// The type. CHAR is [`PrimitiveType::Char`], and VARCHAR is a string.
    pub data_type: DataType,
    /// The type in Spark's spelling if it has CHAR or VARCHAR strings. The metadata of the column
    /// keeps it under [`CHAR_VARCHAR`](super::char_varchar::CHAR_VARCHAR).
    pub lengths: Option<String>,
}

/// Parses the SQL text of a type. Names of types are matched in any case.
///
/// # Errors
/// If the text is not a type. The error shows the position.
pub fn parse_sql_type(text: &str) -> Result<SqlType> {
    let mut parser = TypeParser { text, at: 0, has_lengths: false };
    let (data_type, spelling) = parser.data_type(0)?;
    parser.skip_blanks();
    if parser.at < text.len() {
        return Err(parser.error("the end of the type"));
    }
    if !parser.has_lengths {
        return Ok(SqlType { data_type, lengths: None });
    }
    Ok(SqlType { data_type: with_lengths(data_type, &spelling)?, lengths: Some(spelling) })
}

struct TypeParser<'a> {
    text: &'a str,
    /// The position of the next character, in bytes.
    at: usize,
    /// Whether a CHAR or VARCHAR was read.
    has_lengths: bool,
}

impl TypeParser<'_> {
    /// Reads a type, and returns it with Spark's spelling.
    fn data_type(&mut self, depth: usize) -> Result<(DataType, String)> {
        if depth > DEEPEST {
            return Err(Error::invalid_input(format!("its types are nested deeper than {DEEPEST} levels")));
        }
        let start = self.at;
        let Some(name) = self.word() else { return Err(self.error("the name of a type")) };
        match name.to_ascii_lowercase().as_str() {
            "array" => {
                self.expect('<')?;
                let (element, spelling) = self.data_type(depth + 1)?;
                self.expect('>')?;
                Ok((ArrayType { element, contains_null: true }.into(), format!("array<{spelling}>")))
            }
            "map" => {
                self.expect('<')?;
                let (key, of_key) = self.data_type(depth + 1)?;
                self.expect(',')?;
                let (value, of_value) = self.data_type(depth + 1)?;
                self.expect('>')?;
                Ok((MapType { key, value, value_contains_null: true }.into(), format!("map<{of_key},{of_value}>")))
            }
            "struct" => self.struct_type(depth),
            "char" | "character" => self.bounded("char"),
            "varchar" => self.bounded("varchar"),
            "decimal" | "dec" | "numeric" => self.decimal(start),
            name => match primitive(name) {
                Some((primitive, spelling)) => Ok((primitive.into(), spelling.to_owned())),
                None => {
                    self.at = start;
                    Err(self.error("the name of a type, such as bigint, string or array<int>"))
                }
            },
        }
    }

    fn struct_type(&mut self, depth: usize) -> Result<(DataType, String)> {
        self.expect('<')?;
        let (mut fields, mut spellings) = (Vec::new(), Vec::new());
        loop {
            let (field, spelling) = self.field(depth)?;
            fields.push(field);
            spellings.push(spelling);
            if !self.takes(',') {
                break;
            }
        }
        self.expect('>')?;
        Ok((StructType { fields }.into(), format!("struct<{}>", spellings.join(","))))
    }

    /// Reads `name: type`, or `name type`, with `NOT NULL` and `COMMENT 'text'` behind it.
    fn field(&mut self, depth: usize) -> Result<(StructField, String)> {
        let Some(name) = self.name()? else { return Err(self.error("the name of a field")) };
        self.takes(':');
        let (data_type, spelling) = self.data_type(depth + 1)?;
        let mut field = StructField::new(name, data_type, true);
        if self.takes_word("not") {
            if !self.takes_word("null") {
                return Err(self.error("NULL"));
            }
            field.nullable = false;
        }
        if self.takes_word("comment") {
            let comment = self.string()?;
            field.metadata.insert(super::field_metadata::COMMENT.to_owned(), comment.into());
        }
        let spelled = format!("{}:{spelling}", spelled_name(&field.name));
        Ok((field, spelled))
    }

    fn bounded(&mut self, name: &str) -> Result<(DataType, String)> {
        self.expect('(')?;
        let length = self.number()?.filter(|length| *length > 0).ok_or_else(|| self.error("a length of at least 1"))?;
        self.expect(')')?;
        self.has_lengths = true;
        Ok((PrimitiveType::String.into(), format!("{name}({length})")))
    }

    fn decimal(&mut self, start: usize) -> Result<(DataType, String)> {
        let (mut precision, mut scale) = (10, 0);
        if self.takes('(') {
            precision = self.number()?.ok_or_else(|| self.error("the number of digits"))?;
            if self.takes(',') {
                scale = self.number()?.ok_or_else(|| self.error("the number of digits after the point"))?;
            }
            self.expect(')')?;
        }
        match (u8::try_from(precision), u8::try_from(scale)) {
            (Ok(precision @ 1..=38), Ok(scale)) if scale <= precision => {
                Ok((PrimitiveType::Decimal { precision, scale }.into(), format!("decimal({precision},{scale})")))
            }
            _ => {
                self.at = start;
                Err(self.error("a decimal with 1 to 38 digits, and no more of them after the point"))
            }
        }
    }

    fn skip_blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Reads a word of letters, digits and underscores.
    fn word(&mut self) -> Option<String> {
        self.skip_blanks();
        let rest = self.rest();
        let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len());
        let word = rest.get(..end).filter(|word| !word.is_empty())?.to_owned();
        self.at += end;
        Some(word)
    }

    /// Reads a name, which may be in backticks.
    fn name(&mut self) -> Result<Option<String>> {
        self.skip_blanks();
        if !self.rest().starts_with('`') {
            return Ok(self.word());
        }
        self.quoted('`').map(Some)
    }

    /// Reads a text in quotes. A doubled quote stands for one.
    fn quoted(&mut self, quote: char) -> Result<String> {
        let mut text = String::new();
        let mut letters = self.rest().char_indices().skip(1).peekable();
        while let Some((at, letter)) = letters.next() {
            if letter != quote {
                text.push(letter);
            } else if letters.peek().is_some_and(|(_, next)| *next == quote) {
                text.extend(letters.next().map(|(_, letter)| letter));
            } else {
                self.at += at + quote.len_utf8();
                return Ok(text);
            }
        }
        Err(self.error(&format!("a text that ends with {quote}")))
    }

    fn string(&mut self) -> Result<String> {
        self.skip_blanks();
        match self.rest().chars().next() {
            Some(quote @ ('\'' | '"')) => self.quoted(quote),
            _ => Err(self.error("a text in quotes")),
        }
    }

    fn number(&mut self) -> Result<Option<u32>> {
        let start = self.at;
        let number = self.word().and_then(|word| word.parse().ok());
        if number.is_none() {
            self.at = start;
        }
        Ok(number)
    }

    fn takes(&mut self, symbol: char) -> bool {
        self.skip_blanks();
        let is_next = self.rest().starts_with(symbol);
        if is_next {
            self.at += symbol.len_utf8();
        }
        is_next
    }

    fn takes_word(&mut self, wanted: &str) -> bool {
        let start = self.at;
        let is_next = self.word().is_some_and(|word| word.eq_ignore_ascii_case(wanted));
        if !is_next {
            self.at = start;
        }
        is_next
    }

    fn expect(&mut self, symbol: char) -> Result<()> {
        if self.takes(symbol) { Ok(()) } else { Err(self.error(&format!("`{symbol}`"))) }
    }

    fn error(&self, wanted: &str) -> Error {
        let before = self.text.get(..self.at).unwrap_or_default().chars().count();
        Error::invalid_input(format!("type {:?}: at character {}: {wanted} is expected", self.text, before + 1))
    }
}

/// Returns a type without parameters, and Spark's spelling of it.
fn primitive(name: &str) -> Option<(PrimitiveType, &'static str)> {
    use PrimitiveType as P;
    Some(match name {
        "boolean" | "bool" => (P::Boolean, "boolean"),
        "tinyint" | "byte" => (P::Byte, "tinyint"),
        "smallint" | "short" => (P::Short, "smallint"),
        "int" | "integer" => (P::Integer, "int"),
        "bigint" | "long" => (P::Long, "bigint"),
        "float" | "real" => (P::Float, "float"),
        "double" => (P::Double, "double"),
        "string" => (P::String, "string"),
        "binary" => (P::Binary, "binary"),
        "date" => (P::Date, "date"),
        "timestamp" | "timestamp_ltz" => (P::Timestamp, "timestamp"),
        "timestamp_ntz" => (P::TimestampNtz, "timestamp_ntz"),
        "variant" => (P::Variant, "variant"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str, lengths: Option<&str>) {
        let parsed = parse_sql_type(text).unwrap();
        assert_eq!(parsed.data_type.to_json_value().to_string(), expected);
        assert_eq!(parsed.lengths.as_deref(), lengths);
    }

    #[test]
    fn sql_types_are_the_types_of_schemas() {
        for (text, expected) in [
            ("bigint", "long"),
            (" BIGINT ", "long"),
            ("Int", "integer"),
            ("tinyint", "byte"),
            ("smallint", "short"),
            ("real", "float"),
            ("decimal", "decimal(10,0)"),
            ("decimal(12)", "decimal(12,0)"),
            ("DECIMAL ( 10 , 2 )", "decimal(10,2)"),
            ("timestamp", "timestamp"),
            ("timestamp_ntz", "timestamp_ntz"),
            ("variant", "variant"),
        ] {
            check(text, &format!("{expected:?}"), None);
        }
        check("array<int>", r#"{"type":"array","elementType":"integer","containsNull":true}"#, None);
        check(
            "map<string, array<date>>",
            r#"{"type":"map","keyType":"string","valueType":{"type":"array","elementType":"date","containsNull":true},"valueContainsNull":true}"#,
            None,
        );
        check(
            "struct<a: int NOT NULL COMMENT 'it''s a key', `b c` double>",
            r#"{"type":"struct","fields":[{"name":"a","type":"integer","nullable":false,"metadata":{"comment":"it's a key"}},{"name":"b c","type":"double","nullable":true,"metadata":{}}]}"#,
            None,
        );
    }

    #[test]
    fn lengths_are_spelled_as_spark_does() {
        check("varchar(10)", "\"string\"", Some("varchar(10)"));
        check("CHARACTER(3)", "\"string\"", Some("char(3)"));
        assert_eq!(parse_sql_type("char(3)").unwrap().data_type, PrimitiveType::Char { length: 3 }.into());
        check(
            "array<struct<a:varchar(4),b:bigint>>",
            r#"{"type":"array","elementType":{"type":"struct","fields":[{"name":"a","type":"string","nullable":true,"metadata":{}},{"name":"b","type":"long","nullable":true,"metadata":{}}]},"containsNull":true}"#,
            Some("array<struct<a:varchar(4),b:bigint>>"),
        );
    }

    #[test]
    fn parse_of_no_type_shows_the_position() {
        for (text, expected) in [
            ("", "type \"\": at character 1: the name of a type is expected"),
            ("bigin", "type \"bigin\": at character 1: the name of a type, such as bigint, string or array<int> is expected"),
            ("int int", "type \"int int\": at character 5: the end of the type is expected"),
            ("array<int", "type \"array<int\": at character 10: `>` is expected"),
            ("varchar(0)", "type \"varchar(0)\": at character 10: a length of at least 1 is expected"),
            (
                "decimal(40,2)",
                "type \"decimal(40,2)\": at character 1: a decimal with 1 to 38 digits, and no more of them after the point is expected",
            ),
            ("struct<>", "type \"struct<>\": at character 8: the name of a field is expected"),
        ] {
            assert_eq!(parse_sql_type(text).unwrap_err().message(), expected);
        }
        let deep = "array<".repeat(100_000);
        assert_eq!(parse_sql_type(&deep).unwrap_err().message(), "its types are nested deeper than 40 levels");
    }
}
