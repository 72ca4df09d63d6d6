//! The only room of lakebed with a network, a disk and a clock.
//!
//! Modules stand bottom to top: each uses only those above its own line.

pub mod env;
pub mod at;
pub mod store;
pub mod probe;
mod cache;
pub mod parquet;
pub mod dv;
pub mod log;
pub mod checkpoint;
