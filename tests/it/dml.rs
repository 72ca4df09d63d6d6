//! DML from end to end: races with other changes, failures, and requests to the store.

mod budgets;
mod failures;
mod races;
