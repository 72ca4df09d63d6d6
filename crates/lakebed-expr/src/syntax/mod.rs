//! The lexer and parser: from text to a syntax tree, before names and types are looked up. Read
//! [`parse`](parse::parse) first.

pub(crate) mod interval;
pub(crate) mod lex;
pub(crate) mod parse;
mod primary_expression;
#[expect(missing_docs, reason = "the variants have the names of the forms in Spark SQL")]
pub(crate) mod tree;
mod type_name;

pub use lex::{Span, Suffix, error_at};
pub use parse::parse;
pub use tree::{Binary, Comparison, Interval, Is, Kind, LikeForm, Node, Unary};
