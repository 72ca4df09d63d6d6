//! What lakebed's tests share. Start with [`TableBuilder`], which makes a table out of JSON in an in-memory store; the [`ObservedStore`]
//! under it counts the requests that are made, and fails where it is told to.

mod checkpoint;
pub mod store;
pub mod table;

pub use checkpoint::Form;
pub use store::{Counts, Fault, Keeper, ObservedStore};
pub use table::TableBuilder;
