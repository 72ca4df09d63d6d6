//! Schemas: their types, their JSON form in the log, their Arrow form, physical names, which old
//! types may stand for which new ones, which data may be written to which column, how a schema
//! grows with it, and what that does to readers of the old one.
//!
//! Read [`StructType`] first, then [`parse`].

pub mod arrow;
pub mod assign;
pub mod char_varchar;
pub mod compare;
pub mod evolve;
mod json;
pub mod mapping;
pub mod field_metadata;
mod types;
pub mod widen;

pub use json::parse;
pub use types::{ArrayType, DataType, FieldMetadata, MapType, PrimitiveType, StructField, StructType};

#[cfg(test)]
pub(crate) mod arbitrary;
