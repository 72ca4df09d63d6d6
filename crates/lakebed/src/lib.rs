//! Delta Lake tables: snapshots, scans, changes and maintenance.
//!
//! Begin with [`Table::at`]. The modules are listed bottom to top: each uses only modules above its
//! own line.
#![warn(missing_docs)]

mod wire;
mod option_value;
pub mod metrics;
pub mod file_progress;
pub mod runtime;
pub mod location;
pub mod snapshot;
pub mod tags;
pub mod table;
pub mod scan;
pub mod history;
mod file_difference;
mod clustering;
mod file_statistics;
pub mod detail;
pub mod checkpoint;
pub mod cleanup;
pub mod compaction;
pub mod symlink_manifest;
pub mod upkeep;
pub mod transaction;
pub mod definition;
pub mod create;
pub mod write;
mod rows;
pub mod dml;
pub mod alter;
pub mod restore;
mod tagging;
pub mod diff;
pub mod clone;
pub mod convert;
pub mod optimize;
pub mod drop_feature;
pub mod vacuum;
pub mod check;
pub mod repair;
pub mod health;
pub mod erase;
pub mod changes;
pub mod table_transaction;
#[cfg(test)]
mod kit;

pub use lakebed_core::{Error, ErrorKind, Result};
pub use lakebed_expr::Predicate;
pub use lakebed_io::env::Env;
pub use runtime::stream::RecordBatchStream;
pub use scan::Scan;
pub use snapshot::Snapshot;
pub use table::Table;
pub use tagging::TagOutcome;
