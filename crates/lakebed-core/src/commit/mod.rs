//! Commits: the changes of a transaction ([`draft`]), the changes of several operations in one
//! commit ([`combine`]), the checks of a draft against the table ([`validate`]), the read set
//! ([`reads`]), the commits of other transactions ([`winner`]), the check for conflicts
//! ([`conflict`]), and the times at which versions were created ([`timestamp`]).
//!
//! This module only computes. The transaction in `lakebed` does the reads and writes. Read
//! [`draft::Draft`] first, then [`conflict::check`].

pub mod base;
pub mod conflict;
pub mod copied;
pub mod draft;
pub mod combine;
pub mod info_entries;
pub mod info;
pub mod reads;
pub mod row_ids;
pub mod timestamp;
pub mod validate;
pub mod winner;

#[cfg(test)]
mod tests;
