//! Syntax tree to typed expression: names become columns of a schema, operators and functions get Spark's types and coercions.
//!
//! Read [`binder::Binder`] first.

pub(crate) mod binder;
mod char_padding;
pub(crate) mod current_time;
mod literal;
pub(crate) mod metadata_column;
pub(crate) mod schema;
