//! Transactions with several operations from end to end: what their operations read, the one version
//! that they become, conflicts, failures, and requests to the store.

mod kit;
mod rules;
mod sequences;
