//! Finds the footers with complete statistics, with the same meaning as in the log
//! (`lakebed_core::stats`). A column with NaN has no upper bound, and null counts include the
//! fields of null structs.

use lakebed_core::stats::{COMPLETE, COMPLETE_TAG};
use parquet::basic::Type;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::statistics::Statistics;

use super::file::ParquetFile;

/// The first version of parquet-mr, the writer of Spark, that handles NaN.
const PARQUET_MR: (u32, u32) = (1, 10);

/// The beginning of `created_by` in files of lakebed.
pub(super) const LAKEBED: &str = "lakebed version ";

impl ParquetFile {
    /// Returns whether upper bounds in the footer and in the page index also hold for NaN, and null
    /// counts include the fields of null structs.
    pub fn has_complete_stats(&self) -> bool {
        let created_by = self.metadata.file_metadata().created_by().unwrap_or_default();
        // pyarrow copies the keys of a footer into the files that it writes from the rows. The
        // bounds in those files are its own.
        let is_marked = created_by.starts_with(LAKEBED) && self.key_value(COMPLETE_TAG) == Some(COMPLETE);
        is_marked || is_parquet_mr(created_by)
    }

    /// Returns whether the footer proves that a leaf has no NaN. With NaN the writer would have
    /// left out a bound.
    pub fn has_no_nan(&self, leaf: usize) -> bool {
        self.proves(leaf, has_no_nan)
    }

    /// Returns whether the footer proves that a leaf and all structs around it are never null.
    pub fn has_no_null(&self, leaf: usize) -> bool {
        self.proves(leaf, |chunk| chunk.statistics().and_then(Statistics::null_count_opt) == Some(0))
    }

    fn proves(&self, leaf: usize, of_chunk: impl Fn(&ColumnChunkMetaData) -> bool) -> bool {
        let of_group = |group: &RowGroupMetaData| group.columns().get(leaf).is_some_and(&of_chunk);
        self.has_complete_stats() && self.metadata.row_groups().iter().all(of_group)
    }
}

fn has_no_nan(chunk: &ColumnChunkMetaData) -> bool {
    let is_number = |bound: Option<f64>| bound.is_some_and(|bound| !bound.is_nan()) || is_all_null(chunk);
    match (chunk.column_type(), chunk.statistics()) {
        (Type::FLOAT, Some(Statistics::Float(bounds))) => is_number(bounds.max_opt().map(|max| f64::from(*max))),
        (Type::DOUBLE, Some(Statistics::Double(bounds))) => is_number(bounds.max_opt().copied()),
        // A floating-point column of the table may be an integer column in an older file.
        (Type::INT32 | Type::INT64, _) => true,
        _ => false,
    }
}

fn is_all_null(chunk: &ColumnChunkMetaData) -> bool {
    let nulls = chunk.statistics().and_then(Statistics::null_count_opt);
    nulls.is_some_and(|nulls| i64::try_from(nulls) == Ok(chunk.num_values()))
}

/// Returns whether `created_by` names a version of parquet-mr that handles NaN.
fn is_parquet_mr(created_by: &str) -> bool {
    let Some(version) = created_by.strip_prefix("parquet-mr version ") else { return false };
    let mut numbers = version.split(['.', '-', ' ']).map(|number| number.parse::<u32>().ok());
    matches!((numbers.next().flatten(), numbers.next().flatten()), (Some(major), Some(minor)) if (major, minor) >= PARQUET_MR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writers_that_know_about_nan_are_known() {
        for (created_by, expected) in [
            ("parquet-mr version 1.17.0 (build abc)", true),
            ("parquet-mr version 1.10.1 (build abc)", true),
            ("parquet-mr version 1.12.3-databricks-0001 (build abc)", true),
            ("parquet-mr version 2.0.0", true),
            ("parquet-mr version 1.8.2 (build abc)", false),
            ("parquet-mr version 1.9", false),
            ("parquet-mr", false),
            ("parquet-mr version x.y", false),
            ("parquet-mr-trino version 479 (build n/a)", false),
            ("parquet-rs version 59.3.2", false),
            ("parquet-cpp-arrow version 26.0.1", false),
            ("DuckDB version v1.5.5 (build abc)", false),
            ("", false),
        ] {
            assert_eq!(is_parquet_mr(created_by), expected, "{created_by}");
        }
    }
}
