//! Changing the rows of a table: deleting, updating, merging.
//!
//! The way of a change: the newest version is planned and searched for the rows concerned (`rows::search`), what takes their place is
//! written (`rows::rewrite`), and a transaction commits all of it; `change` does that again where another writer was faster. Read
//! [`Delete`] first.

mod assign;
mod change;
mod delete;
mod update;
pub mod merge;
pub mod write;

pub use change::{ChangeMetrics, ChangeOptions, ChangeOutcome};
pub use delete::Delete;
pub use update::Update;
