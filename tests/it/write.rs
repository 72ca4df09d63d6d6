//! Writes from end to end, in one process and in several.

mod batches;
mod elsewhere;
mod input;
mod recount;
mod void;
