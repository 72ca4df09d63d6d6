//! The public API on an in-memory store, and the house itself. A folder has the name of the room of
//! `lakebed` that it tests.

mod changes;
mod checkpoint;
mod dml;
mod house;
mod model;
mod optimize;
mod scan;
mod snapshot;
mod transaction;
mod upkeep;
mod vacuum;
mod write;
