//! The public API on an in-memory store, by topic, and the house itself.

mod budget;
mod checkpoint;
mod house;
mod plan;
mod recovery;
mod refused;
