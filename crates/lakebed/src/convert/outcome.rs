//! The outcome of a conversion.

use std::fmt;

use lakebed_core::schema::StructType;
use serde::Serialize;

use crate::Snapshot;
use crate::metrics::metrics;

/// The outcome of a conversion.
#[derive(Debug, Clone)]
pub struct ConvertOutcome {
    /// The version of the table. It is `None` after a dry run.
    pub version: Option<u64>,
    /// Whether the table was made now.
    pub committed: bool,
    /// The format of the source. It is `None` if there was a Delta table already.
    pub source_format: Option<SourceFormat>,
    /// The metrics of the conversion.
    pub metrics: ConvertMetrics,
    /// The schema of the table.
    pub schema: StructType,
    /// The partition columns.
    pub partition_columns: Vec<String>,
    /// The columns of an Iceberg table that have different names in different files. Readers that
    /// ignore field ids, against the protocol, find nulls in some of these files.
    pub found_by_id: Vec<String>,
    /// The paths of the files below the folder, sorted.
    pub files: Vec<String>,
    /// The snapshot of the table. It is `None` after a dry run, and if it could not be read.
    pub snapshot: Option<Snapshot>,
}

/// The format of what was converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceFormat {
    /// A folder of Parquet files.
    Parquet,
    /// An Iceberg table.
    Iceberg,
}

/// The name of the format in the history.
impl fmt::Display for SourceFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Parquet => "parquet",
            Self::Iceberg => "iceberg",
        })
    }
}

metrics! {
    /// The metrics of a conversion.
    #[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
    pub struct ConvertMetrics {
        /// The number of files of the table.
        #[history(Convert = "numConvertedFiles")]
        pub converted_files: u64,
        /// The total size of the files.
        pub converted_bytes: u64,
        /// The number of rows of the files.
        pub rows: u64,
    }
}
