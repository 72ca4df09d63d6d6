//! What a table is to be: protocol, schema, partitioning, clustering, properties and domains.
//!
//! A [`Definition`] is a plain value. [`NewTable::define`] makes it for a new table and [`Definition::of`] for a table as it
//! is; `evolve` makes another definition out of it. All checks stand in this room, so that all verbs refuse the same tables.
//! A transaction learns what changes in one place, [`Definition::register`].

pub(crate) mod columns;
mod complete;
mod evolve;
mod iceberg;
mod new_table;
mod register;
mod value;

pub(crate) use evolve::data_schema;
pub use new_table::NewTable;
pub use value::Definition;
