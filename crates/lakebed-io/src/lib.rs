//! The I/O of lakebed: object stores, the local disk, Parquet files, the clock and random numbers.
//! No other crate performs I/O.
//!
//! The modules are listed from bottom to top. A module uses only the modules above its own line.

pub mod env;
pub mod at;
pub mod store;
pub mod probe;
mod cache;
pub mod parquet;
pub mod dv;
pub mod log;
pub mod checkpoint;
