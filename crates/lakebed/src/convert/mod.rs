//! Converts a folder of Parquet files to a Delta table, in its place. No file is moved or written.
//!
//! Begin with [`Convert::run`]. `listing` finds the files, `partitions` takes their partition values
//! from their folders, `file_schemas` merges their schemas, and `statistics` makes statistics of
//! their footers.

mod file_schemas;
mod listing;
mod options;
mod outcome;
mod partitions;
mod run;
mod statistics;

pub use options::{ConvertMode, ConvertOptions};
pub use outcome::{ConvertMetrics, ConvertOutcome};
pub use run::Convert;
