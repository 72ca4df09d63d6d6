//! The shared parts of lakebed's tests.
//!
//! [`Lake`] is a table in an in-memory store that several processes use. [`TableBuilder`] builds a
//! table from JSON, from the actions in [`action`]. The [`ObservedStore`] under both counts requests and injects faults. [`deeds`]
//! lists the operations on a table, with their effects on rows.

pub mod action;
pub mod arrow;
mod checkpoint;
pub mod deeds;
pub mod error;
pub mod lake;
pub mod id_and_v;
pub mod store;
pub mod table;

pub use checkpoint::Form;
pub use lake::Lake;
pub use store::{Counts, Fault, Keeper, ObservedStore};
pub use table::TableBuilder;
