//! The lexer and parser: from text to a syntax tree, before names and types are looked up. Read
//! [`parse`](parse::parse) first.

pub(crate) mod interval;
pub(crate) mod lex;
pub(crate) mod parse;
mod primary_expression;
pub(crate) mod tree;
mod type_name;

use lakebed_core::Result;

/// Parses a path such as ``a.`b c` ``. Returns `None` if the text is another expression.
pub fn parse_path(text: &str) -> Result<Option<Vec<String>>> {
    match parse::parse(text)?.kind {
        tree::Kind::Path(path) => Ok(Some(path)),
        _ => Ok(None),
    }
}
