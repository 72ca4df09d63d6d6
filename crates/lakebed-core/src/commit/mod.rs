//! Commits: what a transaction wants ([`draft`]), whether a table may have it ([`validate`]), what
//! it read ([`reads`]), what others committed meanwhile ([`winner`]), whether the two agree
//! ([`conflict`]), and when versions were made ([`timestamp`]).
//!
//! All of it computes: the transaction in `lakebed` reads and writes. Read [`draft::Draft`] first,
//! then [`conflict::check`].

pub mod base;
pub mod conflict;
pub mod draft;
pub mod info;
pub mod reads;
mod row_ids;
pub mod timestamp;
pub mod validate;
pub mod winner;

#[cfg(test)]
mod tests;
