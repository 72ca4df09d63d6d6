//! The binder makes typed expressions of syntax trees. Names become columns of a schema. Operators
//! and functions get Spark's types and coercions.
//!
//! Read [`binder::Binder`] first.

pub(crate) mod binder;
mod char_padding;
pub(crate) mod resolve;
mod literal;
pub(crate) mod metadata_column;
pub(crate) mod schema;
