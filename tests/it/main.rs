//! The public API on an in-memory store, by topic, and the house itself.

mod batches;
mod budget;
mod changes;
mod checkpoint;
mod checkpoint_write;
mod checksum;
mod checksum_damage;
mod cleanup;
mod compaction;
mod dml;
mod elsewhere;
mod floats;
mod house;
mod input;
mod model;
mod optimize;
mod plan;
mod recount;
mod recovery;
mod refused;
mod row_conditions;
mod transactions;
mod vacuum;
mod void;
