//! Checkpoints from end to end: what reading one asks of the store, and what is written.

mod read;
mod write;
