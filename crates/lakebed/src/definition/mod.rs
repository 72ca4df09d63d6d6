//! The definition of a table: protocol, schema, partitioning, clustering, properties and domains.
//!
//! A [`Definition`] is a plain value. [`NewTable::define`] makes it for a new table, and
//! [`Definition::of`] for a table as it is. Writes derive another definition from it with `evolve`,
//! and ALTER does with `change`. All checks
//! are in this module, so that all verbs refuse the same tables. [`Definition::register`] is the
//! one place that adds the changes to a transaction.

pub(crate) mod columns;
pub mod change;
mod cloned;
mod complete;
mod evolve;
mod iceberg;
mod new_table;
mod register;
mod restored;
mod unmapped;
mod value;

pub(crate) use evolve::data_schema;
pub use new_table::NewTable;
pub(crate) use unmapped::has_mapping;
pub use value::Definition;
