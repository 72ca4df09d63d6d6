//! The rows of a snapshot that a change deletes or replaces, and the files that the change writes.
//!
//! `selection` says which rows a change selects. `search` finds the `deleted` rows, and `named` finds the files of rows that another process names.
//! `rewrite` writes the rows that replace them, `effects` is the result, and `target` is the table
//! for which new files are written.

pub(crate) mod deleted;
mod named;
pub(crate) mod selection;
pub(crate) mod search;
pub(crate) mod effects;
pub(crate) mod shape;
pub(crate) mod target;
pub(crate) mod rewrite;
