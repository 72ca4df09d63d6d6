//! Schemas of tables: types, the JSON form in the log, the Arrow form, and physical names. Other
//! modules decide which types may be widened, which data may be written to which column, how a
//! schema grows with written data, and how such a change affects readers of the old schema.
//!
//! Read [`StructType`] first, then [`parse`].

pub mod arrow;
pub mod assign;
pub mod char_varchar;
pub mod nested_lengths;
pub mod compare;
pub mod evolve;
mod json;
pub mod mapping;
pub mod field_metadata;
mod types;
pub mod sql;
pub mod widen;

pub use json::parse;
pub use types::{ArrayType, DataType, FieldMetadata, MapType, PrimitiveType, StructField, StructType};

#[cfg(test)]
pub(crate) mod arbitrary;
