//! Changes of rows from end to end: races with other changes, and requests to the store.

mod budgets;
mod races;
