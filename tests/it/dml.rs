//! Changes of rows from end to end: races with other changes, and what is asked of the store.

mod budgets;
mod races;
