//! Writes from end to end, in one process and in many.

mod batches;
mod elsewhere;
mod input;
mod recount;
mod void;
