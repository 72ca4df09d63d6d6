//! Checkpoints from end to end: the requests and memory that reading one costs, and the content of
//! written ones.

mod read;
mod write;
