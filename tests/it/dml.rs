//! Changes of rows from end to end: races with other changes, and what is asked of the store.

mod budgets;
pub(crate) mod kit;
mod races;
