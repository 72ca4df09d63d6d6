//! Text to a syntax tree, before names and types are looked up. Read [`parse::parse`] first.

pub(crate) mod interval;
pub(crate) mod lex;
pub(crate) mod parse;
mod primary_expression;
pub(crate) mod tree;
mod type_name;
