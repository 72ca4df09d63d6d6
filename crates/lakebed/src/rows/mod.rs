//! The rows of a snapshot that a change deletes or replaces, and the files that the change writes.
//!
//! `selection` holds the predicate of a change. `search` finds the `deleted` rows. If another
//! process found them, `named` finds their files in the snapshot. `rewrite` writes the rows that
//! replace them, and `target` is the table for which new files are written. `effects` is the result.

pub(crate) mod deleted;
mod named;
pub(crate) mod selection;
pub(crate) mod search;
pub(crate) mod effects;
pub(crate) mod shape;
pub(crate) mod target;
pub(crate) mod statistics;
pub(crate) mod rewrite;
