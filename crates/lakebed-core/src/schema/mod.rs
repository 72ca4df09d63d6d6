//! Schemas: their types, their JSON form in the log, their Arrow form, physical names, and which old types may stand for which new ones.
//!
//! Read [`StructType`] first, then [`parse`].

pub mod arrow;
pub mod char_varchar;
mod json;
pub mod mapping;
mod types;
pub mod widen;

pub use json::parse;
pub use types::{ArrayType, DataType, FieldMetadata, MapType, PrimitiveType, StructField, StructType};

#[cfg(test)]
pub(crate) mod arbitrary;
