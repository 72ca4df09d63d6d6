//! Transactions from end to end: races, lost answers, errors, and requests to the store.

mod budgets;
mod faults;
mod group;
mod kit;
mod races;
