//! The operations that commits need. Exactly one writer of a name succeeds, the files that a commit
//! names are durable before it, and the writers of one machine take turns.

pub(super) mod flush;
pub(super) mod local_queue;
pub(super) mod outcome;
mod put_if_absent;
