//! Checkpoints from end to end: the requests and the memory for reading one, and the content of
//! written ones.

mod read;
mod write;
