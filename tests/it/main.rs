//! Tests of the public API on an in-memory store, and of the modules of the crates. Each folder has
//! the name of a module of `lakebed` that it tests.

mod alter;
mod changes;
mod check;
mod checkpoint;
mod clone;
mod dml;
mod drop_feature;
mod erase;
mod house;
mod model;
mod optimize;
mod repair;
mod restore;
mod scan;
mod snapshot;
mod table_transaction;
mod transaction;
mod upkeep;
mod vacuum;
mod write;
