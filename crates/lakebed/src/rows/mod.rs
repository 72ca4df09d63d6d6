//! The rows of a snapshot that a change touches, and the files without them or with others in their place.
//!
//! `search` finds rows, `rewrite` writes what takes their place, `effects` is what came of it, and `target` is the table that new
//! files are written for.

pub(crate) mod search;
pub(crate) mod effects;
pub(crate) mod shape;
pub(crate) mod target;
pub(crate) mod rewrite;
