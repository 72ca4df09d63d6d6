//! The only room of lakebed with a network, a disk and a clock.
//!
//! Modules stand bottom to top: each uses only those above its own line.

pub mod at;
pub mod checkpoint;
pub mod dv;
pub mod env;
pub mod log;
pub mod parquet;
pub mod store;
