//! What a commit needs of a store: one writer of a name is the first, the files that the commit names are safe before it, and the writers
//! of one machine take turns.

pub(super) mod flush;
pub(super) mod local_queue;
pub(super) mod outcome;
mod put_if_absent;
