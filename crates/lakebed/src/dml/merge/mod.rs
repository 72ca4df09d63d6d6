//! Merging rows of a source into a table.

mod clause;
mod names;
mod on;

pub use clause::{Action, Clause, When};

mod index;
mod ranges;
mod source;
mod spill;
mod summary;
