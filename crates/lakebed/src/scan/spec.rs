//! The conversion of rows of data files to rows of a scan. A [`ScanSpec`] holds everything but the
//! files.

use lakebed_core::schema::StructType;
use lakebed_core::schema::mapping::MappingMode;
use lakebed_expr::Predicate;

use super::row_column::RowColumn;
use super::row_tracking::MaterializedColumns;

/// The conversion of rows of data files to rows of a scan. All files of a scan share one spec.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ScanSpec {
    /// The URL of the table, without secrets.
    pub table_url: String,
    /// The logical schema of the table, with the metadata of its fields.
    pub schema: StructType,
    /// The logical names of the partition columns.
    pub partition_columns: Vec<String>,
    /// The mode by which columns are found in data files.
    pub mapping_mode: MappingMode,
    /// The output columns in order, as logical column paths (`a`, `a.b`). Paths such as
    /// `_metadata.row_id` name columns about rows. None selects all columns.
    pub columns: Option<Vec<String>>,
    /// Only rows for which this predicate over logical columns is true are returned.
    pub filter: Option<Predicate>,
    /// The value of `current_timestamp` in the predicate, in milliseconds. All tasks of a scan use
    /// the same value.
    pub now_ms: i64,
    /// The greatest number of rows, over all files.
    pub limit: Option<u64>,
    /// Columns about rows, behind the columns of the table.
    pub row_columns: Vec<RowColumn>,
    /// The columns of data files that store the ids and commit versions of rows that moved.
    pub materialized: MaterializedColumns,
    /// The folders outside of the table from which files are read, as URLs: the confirmed sources
    /// of a shallow clone.
    pub clone_sources: Vec<String>,
}
