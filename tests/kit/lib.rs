//! What lakebed's tests share.
//!
//! [`Lake`] is a table in an in-memory store that several processes use. [`TableBuilder`] makes a
//! table out of JSON. The [`ObservedStore`] under both counts the requests that are made, and fails
//! where it is told to. [`deeds`] lists what can be done to a table, with its effect on rows.

mod checkpoint;
pub mod deeds;
pub mod lake;
pub mod store;
pub mod table;

pub use checkpoint::Form;
pub use lake::Lake;
pub use store::{Counts, Fault, Keeper, ObservedStore};
pub use table::TableBuilder;
