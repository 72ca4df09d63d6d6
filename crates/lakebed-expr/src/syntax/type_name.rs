//! Names of types in CAST: `INT`, `DECIMAL(10, 2)`, `ARRAY<STRUCT<a: INT>>`.

use arrow_schema::{DataType, Field};
use lakebed_core::Result;

use super::lex::{Suffix, TokenKind};
use super::parse::Parser;
use crate::types;

/// The end of the message for an unknown type.
const NO_TYPE: &str = "is not a type that values can be cast to, or its numbers are out of range";

impl Parser<'_> {
    /// Reads the name of a type.
    pub(super) fn data_type(&mut self) -> Result<DataType> {
        let start = self.span();
        let TokenKind::Name(name) = self.peek().clone() else {
            return Err(self.unexpected("the name of a type"));
        };
        self.advance();
        let lower = name.to_ascii_lowercase();
        if self.peek() == &TokenKind::Symbol("<") && matches!(lower.as_str(), "array" | "map" | "struct") {
            return self.nested(start, |parser| parser.type_of_parts(&lower));
        }
        let mut numbers = Vec::new();
        if self.symbol("(") {
            loop {
                match self.peek() {
                    TokenKind::Number { digits, suffix: Suffix::None } => numbers.push(digits.parse::<u8>().ok()),
                    _ => return Err(self.unexpected("a number")),
                }
                self.advance();
                if !self.symbol(",") {
                    break;
                }
            }
            self.expect_symbol(")")?;
        }
        let numbers: Option<Vec<u8>> = numbers.into_iter().collect();
        let found = numbers.and_then(|numbers| types::from_name(&name, &numbers));
        found.ok_or_else(|| self.error(start, format_args!("`{name}` {NO_TYPE}")))
    }

    /// Reads the parameters between `<` and `>` after `array`, `map` or `struct`.
    fn type_of_parts(&mut self, name: &str) -> Result<DataType> {
        self.expect_symbol("<")?;
        let found = match name {
            "array" => types::array_of(self.data_type()?),
            "map" => {
                let key = self.data_type()?;
                self.expect_symbol(",")?;
                types::map_of(key, self.data_type()?)
            }
            _ => {
                let mut fields = vec![self.field_of_type()?];
                while self.symbol(",") {
                    fields.push(self.field_of_type()?);
                }
                DataType::Struct(fields.into())
            }
        };
        self.close_angle()?;
        Ok(found)
    }

    /// Reads `name: type` or `name type`.
    fn field_of_type(&mut self) -> Result<Field> {
        let name = self.field_name()?;
        self.symbol(":");
        Ok(Field::new(name, self.data_type()?, true))
    }
}
