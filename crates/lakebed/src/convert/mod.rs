//! Converts a folder of Parquet files or an Iceberg table to a Delta table, in its place. No data
//! file is moved or written.
//!
//! Begin with [`Convert::run`]. `folder` reads a folder of Parquet files: `listing` finds the
//! files, `partitions` takes their partition values from their folders, and `file_schemas` merges
//! their schemas. `iceberg` reads an Iceberg table. Both return a `source`. `footers` reads the
//! footers of files, and `statistics` makes statistics of them.

mod file_schemas;
mod folder;
mod footers;
mod iceberg;
mod listing;
mod options;
mod outcome;
mod partitions;
mod run;
mod source;
mod statistics;

pub use options::{ConvertMode, ConvertOptions};
pub use outcome::{ConvertMetrics, ConvertOutcome, SourceFormat};
pub use run::Convert;
