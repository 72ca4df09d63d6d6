//! Transactions from end to end: races, answers that are lost, what is refused, and what is asked
//! of the store.

mod budgets;
mod faults;
mod group;
mod kit;
mod races;
