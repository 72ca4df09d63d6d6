//! What a scan makes of data files: everything but the files.

use lakebed_core::schema::StructType;
use lakebed_core::schema::mapping::MappingMode;

use super::row_column::RowColumn;
use lakebed_expr::Predicate;

/// How the rows of data files become rows of a scan. All files of a scan share it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ScanSpec {
    /// The table's URL, without secrets.
    pub table_url: String,
    /// The table's logical schema, with the metadata of its fields.
    pub schema: StructType,
    /// Logical names.
    pub partition_columns: Vec<String>,
    /// How columns of data files are found.
    pub mapping_mode: MappingMode,
    /// Logical column paths (`a`, `a.b`) in the order of the output, and such as `_metadata.row_id` for columns about rows; None is all columns.
    pub columns: Option<Vec<String>>,
    /// Only rows for which this predicate over logical columns is true.
    pub filter: Option<Predicate>,
    /// What `current_timestamp` means in the filter, in milliseconds, so that all tasks of a scan agree.
    pub now_ms: i64,
    /// Rows at most, over all files.
    pub limit: Option<u64>,
    /// Columns about rows rather than of the table, behind the others.
    pub row_columns: Vec<RowColumn>,
    /// Where files keep row ids that moved with their rows: the name that the table property gives.
    pub materialized_row_id: Option<String>,
    /// The same of row commit versions.
    pub materialized_row_commit_version: Option<String>,
}
