//! The public API on an in-memory store, by topic, and the house itself.

mod budget;
mod checkpoint;
mod house;
mod recovery;
mod refused;
